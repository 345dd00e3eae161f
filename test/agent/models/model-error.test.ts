// Classes of failure, by status, code and brand; and what may be asked again.

import { APICallError, InvalidResponseDataError } from "@ai-sdk/provider";
import { describe, expect, test } from "vitest";
import {
  askedWaitMs,
  classOfModelError,
  isFree,
  isHandedOn,
  isRetried,
} from "../../../src/agent/models/model-error.ts";
import { Fault } from "../../../src/kernel/errors.ts";
import type { ModelErrorClass } from "../../../src/records/model.ts";
import { START } from "./ports.ts";

/** Messages that say something else than the status: nothing may read them. */
const MISLEADING = "401 rate limit exceeded: quota, timeout, network error, context length";

const api = (statusCode: number | undefined, more: { body?: string; cause?: unknown } = {}) =>
  new APICallError({
    message: MISLEADING,
    url: "https://api.example/v1",
    requestBodyValues: {},
    ...(statusCode === undefined ? {} : { statusCode }),
    ...(more.body === undefined ? {} : { responseBody: more.body }),
    ...(more.cause === undefined ? {} : { cause: more.cause }),
  });

const coded = (code: string) => Object.assign(new Error(MISLEADING), { code });
const fetchFailed = (cause: unknown) => new TypeError("fetch failed", { cause });
const fault = (code: ConstructorParameters<typeof Fault>[0], cause?: unknown) =>
  new Fault(code, MISLEADING, { hint: "x", cause });
const body = (error: Record<string, unknown>) => JSON.stringify({ error });

describe("S4: a failure's class", () => {
  test.each<[string, unknown, ModelErrorClass]>([
    ["400", api(400), "invalidRequest"],
    ["401", api(401), "auth"],
    ["402", api(402), "quota"],
    ["403", api(403), "auth"],
    ["404", api(404), "invalidRequest"],
    ["408", api(408), "timeout"],
    ["409", api(409), "server"],
    ["413", api(413), "contextLength"],
    ["429", api(429), "rateLimit"],
    ["429 with OpenAI's code", api(429, { body: body({ code: "insufficient_quota" }) }), "quota"],
    [
      "400 with OpenAI's code",
      api(400, { body: body({ code: "context_length_exceeded" }) }),
      "contextLength",
    ],
    [
      "400 with llama.cpp's type",
      api(400, { body: body({ type: "exceed_context_size_error" }) }),
      "contextLength",
    ],
    ["500", api(500), "server"],
    ["504", api(504), "timeout"],
    ["529 with Anthropic's type", api(529, { body: body({ type: "overloaded_error" }) }), "server"],
    ["200 that cannot be read", api(200, { body: "<html>" }), "badReply"],
    ["200 that broke off", api(200, { cause: coded("UND_ERR_SOCKET") }), "network"],
    ["a refused connection", api(undefined, { cause: coded("ECONNREFUSED") }), "network"],
    ["a broken stream", fetchFailed(coded("UND_ERR_SOCKET")), "network"],
    ["an unknown host", fetchFailed(coded("ENOTFOUND")), "network"],
    ["a bad certificate", fetchFailed(coded("CERT_HAS_EXPIRED")), "network"],
    ["all addresses of a host", fetchFailed(new AggregateError([coded("ECONNREFUSED")])), "network"],
    ["no head in time", fetchFailed(coded("UND_ERR_HEADERS_TIMEOUT")), "timeout"],
    ["a brand", new InvalidResponseDataError({ data: {}, message: MISLEADING }), "badReply"],
    ["an abort", new DOMException(MISLEADING, "AbortError"), "cancelled"],
    ["a time-out", new DOMException(MISLEADING, "TimeoutError"), "timeout"],
    ["a spent budget", fault("budget.spent"), "budget"],
    ["a missing key", fault("model.key-missing"), "auth"],
    ["a stream's own error", fault("model.unreachable", { type: "rate_limit_error" }), "rateLimit"],
    ["a stream without an end", fault("model.unreachable"), "network"],
    ["a bug", new Error(MISLEADING), "other"],
    ["no error at all", MISLEADING, "other"],
  ])("%s is told from what it is, not from what it says", (_name, error, expected) => {
    expect(classOfModelError(error)).toBe(expected);
  });

  test("decides what is asked again, what goes to the next model, and what cost nothing", () => {
    const table = (error: unknown) => [isRetried(error), isHandedOn(error), isFree(error)];
    expect(table(api(429))).toEqual([true, false, true]);
    expect(table(api(401))).toEqual([false, true, true]);
    expect(table(api(400))).toEqual([false, false, true]);
    expect(table(fetchFailed(coded("ECONNREFUSED")))).toEqual([true, true, true]);
    expect(table(fetchFailed(coded("ECONNRESET")))).toEqual([true, true, false]);
    expect(table(fault("model.host-refused"))).toEqual([false, false, true]);
    expect(table(api(200))).toEqual([false, false, false]);
  });

  test.each([
    [{ "retry-after": "7" }, 7_000],
    [{ "retry-after-ms": "250", "retry-after": "7" }, 250],
    [{ "retry-after": "Sun, 29 Nov 2026 06:01:00 GMT" }, 60_000],
    [{ "retry-after": "soon" }, undefined],
    [{}, undefined],
  ])("a provider asks to wait with %o", (responseHeaders, expected) => {
    const error = new APICallError({ message: "", url: "", requestBodyValues: {}, responseHeaders });
    expect(askedWaitMs(error, START)).toBe(expected);
  });
});
