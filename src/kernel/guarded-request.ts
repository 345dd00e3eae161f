// One HTTP request to an address that people or agents wrote: bounded in time and size, kept off private networks.
//
// I1. A host is resolved once, every address of it is judged, and the connection is made to those addresses only:
//     a second answer of the name server (rebinding) is never asked for.
// I2. Each redirect is judged like the first URL. What may change something follows only 307 and 308, since they keep it.
// I3. The answer says whether anything may have arrived (law 4): nothing is guessed from an error's text.
// I4. Errors name the host, never the path or query: in a webhook's URL those are its password.

import { lookup as dnsLookup } from "node:dns/promises";
import http, { type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import https from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { pipeline, Readable } from "node:stream";
import { linkAbort, whenAborted } from "./abort.ts";
import { messageOf } from "./errors.ts";
import type { AllowAddress } from "./private-addresses.ts";
import { type Clock, formatDuration } from "./time.ts";

export interface HostAddress {
  address: string;
  family: number;
}

export interface RequestDeps {
  clock: Clock;
  allow: AllowAddress;
  /** Default: the system's resolver. */
  lookup?: ((host: string) => Promise<readonly HostAddress[]>) | undefined;
  /** Further certificate authorities (PEM), for servers of one's own. */
  ca?: string | undefined;
}

/** A body that is too large to be held: read when it is sent, and read again where a redirect repeats it. */
export interface StreamedBody {
  bytes: number;
  open(): AsyncIterable<Uint8Array>;
}

export type RequestBody = string | Uint8Array | StreamedBody;

export interface GuardedRequest {
  method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  url: URL;
  headers: Readonly<Record<string, string>>;
  /** Sent to the first origin only, never to where it redirects. */
  secretHeaders?: Readonly<Record<string, string>> | undefined;
  body?: RequestBody | undefined;
  /** For everything together: names, redirects, answer. */
  timeoutMs: number;
  maxRedirects: number;
  /** Bytes of the body worth waiting for, by status; 0 = the status alone is the answer. */
  maxBytes(status: number): number;
}

/** A body that is `cut` was longer than wanted; one that is `broken` ended before its end or out of time. */
export interface Answered {
  kind: "answered";
  /** Where the answer came from, after redirects. */
  url: URL;
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  bodyEnd: "whole" | "cut" | "broken";
}

/** `unsent` = nothing left this machine; `cut` = it may have arrived; `refused` = our own rules forbid it. */
export interface Unanswered {
  kind: "refused" | "unsent" | "cut";
  error: string;
}

/** Requests and follows. Never throws for what a network can do. */
export async function guardedRequest(
  deps: RequestDeps,
  request: GuardedRequest,
  signal: AbortSignal,
): Promise<Answered | Unanswered> {
  const deadline = linkAbort(signal);
  const timer = new AbortController();
  const late = `no answer within ${formatDuration(request.timeoutMs)}`;
  const timing = deps.clock.sleep(request.timeoutMs, timer.signal).then(
    () => deadline.abort(new Error(late)),
    () => {},
  );
  try {
    return await follow(deps, request, deadline.signal);
  } finally {
    timer.abort();
    deadline.release();
    await timing;
  }
}

/** Why a URL may not be asked, as far as its text says (scheme, credentials, literal address). */
export function whyRefusedUrl(url: URL, allow: AllowAddress): string | undefined {
  if (url.protocol !== "http:" && url.protocol !== "https:") return `${url.protocol} is not http or https`;
  if (url.username !== "" || url.password !== "") return "a URL with a user or password in it is not used";
  const host = hostOf(url);
  if (isIP(host) !== 0 && !allow(host, host)) return privateSentence(host, host);
  return undefined;
}

async function follow(
  deps: RequestDeps,
  request: GuardedRequest,
  signal: AbortSignal,
): Promise<Answered | Unanswered> {
  let url = request.url;
  for (let hop = 0; ; hop++) {
    const why = whyRefusedUrl(url, deps.allow);
    if (why !== undefined)
      return { kind: "refused", error: hop === 0 ? why : `a redirect was refused: ${why}` };
    const found = await resolveHost(deps, url, signal);
    if ("error" in found) return found;
    const isFirstOrigin = url.origin === request.url.origin;
    const headers = { ...request.headers, ...(isFirstOrigin ? request.secretHeaders : {}) };
    const answer = await askOnce({ request, url, headers, addresses: found, ca: deps.ca }, signal);
    if (answer.kind !== "answered" || !isRedirect(request, answer)) return answer;
    const next = redirectTarget(request, answer);
    if (typeof next === "string") return { kind: "refused", error: next };
    if (hop === request.maxRedirects)
      return { kind: "refused", error: `more than ${request.maxRedirects} redirects` };
    url = next;
  }
}

const isReading = ({ method }: GuardedRequest) => method === "GET" || method === "HEAD";

/** 304 and 300 lead nowhere by themselves: a GET takes them as its answer. */
function isRedirect(request: GuardedRequest, { status }: Answered): boolean {
  return !isReading(request) ? status >= 300 && status <= 399 : [301, 302, 303, 307, 308].includes(status);
}

function redirectTarget(request: GuardedRequest, { url, status, headers }: Answered): URL | string {
  const location = headers.location ?? "";
  const { method } = request;
  const isKept = isReading(request) || status === 307 || status === 308;
  if (!isKept || !URL.canParse(location, url.href))
    return !isReading(request)
      ? `${url.host} answered ${status}: a ${method} is not repeated elsewhere; set the final URL`
      : `${url.host} answered ${status} without an address to go to`;
  const next = new URL(location, url.href);
  const isDowngrade = url.protocol === "https:" && next.protocol === "http:";
  return isDowngrade ? `${url.host} redirects from https to http` : next;
}

async function resolveHost(
  deps: RequestDeps,
  url: URL,
  signal: AbortSignal,
): Promise<readonly HostAddress[] | Unanswered> {
  const host = hostOf(url);
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family }];
  const lookup = deps.lookup ?? ((name) => dnsLookup(name, { all: true, verbatim: true }));
  const aborted = whenAborted(signal);
  try {
    const stopped = aborted.promise.then(() => Promise.reject(signal.reason));
    const addresses = await Promise.race([lookup(host), stopped]);
    if (addresses.length === 0) return { kind: "unsent", error: `${host} has no address` };
    // One private answer among public ones is how rebinding looks: none of them is used.
    const forbidden = addresses.find(({ address }) => !deps.allow(host, address));
    return forbidden ? { kind: "refused", error: privateSentence(host, forbidden.address) } : addresses;
  } catch (error) {
    return { kind: "unsent", error: `${host} was not found: ${messageOf(error)}` };
  } finally {
    aborted.release();
  }
}

interface Hop {
  request: GuardedRequest;
  url: URL;
  headers: Readonly<Record<string, string>>;
  addresses: readonly HostAddress[];
  ca: string | undefined;
}

function askOnce(hop: Hop, signal: AbortSignal): Promise<Answered | Unanswered> {
  const { url, addresses, ca } = hop;
  const { method, body, maxBytes } = hop.request;
  const isSecure = url.protocol === "https:";
  const length = body === undefined ? {} : { "content-length": String(lengthOf(body)) };
  return new Promise((resolve) => {
    let mayHaveArrived = false;
    let hasAnswer = false;
    const request = (isSecure ? https : http).request(url, {
      method,
      agent: false,
      lookup: pinnedLookup(addresses),
      signal,
      headers: { ...hop.headers, ...length },
      ...(ca === undefined ? {} : { ca }),
    });
    request.once("socket", (socket) => {
      // From here on bytes of the request may be on their way, whatever error comes.
      socket.once(isSecure ? "secureConnect" : "connect", () => {
        mayHaveArrived = true;
      });
    });
    const fail = (message: string) => {
      // Once a status is known, what happens to the connection takes nothing from it.
      if (!hasAnswer) resolve({ kind: mayHaveArrived ? "cut" : "unsent", error: `${url.host}: ${message}` });
    };
    request.on("error", (error) => fail(messageOf(signal.aborted ? signal.reason : error)));
    request.once("close", () => fail("the connection ended without an answer"));
    request.once("response", (response) => {
      hasAnswer = true;
      response.on("error", () => {});
      const { statusCode: status = 0, headers } = response;
      void readBody(response, maxBytes(status)).then((read) => {
        request.destroy();
        resolve({ kind: "answered", url, status, headers, ...read });
      });
    });
    if (!isStreamed(body)) return void request.end(body);
    // An error of the source ends the request, and is told like any other of it.
    pipeline(Readable.from(body.open()), request, (error) => error && request.destroy(error));
  });
}

function isStreamed(body: RequestBody | undefined): body is StreamedBody {
  return typeof body === "object" && !(body instanceof Uint8Array);
}

function lengthOf(body: RequestBody): number {
  return isStreamed(body) ? body.bytes : Buffer.byteLength(body);
}

/** At most `maxBytes`; what came before a break is kept. Never rejects. */
function readBody(response: IncomingMessage, maxBytes: number): Promise<Pick<Answered, "body" | "bodyEnd">> {
  if (maxBytes === 0) return Promise.resolve({ body: Buffer.alloc(0), bodyEnd: "cut" });
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const finish = (bodyEnd: Answered["bodyEnd"]) =>
      resolve({ body: Buffer.concat(chunks).subarray(0, maxBytes), bodyEnd });
    response.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size > maxBytes) finish("cut");
    });
    // The status is known: a body that breaks off or never ends takes nothing from it.
    response.once("end", () => finish("whole"));
    response.once("close", () => finish("broken"));
    response.once("error", () => finish("broken"));
  });
}

/** Answers with the judged addresses and asks nobody (I1). */
function pinnedLookup(addresses: readonly HostAddress[]): LookupFunction {
  return (_host, options, callback) => {
    const [first] = addresses;
    if (options.all) callback(null, [...addresses]);
    else callback(null, first?.address ?? "", first?.family ?? 4);
  };
}

function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "");
}

function privateSentence(host: string, address: string): string {
  const where = host === address ? host : `${host} (${address})`;
  return `${where} is not a public address; name it under \`allowPrivate\` in config.yaml if it is meant`;
}
