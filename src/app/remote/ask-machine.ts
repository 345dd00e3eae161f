// One request to another machine's node, and what it says of the machine itself.

import { guardedRequest } from "../../kernel/guarded-request.ts";
import { type Clock, parseInstant } from "../../kernel/time.ts";
import { type Sign, skewOf } from "../../orchestrate/remote/machine-health.ts";

export interface MachineAddress {
  /** `http(s)://host:port/execute`. */
  url: URL;
  /** Resolved. */
  token: string | undefined;
}

export interface MachineRequest {
  method: "GET" | "POST" | "DELETE";
  /** Below the address: `?executor=x`, `/<id>?wait=20s`; `health` stands beside it. */
  path: string;
  body?: object;
  timeoutMs: number;
}

export type MachineAnswer =
  | { kind: "answered"; status: number; json: unknown; sign: Sign }
  /** `unsent` = nothing left this machine; `cut` = it may have arrived. */
  | { kind: "unsent" | "cut"; error: string; sign: Sign };

/** A result beyond it belongs into a file. */
const MAX_BYTES = 5_000_000;

/** Never rejects. The addresses are a person's own word in config.yaml: they may be private. */
export async function askMachine(
  clock: Clock,
  { url, token }: MachineAddress,
  request: MachineRequest,
  signal: AbortSignal,
): Promise<MachineAnswer> {
  const { method, path, body, timeoutMs } = request;
  const [sentAt, startedMs] = [clock.now(), clock.monotonicMs()];
  const answer = await guardedRequest(
    { clock, allow: () => true },
    {
      method,
      url: addressOf(url, path),
      headers: { accept: "application/json", ...(body && { "content-type": "application/json" }) },
      secretHeaders: token === undefined ? {} : { authorization: `Bearer ${token}` },
      ...(body && { body: JSON.stringify(body) }),
      ...{ timeoutMs, maxRedirects: 0, maxBytes: () => MAX_BYTES },
    },
    signal,
  );
  const tookMs = clock.monotonicMs() - startedMs;
  if (answer.kind !== "answered") {
    const kind = answer.kind === "cut" ? "cut" : "unsent";
    const { error } = answer;
    const sign: Sign = { kind: tookMs >= timeoutMs ? "silent" : "unwell", reason: error };
    return { kind, error, sign };
  }
  const { status, headers } = answer;
  if (status < 500 && answer.bodyEnd !== "whole") {
    const error = `${url.host}: the answer ${answer.bodyEnd === "cut" ? `is larger than ${MAX_BYTES} bytes` : "broke off"}`;
    return { kind: "cut", error, sign: { kind: "unwell", reason: error } };
  }
  const json = parse(answer.body.toString("utf8"));
  const theirs = clockOf(json, headers.date);
  const skewMs = theirs === undefined ? undefined : skewOf(theirs, { sentAt, answeredAt: sentAt + tookMs });
  const isWell = status < 500;
  const sign: Sign = isWell
    ? { kind: "well", roundTripMs: tookMs, skewMs }
    : { kind: "unwell", reason: `${url.host} answers ${status}${why(json)}` };
  return { kind: "answered", status, json, sign };
}

function addressOf(url: URL, path: string): URL {
  if (path.startsWith("health")) return new URL(path, url);
  const [below = "", query] = path.split("?", 2);
  const at = new URL(url.href);
  at.pathname = `${at.pathname.replace(/\/$/, "")}${below}`;
  if (query !== undefined) at.search = query;
  return at;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The node's own word, to the millisecond; else the server's header, to the second. */
function clockOf(json: unknown, date: string | undefined): number | undefined {
  if (isMap(json) && typeof json.now === "string") return parseInstant(json.now);
  const header = date === undefined ? Number.NaN : Date.parse(date);
  return Number.isNaN(header) ? undefined : header + 500;
}

/** `: gpuUnavailable`, or the words of an error. */
function why(json: unknown): string {
  if (!isMap(json)) return "";
  if (isMap(json.error) && typeof json.error.message === "string") return `: ${json.error.message}`;
  const { status, reason } = json;
  const words = [status, reason].filter((one) => typeof one === "string");
  return words.length > 0 ? `: ${words.join(", ")}` : "";
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
