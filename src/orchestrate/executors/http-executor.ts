// One HTTP request as an attempt: rendered, guarded, judged by its status, its body the result.
//
// I1. `running` is committed before anything is sent (L3). A request that may have arrived and was not answered is
//     `unknown` unless repeating it was declared safe (law 4).
// I2. Hosts that a person wrote out may be private; what a task's params lead to may not, unless `allowPrivate` names it.

import { messageOf } from "../../kernel/errors.ts";
import {
  type Answered,
  guardedRequest,
  type RequestDeps,
  type Unanswered,
} from "../../kernel/guarded-request.ts";
import { makeAllowAddress } from "../../kernel/private-addresses.ts";
import type { Clock } from "../../kernel/time.ts";
import { outcomeOfAbort } from "../../records/abort-outcome.ts";
import type { ExecutorCall, ExecutorContract } from "../../records/executor.ts";
import type { HttpWork } from "../../records/executor-config.ts";
import type { Outcome } from "../../records/outcome.ts";
import { compileTemplates, compileUrl, type ResolveText, scopeOfCall } from "./templates.ts";

export interface HttpDeps {
  clock: Clock;
  /** References of what a person wrote (`${env:NAME}`). Throws Fault `config.invalid`. */
  resolve: ResolveText;
  ca?: string | undefined;
  lookup?: RequestDeps["lookup"];
}

/** A body beyond it is cut, and fails the attempt: half a JSON is none. */
const MAX_BODY_BYTES = 5_000_000;
const MAX_REDIRECTS = 5;
/** Where a task has no limit, a request has one: nothing else would end it. */
const NO_LIMIT_MS = 10 * 60_000;
/** Statuses that a later attempt may change (L6). @source RFC 9110 §15, RFC 6585 §4 */
const UNAVAILABLE = [408, 425, 429, 500, 502, 503, 504];

type Method = Parameters<typeof guardedRequest>[1]["method"];

/** A request whose values are all known. */
export interface HttpRequest extends HttpWork {
  /** Whether a repetition was declared safe. */
  isRepeatable: boolean;
}

/** What does the request of `work`. Throws Fault `executor.invalid` for templates that cannot be read. */
export async function httpAttempt(
  deps: HttpDeps,
  name: string,
  { work, contract }: { work: HttpWork; contract: Pick<ExecutorContract, "effects"> },
): Promise<(call: ExecutorCall) => Promise<Outcome>> {
  const url = await compileUrl(work.url, `${name}: http.url`);
  const { headers, query, body } = work;
  const rest = await compileTemplates({ headers, query, body }, `${name}: http`);
  const allowPrivate = [...work.allowPrivate, ...writtenHost(work.url)];
  return async (call) => {
    const scope = scopeOfCall(call);
    try {
      const [target, parts] = [url(scope, deps.resolve), rest(scope, deps.resolve)];
      if (!target.ok) return failed("params", `${name}: http.url: ${target.message}`);
      if (!parts.ok) return failed("params", `${name}: http: ${parts.message}`);
      const rendered = parts.value as Pick<HttpWork, "headers" | "query" | "body">;
      const { method } = work;
      const isRepeatable = contract.effects !== "external";
      return await sendRequest(
        deps,
        { ...rendered, method, url: String(target.value), allowPrivate, isRepeatable },
        call,
      );
    } catch (error) {
      // A reference to a variable that is not set.
      return failed("preflight", messageOf(error));
    }
  };
}

/** Sends it, once. Never rejects for what a network can do. */
export async function sendRequest(
  deps: HttpDeps,
  request: HttpRequest,
  call: ExecutorCall,
): Promise<Outcome> {
  const { ctx } = call;
  if (!URL.canParse(request.url)) return failed("params", "the URL cannot be read; write http://host/path");
  const url = withQuery(request.url, request.query);
  const method = (request.method ?? (request.body === undefined ? "GET" : "POST")) as Method;
  if (!(await ctx.begin())) return outcomeOfAbort(ctx.abortReason() ?? { kind: "cancel", by: "beforeStart" });
  const answer = await guardedRequest(
    { clock: deps.clock, allow: makeAllowAddress(request.allowPrivate), ca: deps.ca, lookup: deps.lookup },
    {
      ...{ method, url, ...withBody(request.headers, request.body) },
      timeoutMs: call.timeoutMs || NO_LIMIT_MS,
      maxRedirects: MAX_REDIRECTS,
      maxBytes: () => MAX_BODY_BYTES,
    },
    ctx.signal,
  );
  ctx.touch("answered");
  const reason = ctx.abortReason();
  if (reason) return outcomeOfAbort(reason);
  return judge(answer, { host: url.host, isRepeatable: request.isRepeatable || isSafe(method) });
}

/** The host of a URL that holds no template before its path: the person's own word (I2). */
function writtenHost(url: string): string[] {
  const host = /^https?:\/\/([^/?#{}$]+)(?=[/?#]|$)/.exec(url)?.[1]?.replace(/^.*@/, "").replace(/:\d+$/, "");
  return host === undefined ? [] : [host];
}

function withQuery(text: string, query: HttpWork["query"]): URL {
  const url = new URL(text);
  for (const [name, value] of Object.entries(query))
    for (const one of [value].flat())
      if (one !== null && one !== undefined) url.searchParams.append(name, asText(one));
  return url;
}

const asText = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

function withBody(
  given: HttpWork["headers"],
  body: unknown,
): { headers: Record<string, string>; body: string | undefined } {
  const headers = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name.toLowerCase(), asText(value)]),
  );
  headers.accept ??= "application/json, */*;q=0.5";
  if (body === undefined || body === null) return { headers, body: undefined };
  if (typeof body !== "string") headers["content-type"] ??= "application/json";
  return { headers, body: asText(body) };
}

/** @source RFC 9110 §9.2.1 */
const isSafe = (method: Method) => method === "GET" || method === "HEAD";

function judge(
  answer: Answered | Unanswered,
  { host, isRepeatable }: { host: string; isRepeatable: boolean },
): Outcome {
  if (answer.kind !== "answered") return outcomeOfSilence(answer, isRepeatable);
  const text = answer.body.toString("utf8");
  if (answer.status >= 400) {
    const code = UNAVAILABLE.includes(answer.status) ? "unavailable" : "http";
    const excerpt = text.replace(/\s+/g, " ").trim().slice(0, 300);
    return failed(code, `${host} answered ${answer.status}${excerpt && `: ${excerpt}`}`);
  }
  if (answer.bodyEnd === "cut")
    return failed("http", `${host} answered with more than ${MAX_BODY_BYTES} bytes`);
  if (answer.bodyEnd === "broken") return failed("unavailable", `the answer of ${host} broke off`);
  return outcomeOf(text, answer);
}

function outcomeOfSilence({ kind, error }: Unanswered, isRepeatable: boolean): Outcome {
  if (kind === "refused") return failed("refused", error);
  if (kind === "unsent" || isRepeatable) return failed("unavailable", error);
  return { state: "unknown", why: `it may have arrived: ${error}` };
}

/** A JSON body is the result itself; anything else is told with its status. */
function outcomeOf(text: string, { status, headers }: Answered): Outcome {
  const type = headers["content-type"] ?? "";
  const isJson = /\bjson\b/i.test(type) || (type === "" && /^\s*[{[]/.test(text));
  if (isJson && text.trim() !== "") {
    try {
      const result = JSON.parse(text) as unknown;
      return { state: "succeeded", output: text, isSilent: false, result };
    } catch (error) {
      return failed("result", `the answer says it is JSON and is none: ${messageOf(error)}`);
    }
  }
  return { state: "succeeded", output: text, isSilent: text.trim() === "", result: { status, body: text } };
}

function failed(code: string, message: string): Outcome {
  return { state: "failed", error: { code, message } };
}
