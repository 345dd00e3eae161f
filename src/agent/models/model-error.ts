// What kind of failure a model call met, and whether asking again can help. By status, brand and code: never by message.
//
// I1. A provider's error is read here and handed on unchanged.

import { isFault } from "../../kernel/errors.ts";
import { retryAfterMs } from "../../kernel/retry-after.ts";
import type { Instant } from "../../kernel/time.ts";
import type { ModelErrorClass } from "../../records/model.ts";

/** @source Node's errno, DNS, TLS and undici codes of a connection that failed or broke */
const NETWORK_CODES =
  /^(E(CONN|NOTFOUND|AI_|PIPE|HOST|NET|TIMEDOUT|PROTO)|UND_ERR_(SOCKET|CLOSED|CONNECT|RESPONSE|DESTROYED)|ERR_(TLS|SSL|HTTP2)|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|HPE_|ERR_STREAM_PREMATURE)/;
const TIMEOUT_CODES = /^UND_ERR_(HEADERS|BODY)_TIMEOUT$/;

/** Codes and types in an error's body that say more than its status. @source OpenAI, Anthropic, Google, llama.cpp */
const BODY_CLASSES: Readonly<Record<string, ModelErrorClass>> = {
  insufficient_quota: "quota",
  billing_error: "quota",
  billing_hard_limit_reached: "quota",
  context_length_exceeded: "contextLength",
  exceed_context_size_error: "contextLength",
  request_too_large: "contextLength",
  authentication_error: "auth",
  permission_error: "auth",
  invalid_api_key: "auth",
  rate_limit_error: "rateLimit",
  rate_limit_exceeded: "rateLimit",
  overloaded_error: "server",
  api_error: "server",
  server_error: "server",
  timeout_error: "timeout",
};

/** Brands of the SDK's errors about an answer that cannot be read. */
const BAD_REPLIES = [
  "JSONParseError",
  "TypeValidationError",
  "InvalidResponseDataError",
  "NoContentGeneratedError",
  "EmptyResponseBodyError",
].map((name) => Symbol.for(`vercel.ai.error.AI_${name}`));

/** The class of anything a call rejected with. */
export function classOfModelError(error: unknown): ModelErrorClass {
  if (isFault(error)) return classOfFault(error.code, error.cause);
  if (typeof error !== "object" || error === null) return "other";
  const name = fieldOf(error, "name");
  if (name === "AbortError") return "cancelled";
  if (name === "TimeoutError") return "timeout";
  const status = fieldOf(error, "statusCode");
  const byBody = classOfBody(error);
  if (typeof status === "number" && status >= 300) return byBody ?? classOfStatus(status);
  return byBody ?? classOfCodes(error) ?? classOfBrand(error, status);
}

function classOfFault(code: string, cause: unknown): ModelErrorClass {
  switch (code) {
    case "model.key-missing":
    case "model.host-refused":
      return "auth";
    case "model.unreachable":
      return (cause === undefined ? undefined : classOfBody({ data: cause })) ?? "network";
    case "model.unknown":
      return "invalidRequest";
    case "budget.spent":
    case "model.unpriced":
      return "budget";
    default:
      return "other";
  }
}

function classOfStatus(status: number): ModelErrorClass {
  if (status === 401 || status === 403) return "auth";
  if (status === 402) return "quota";
  if (status === 408 || status === 504) return "timeout";
  if (status === 413) return "contextLength";
  if (status === 429) return "rateLimit";
  if (status >= 500 || status === 409) return "server";
  return status >= 400 ? "invalidRequest" : "other";
}

/** Looks for `code`, `type` and `status` in `data`, `data.error` and the same of the body's JSON. */
function classOfBody(error: object): ModelErrorClass | undefined {
  const places = [fieldOf(error, "data"), parsed(fieldOf(error, "responseBody"))];
  for (const place of places.flatMap((value) => [value, fieldOf(value, "error")])) {
    for (const field of ["code", "type"]) {
      const word = fieldOf(place, field);
      if (typeof word === "string" && Object.hasOwn(BODY_CLASSES, word)) return BODY_CLASSES[word];
    }
  }
  return undefined;
}

function parsed(body: unknown): unknown {
  if (typeof body !== "string" || body.length > 100_000 || !body.startsWith("{")) return undefined;
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** The first code known along the causes: fetch hides a connection's error below its own. */
function classOfCodes(error: unknown): ModelErrorClass | undefined {
  let at = error;
  for (let depth = 0; depth < 6 && typeof at === "object" && at !== null; depth++) {
    const code = fieldOf(at, "code");
    if (typeof code === "string") {
      if (TIMEOUT_CODES.test(code)) return "timeout";
      if (NETWORK_CODES.test(code)) return "network";
    }
    // A host with several addresses fails once for each.
    const [first] = at instanceof AggregateError ? at.errors : [];
    at = fieldOf(at, "cause") ?? first;
  }
  return undefined;
}

function classOfBrand(error: object, status: unknown): ModelErrorClass {
  if (BAD_REPLIES.some((brand) => brand in error)) return "badReply";
  // An answer with a good status that its adapter could not read.
  return typeof status === "number" ? "badReply" : "other";
}

function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !(name in value)) return undefined;
  return Reflect.get(value, name);
}

/** Classes that the same model may get over by itself. */
const RETRIED: ReadonlySet<ModelErrorClass> = new Set(["rateLimit", "timeout", "server", "network"]);
/** Classes for which the next model of the chain is asked. @source issue: auth, quota and network errors only */
const HANDED_ON: ReadonlySet<ModelErrorClass> = new Set(["auth", "quota", "network"]);

export function isRetried(error: unknown): boolean {
  return RETRIED.has(classOfModelError(error));
}

export function isHandedOn(error: unknown): boolean {
  return HANDED_ON.has(classOfModelError(error)) && !(isFault(error) && error.code === "model.host-refused");
}

/** Whether the request certainly cost nothing: refused with a status, or never on its way. */
export function isFree(error: unknown): boolean {
  const status = fieldOf(error, "statusCode");
  if (typeof status === "number" && status >= 300) return true;
  if (isFault(error)) return error.code !== "model.unreachable";
  return /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/.test(
    codeOf(error),
  );
}

function codeOf(error: unknown): string {
  let at = error;
  for (let depth = 0; depth < 6 && typeof at === "object" && at !== null; depth++) {
    const code = fieldOf(at, "code");
    if (typeof code === "string") return code;
    const [first] = at instanceof AggregateError ? at.errors : [];
    at = fieldOf(at, "cause") ?? first;
  }
  return "";
}

/** How long the provider asks to wait (`retry-after-ms`, `Retry-After`); undefined = it does not say. */
export function askedWaitMs(error: unknown, now: Instant): number | undefined {
  const headers = fieldOf(error, "responseHeaders");
  const exact = fieldOf(headers, "retry-after-ms");
  if (typeof exact === "string" && /^\d+(\.\d+)?$/.test(exact)) return Math.ceil(Number(exact));
  const header = fieldOf(headers, "retry-after");
  return typeof header === "string" ? retryAfterMs(header, now) : undefined;
}
