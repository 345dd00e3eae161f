// One question to a platform's API: through the guard, its answer read as JSON where it is JSON.

import type { IncomingHttpHeaders } from "node:http";
import {
  guardedRequest,
  type RequestBody,
  type RequestDeps,
  type Unanswered,
} from "../../kernel/guarded-request.ts";
import { SECOND } from "../../kernel/time.ts";

/** Enough for any platform's receipt. */
const MAX_ANSWER_BYTES = 256_000;
const MAX_REDIRECTS = 3;
const TIMEOUT_MS = 15 * SECOND;
/** For a question that carries a file; a row with a file is held for six minutes, its try ends after four. */
export const FILE_TIMEOUT_MS = 210 * SECOND;

export interface PlatformDeps extends RequestDeps {
  /** For one try, everything together. Default 15,000; the outbox's lease is 60,000. */
  timeoutMs?: number | undefined;
}

export interface Question {
  method?: "GET" | "POST" | "PUT";
  url: URL;
  /** Sent to the first origin only, never to where it redirects. */
  secretHeaders?: Readonly<Record<string, string>>;
  headers?: Readonly<Record<string, string>>;
  /** Sent as JSON; or `body` as it is. */
  json?: unknown;
  body?: RequestBody;
  /** For this question; default: the platform's. */
  timeoutMs?: number;
}

export interface PlatformReply {
  kind: "answered";
  host: string;
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** Undefined when the body is no JSON. */
  json: unknown;
}

export type PlatformAnswer = PlatformReply | Unanswered;

/** Never throws for what a network or a platform can do. */
export async function askPlatform(
  deps: PlatformDeps,
  question: Question,
  signal: AbortSignal,
): Promise<PlatformAnswer> {
  const isJson = question.json !== undefined;
  const body = isJson ? JSON.stringify(question.json) : question.body;
  const answer = await guardedRequest(
    deps,
    {
      method: question.method ?? "POST",
      url: question.url,
      headers: {
        "user-agent": "nightshift",
        ...(isJson && { "content-type": "application/json; charset=utf-8" }),
        ...question.headers,
      },
      secretHeaders: question.secretHeaders,
      body,
      timeoutMs: question.timeoutMs ?? deps.timeoutMs ?? TIMEOUT_MS,
      maxRedirects: MAX_REDIRECTS,
      maxBytes: () => MAX_ANSWER_BYTES,
    },
    signal,
  );
  if (answer.kind !== "answered") return answer;
  const text = answer.body.toString("utf8");
  const { status, headers } = answer;
  return { kind: "answered", host: answer.url.host, status, headers, text, json: parseJson(text) };
}

/** The text at a path of a platform's JSON; a number is given as its digits. Undefined = there is none. */
export function textAt(value: unknown, ...path: (string | number)[]): string | undefined {
  const found = valueAt(value, path);
  if (typeof found === "number" && Number.isFinite(found)) return String(found);
  return typeof found === "string" && found !== "" ? found : undefined;
}

/** The number at a path of a platform's JSON. */
export function numberAt(value: unknown, ...path: (string | number)[]): number | undefined {
  const found = valueAt(value, path);
  return typeof found === "number" && Number.isFinite(found) ? found : undefined;
}

/** What stands at a path of a platform's JSON. */
export function valueAt(value: unknown, path: readonly (string | number)[]): unknown {
  let found = value;
  for (const key of path) {
    if (typeof found !== "object" || found === null) return undefined;
    found = Reflect.get(found, key);
  }
  return found;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `path` below a base URL, whose own path is kept. */
export function below(baseUrl: string, path: string): URL {
  return new URL(`${baseUrl.replace(/\/+$/, "")}/${path}`);
}

/** Bytes on the wire. */
export function utf8Length(text: string): number {
  return Buffer.byteLength(text, "utf8");
}
