// What may set a job off besides its schedule (W7), and what happened outside when it did.
//
// I1. A kind of trigger is a line of `Trigger`, one of `triggerSchema` (job-schema.ts) and somebody who calls `fireEvent`.
// I2. An event happens once: whatever repeats its key is the same event.

import { formatInstant, type Instant } from "../kernel/time.ts";

/** As a job names it. `name` is what the sender, the broker or the watcher is called here. */
export interface Trigger {
  kind: TriggerKind;
  name: string;
}

export const TRIGGER_KINDS = ["webhook"] as const;
export type TriggerKind = (typeof TRIGGER_KINDS)[number];

/** `on:` in a job's document: one key a kind. */
export interface TriggerDocument {
  webhook: string;
}

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

export function triggersOf(documents: readonly TriggerDocument[]): Trigger[] {
  return documents.map(({ webhook }) => ({ kind: "webhook", name: webhook }));
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
