// What may set a job off besides its schedule (W7), and what happened outside when it did.
//
// I1. A kind of trigger is a line of `Trigger`, one of `triggerSchema` (job-schema.ts) and somebody who calls `fireEvent`.
// I2. An event happens once: whatever repeats its key is the same event.

import { formatInstant, type Instant, parseDuration, SECOND } from "../kernel/time.ts";

/** As an event names it. `name` is what the sender, the topic or the files are called here. */
export interface Trigger {
  kind: TriggerKind;
  name: string;
}

export const TRIGGER_KINDS = ["webhook", "mqtt", "watch"] as const;
export type TriggerKind = (typeof TRIGGER_KINDS)[number];

/** `on:` in a job's document: one key a kind. */
export type TriggerDocument =
  | { webhook: string }
  | {
      /** A topic, or a filter with `+` and `#`. */
      mqtt: string;
      /** Default 1. */
      qos?: number | undefined;
      /** Default: the broker of `deliver.mqtt`. */
      url?: string | undefined;
      username?: string | undefined;
      /** A reference. */
      password?: string | undefined;
    }
  | {
      /** A file, files with `*` and `?` in the last part, or a folder's every file: `/data/in/`. */
      watch: string;
      /** How long a file must stay as it is. Default 2 s. */
      settle?: string | undefined;
    }
  | {
      /** An executor that is asked again and again. */
      watch: string;
      every: string;
      params?: Record<string, unknown> | undefined;
    };

export type Qos = 0 | 1 | 2;

/** What a job listens to, with what its listener needs. Jobs with the same kind and name share one listener. */
export type JobTrigger = Trigger &
  (
    | { kind: "webhook" }
    | {
        kind: "mqtt";
        topic: string;
        qos: Qos;
        /** Undefined = that of `deliver.mqtt`. References are not resolved. */
        broker: { url: string; username: string | undefined; password: string | undefined } | undefined;
      }
    | { kind: "watch"; pattern: string; settleMs: number }
    | { kind: "watch"; executor: string; params: Readonly<Record<string, unknown>>; everyMs: number }
  );

const SETTLE_MS = 2 * SECOND;

/** What happened, as it came. */
export interface TriggerEvent extends Trigger {
  id: string;
  /** `<kind>/<name>/<the sender's own key>`, unique. */
  key: string;
  receivedAt: Instant;
  contentType: string | undefined;
  /** What else the sender said, by lower-case names; nothing that proves who they are. */
  headers: Readonly<Record<string, string>>;
  /** The text as it came; empty when its runs were pruned. */
  data: string;
  /** sha256 of `data`, hex: tells a repetition from another event under the same key. */
  digest: string;
}

/** What every kind of work sees of the event that set it off. */
export interface TriggerEventDocument {
  trigger: { kind: TriggerKind; name: string };
  key: string;
  receivedAt: string;
  contentType: string | null;
  headers: Readonly<Record<string, string>>;
  /** Parsed where the sender says that it is JSON and it is; else the text. */
  data: unknown;
}

export function triggersOf(documents: readonly TriggerDocument[]): JobTrigger[] {
  return documents.map((document): JobTrigger => {
    if ("webhook" in document) return { kind: "webhook", name: document.webhook };
    if ("every" in document) return executorTrigger(document);
    if ("watch" in document) {
      const { watch: pattern, settle } = document;
      const settleMs = (settle === undefined ? undefined : parseDuration(settle)) ?? SETTLE_MS;
      return { kind: "watch", name: pattern, pattern, settleMs };
    }
    const { mqtt: topic, url, username, password } = document;
    const qos = document.qos === 0 || document.qos === 2 ? document.qos : 1;
    const broker = url === undefined ? undefined : { url, username, password };
    return { kind: "mqtt", name: url === undefined ? topic : `${topic} @ ${url}`, topic, qos, broker };
  });
}

/** Jobs that ask the same executor with the same params share its answers. */
function executorTrigger({
  watch: executor,
  every,
  params = {},
}: Extract<TriggerDocument, { every: string }>): JobTrigger {
  const isBare = Object.keys(params).length === 0;
  const name = isBare ? executor : `${executor} ${JSON.stringify(params)}`;
  return { kind: "watch", name, executor, params, everyMs: parseDuration(every) ?? 0 };
}

/** @source MQTT 3.1.1 §4.7: `+` and `#` stand alone in their level, `#` only in the last. */
export function isTopicFilter(text: string): boolean {
  const levels = text.split("/");
  return (
    /^[^\0]{1,1000}$/.test(text) &&
    levels.every((level, index) => {
      if (level === "#") return index === levels.length - 1;
      return level === "+" || !/[+#]/.test(level);
    })
  );
}

/** Absolute, or below the home of the person (`~/`); wildcards in the last part only. */
export function isFilePattern(text: string): boolean {
  const folder = text.slice(0, text.lastIndexOf("/"));
  return /^(\/|~\/)[^\0]{0,1000}$/.test(text) && !/[*?]/.test(folder) && text !== "/" && text !== "~/";
}

/** For people: `webhook deploy`. */
export function triggerText({ kind, name }: Trigger): string {
  return `${kind} ${name}`;
}

export function triggerEventDocument(event: TriggerEvent): TriggerEventDocument {
  const { kind, name, key, receivedAt, contentType, headers, data } = event;
  return {
    trigger: { kind, name },
    key,
    receivedAt: formatInstant(receivedAt),
    contentType: contentType ?? null,
    headers,
    data: dataOf(data, contentType),
  };
}

function dataOf(data: string, contentType: string | undefined): unknown {
  if (!/[/+]json\b/i.test(contentType ?? "")) return data;
  try {
    return JSON.parse(data);
  } catch {
    return data;
  }
}
