// `webhook:<url or name>`: one signed JSON POST per message.
//
// I1. Sending twice is safe by contract: the idempotency key and body stay the same over every try (O3).
// I2. A 2xx is the receipt; other 4xx than 408, 425 and 429 are final.
// I3. Credentials are never in a URL: a named webhook has a secret and headers in the configuration.

import { readFile } from "node:fs/promises";
import { validateHeaderName, validateHeaderValue } from "node:http";
import { Fault } from "../../kernel/errors.ts";
import { type RequestDeps, whyRefusedUrl } from "../../kernel/guarded-request.ts";
import { makeAllowAddress } from "../../kernel/private-addresses.ts";
import { retryAfterMs } from "../../kernel/retry-after.ts";
import { type Clock, formatInstant, SECOND } from "../../kernel/time.ts";
import type { Adapter, SendRequest, SendResult, SentMedia, Target } from "../../records/delivery.ts";
import { guardedPost, type PostAnswer } from "../guarded-post.ts";
import { readWebhookSecret, signatureHeaders } from "../webhook-signature.ts";

const MAX_ERROR = 500;
/** A file stands in the JSON as base64: more than this no receiver expects. */
const MAX_INLINE = 1_000_000;
/** Try again later though it is a 4xx: time-out, too early, too many. */
const PASSING_STATUS = new Set([408, 425, 429]);
/** What the connection itself decides; a configured value would break it. */
const OWN_HEADERS = new Set(["host", "connection", "content-length", "transfer-encoding"]);
/** Where servers put the id they gave to what they took. */
const ID_HEADERS = ["x-message-id", "x-request-id", "request-id"];

export interface NamedWebhook {
  url: string;
  /** `whsec_<base64>`. Default: the general secret. */
  secret?: string | undefined;
  /** Sent to this URL's origin only, for instance `{Authorization: "Bearer …"}`. */
  headers?: Readonly<Record<string, string>> | undefined;
}

export interface WebhookOptions extends Pick<RequestDeps, "lookup" | "ca"> {
  clock: Clock;
  /** Signs every webhook without a secret of its own. Default: unsigned. */
  secret?: string | undefined;
  named?: Readonly<Record<string, NamedWebhook>> | undefined;
  /** Hosts, addresses or networks that may be private. Default: none. */
  allowPrivate?: readonly string[] | undefined;
  /** Default 15,000; the outbox's lease is 60,000. */
  timeoutMs?: number | undefined;
}

interface Endpoint {
  url: URL;
  secret: Buffer | undefined;
  headers: Readonly<Record<string, string>>;
}

/** Throws `config.invalid` for a named webhook or secret that could never work. */
export function makeWebhookAdapter(options: WebhookOptions): Adapter {
  const post: RequestDeps = { ...options, allow: makeAllowAddress(options.allowPrivate ?? []) };
  const { named, secret } = readEndpoints(options);
  const endpointOf = ({ url, chat }: Target): Endpoint | undefined =>
    url === undefined ? named.get(chat ?? "") : { url: new URL(url), secret, headers: {} };

  return {
    platform: "webhook",
    repeatability: "idempotent",
    maxLength: Number.POSITIVE_INFINITY,
    isForPrograms: true,
    addressForm: "<url or name> (http or https; user and password belong into a named webhook's headers)",
    parseAddress: readWebhookAddress,
    unusable: () => undefined,
    mediaLimits: () => ({ maxBytes: MAX_INLINE }),
    refuses(target) {
      const endpoint = endpointOf(target);
      if (endpoint) return whyRefusedUrl(endpoint.url, post.allow);
      const known = [...named.keys()].join(", ") || "none";
      return `no webhook is called "${target.chat ?? ""}" (configured: ${known})`;
    },
    async send(request, signal) {
      const endpoint = endpointOf(request.target);
      if (!endpoint) return { kind: "refused", error: `no webhook is called "${request.target.chat ?? ""}"` };
      const timeoutMs = options.timeoutMs ?? 15 * SECOND;
      const attachment = request.media && (await attachmentOf(request.media));
      const sent = { ...encode(endpoint, { request, attachment }, options.clock.now()), timeoutMs };
      const answer = await guardedPost(post, sent, signal);
      return judge(answer, endpoint.url.host, options.clock);
    },
  };
}

/** A URL, or the name of a configured webhook. Credentials in a URL are no address (I3). */
function readWebhookAddress(address: string): { chat?: string; url?: string } | undefined {
  if (/^[\w.-]+$/.test(address)) return { chat: address };
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address)) return undefined;
  const url = new URL(address);
  return url.username === "" && url.password === "" ? { url: url.href } : undefined;
}

interface Attachment {
  name: string;
  contentType: string;
  bytes: number;
  sha256: string;
  /** Base64. */
  data: string;
}

async function attachmentOf({ name, contentType, bytes, sha256, path }: SentMedia): Promise<Attachment> {
  return { name, contentType, bytes, sha256, data: await readFile(path, "base64") };
}

function encode(
  endpoint: Endpoint,
  { request, attachment }: { request: SendRequest; attachment: Attachment | undefined },
  now: number,
) {
  const id = request.idempotencyKey;
  const body = JSON.stringify({
    type: `nightshift.${request.kind}`,
    id,
    kind: request.kind,
    jobId: request.jobId ?? null,
    runId: request.runId ?? null,
    text: request.body,
    createdAt: formatInstant(request.createdAt),
    ...(attachment && { attachment }),
  });
  const signature = endpoint.secret ? signatureHeaders(endpoint.secret, { id, now, body }) : {};
  const headers = {
    "content-type": "application/json; charset=utf-8",
    "user-agent": "nightshift",
    "idempotency-key": id,
    ...signature,
  };
  return { url: endpoint.url, headers, secretHeaders: endpoint.headers, body };
}

function judge(answer: PostAnswer, host: string, clock: Clock): SendResult {
  switch (answer.kind) {
    case "refused":
      return { kind: "refused", error: answer.error };
    case "unsent":
      return { kind: "retry", error: answer.error };
    case "cut":
      return { kind: "unknown", error: answer.error };
    case "answered":
      return judgeStatus(answer, host, clock);
  }
}

function judgeStatus(answer: PostAnswer & { kind: "answered" }, host: string, clock: Clock): SendResult {
  const { status, headers, excerpt } = answer;
  const at = clock.now();
  if (status >= 200 && status <= 299) {
    const id = ID_HEADERS.map((name) => headers[name]).find((value) => typeof value === "string");
    return { kind: "delivered", receipt: { status, at, ...(typeof id === "string" ? { id } : {}) } };
  }
  const error = `${host} answered ${status}${excerpt ? `: ${excerpt}` : ""}`.slice(0, MAX_ERROR);
  if (status < 500 && !PASSING_STATUS.has(status)) return { kind: "refused", error };
  const afterMs = retryAfterMs(headers["retry-after"], at);
  return { kind: "retry", error, ...(afterMs === undefined ? {} : { afterMs }) };
}

function readEndpoints(options: WebhookOptions) {
  const secret = options.secret === undefined ? undefined : readWebhookSecret(options.secret, "webhooks");
  const named = new Map<string, Endpoint>();
  for (const [name, webhook] of Object.entries(options.named ?? {})) {
    const url = readWebhookAddress(webhook.url)?.url;
    if (url === undefined)
      throw unusableName(name, "its url is no http or https URL without user and password");
    const own =
      webhook.secret === undefined ? secret : readWebhookSecret(webhook.secret, `webhook "${name}"`);
    named.set(name, { url: new URL(url), secret: own, headers: readHeaders(name, webhook.headers ?? {}) });
  }
  return { named, secret };
}

function readHeaders(name: string, headers: Readonly<Record<string, string>>) {
  for (const [header, value] of Object.entries(headers)) {
    if (OWN_HEADERS.has(header.toLowerCase())) throw unusableName(name, `"${header}" is not yours to set`);
    try {
      validateHeaderName(header);
      validateHeaderValue(header, value);
    } catch {
      throw unusableName(name, `"${header}" is no valid header`);
    }
  }
  return headers;
}

function unusableName(name: string, why: string): Fault {
  return new Fault("config.invalid", `webhook "${name}" cannot be used: ${why}`, {
    hint: "Correct `deliver.webhooks` in config.yaml.",
  });
}
