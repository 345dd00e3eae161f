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

type Rendered = { method: Method; url: URL; headers: Record<string, string>; body: string | undefined };
type Method = Parameters<typeof guardedRequest>[1]["method"];

/** What does the request of `work`. Throws Fault `executor.invalid` for templates that cannot be read. */
export async function httpAttempt(
  deps: HttpDeps,
  name: string,
  { work, contract }: { work: HttpWork; contract: Pick<ExecutorContract, "effects"> },
): Promise<(call: ExecutorCall) => Promise<Outcome>> {
  const render = await compileRequest(deps, name, work);
  const allow = makeAllowAddress([...work.allowPrivate, ...writtenHost(work.url)]);
  return async (call) => {
    let request: Rendered;
    try {
      request = render(call);
    } catch (error) {
      return failed("preflight", messageOf(error));
    }
    const { ctx } = call;
    if (!(await ctx.begin()))
      return outcomeOfAbort(ctx.abortReason() ?? { kind: "cancel", by: "beforeStart" });
    const answer = await guardedRequest(
      { clock: deps.clock, allow, ca: deps.ca, lookup: deps.lookup },
      {
        ...request,
        timeoutMs: call.timeoutMs || NO_LIMIT_MS,
        maxRedirects: MAX_REDIRECTS,
        maxBytes: () => MAX_BODY_BYTES,
      },
      ctx.signal,
    );
    ctx.touch("answered");
    const reason = ctx.abortReason();
    if (reason) return outcomeOfAbort(reason);
    return judge(answer, { request, isRepeatable: isRepeatable(request, contract) });
  };
}

/** The host of a URL that holds no template before its path: the person's own word (I2). */
function writtenHost(url: string): string[] {
  const host = /^https?:\/\/([^/?#{}$]+)(?=[/?#]|$)/.exec(url)?.[1]?.replace(/^.*@/, "").replace(/:\d+$/, "");
  return host === undefined ? [] : [host];
}

async function compileRequest(
  deps: HttpDeps,
  name: string,
  work: HttpWork,
): Promise<(call: ExecutorCall) => Rendered> {
  const url = await compileUrl(work.url, `${name}: http.url`);
  const rest = await compileTemplates(
    { headers: work.headers, query: work.query, body: work.body },
    `${name}: http`,
  );
  return (call) => {
    const scope = scopeOfCall(call);
    const [target, parts] = [url(scope, deps.resolve), rest(scope, deps.resolve)];
    if (!target.ok) throw new Error(`${name}: http.url: ${target.message}`);
    if (!parts.ok) throw new Error(`${name}: http: ${parts.message}`);
    const { headers, query, body } = parts.value as Pick<HttpWork, "headers" | "query" | "body">;
    return {
      method: (work.method ?? (work.body === undefined ? "GET" : "POST")) as Method,
      url: urlOf(String(target.value), query),
      ...withBody(headers, body),
    };
  };
}

function urlOf(text: string, query: HttpWork["query"]): URL {
  if (!URL.canParse(text)) throw new Error("the URL cannot be read; write http://host/path");
  const url = new URL(text);
  for (const [name, value] of Object.entries(query))
    for (const one of [value].flat())
      if (one !== null && one !== undefined) url.searchParams.append(name, asText(one));
  return url;
}

const asText = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

function withBody(given: HttpWork["headers"], body: unknown): Pick<Rendered, "headers" | "body"> {
  const headers = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name.toLowerCase(), asText(value)]),
  );
  headers.accept ??= "application/json, */*;q=0.5";
  if (body === undefined || body === null) return { headers, body: undefined };
  if (typeof body !== "string") headers["content-type"] ??= "application/json";
  return { headers, body: asText(body) };
}

/** Methods that HTTP itself declares safe or idempotent, and what was declared so here. @source RFC 9110 §9.2 */
function isRepeatable({ method }: Rendered, { effects }: Pick<ExecutorContract, "effects">): boolean {
  return effects !== "external" || method === "GET" || method === "HEAD";
}

function judge(
  answer: Answered | Unanswered,
  { request, isRepeatable }: { request: Rendered; isRepeatable: boolean },
): Outcome {
  const { host } = request.url;
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
