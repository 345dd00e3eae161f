// One POST to an address that people or agents wrote: bounded in time and size, kept off private networks.
//
// I1. A host is resolved once, every address of it is judged, and the connection is made to those addresses only:
//     a second answer of the name server (rebinding) is never asked for.
// I2. Each redirect is judged like the first URL; only 307 and 308 are followed, since they keep the POST.
// I3. The answer says whether anything may have arrived (law 4): nothing is guessed from an error's text.
// I4. Errors name the host, never the path or query: in a webhook's URL those are its password.

import { lookup as dnsLookup } from "node:dns/promises";
import http, { type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import https from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { linkAbort, whenAborted } from "../kernel/abort.ts";
import { messageOf } from "../kernel/errors.ts";
import { type Clock, formatDuration } from "../kernel/time.ts";
import type { AllowAddress } from "./private-addresses.ts";

const MAX_REDIRECTS = 3;
/** Enough for an error's sentence; the rest of a body is not read. */
const MAX_EXCERPT_BYTES = 2_000;

export interface HostAddress {
  address: string;
  family: number;
}

export interface PostDeps {
  clock: Clock;
  allow: AllowAddress;
  /** Default: the system's resolver. */
  lookup?: ((host: string) => Promise<readonly HostAddress[]>) | undefined;
  /** Further certificate authorities (PEM), for servers of one's own. */
  ca?: string | undefined;
}

export interface PostRequest {
  url: URL;
  headers: Readonly<Record<string, string>>;
  /** Sent to the first origin only, never to where it redirects. */
  secretHeaders?: Readonly<Record<string, string>> | undefined;
  body: string;
  /** For everything together: names, redirects, answer. */
  timeoutMs: number;
}

/** `unsent` = nothing left this machine; `cut` = it may have arrived; `refused` = our own rules forbid it. */
export type PostAnswer =
  | { kind: "answered"; status: number; headers: IncomingHttpHeaders; excerpt: string }
  | { kind: "refused" | "unsent" | "cut"; error: string };

/** Posts and follows. Never throws for what a network can do. */
export async function guardedPost(
  deps: PostDeps,
  request: PostRequest,
  signal: AbortSignal,
): Promise<PostAnswer> {
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

/** Why a URL may not be posted to, as far as its text says (scheme, credentials, literal address). */
export function whyRefusedUrl(url: URL, allow: AllowAddress): string | undefined {
  if (url.protocol !== "http:" && url.protocol !== "https:") return `${url.protocol} is not http or https`;
  if (url.username !== "" || url.password !== "") return "a URL with a user or password in it is not used";
  const host = hostOf(url);
  if (isIP(host) !== 0 && !allow(host, host)) return privateSentence(host, host);
  return undefined;
}

async function follow(deps: PostDeps, request: PostRequest, signal: AbortSignal): Promise<PostAnswer> {
  let url = request.url;
  for (let hop = 0; ; hop++) {
    const why = whyRefusedUrl(url, deps.allow);
    if (why !== undefined)
      return { kind: "refused", error: hop === 0 ? why : `a redirect was refused: ${why}` };
    const found = await resolveHost(deps, url, signal);
    if ("error" in found) return found;
    const isFirstOrigin = url.origin === request.url.origin;
    const headers = { ...request.headers, ...(isFirstOrigin ? request.secretHeaders : {}) };
    const answer = await postOnce(
      { url, headers, body: request.body, addresses: found, ca: deps.ca },
      signal,
    );
    if (answer.kind !== "answered" || answer.status < 300 || answer.status > 399) return answer;
    const next = redirectTarget(url, answer);
    if (typeof next === "string") return { kind: "refused", error: next };
    if (hop === MAX_REDIRECTS) return { kind: "refused", error: `more than ${MAX_REDIRECTS} redirects` };
    url = next;
  }
}

function redirectTarget(from: URL, answer: PostAnswer & { kind: "answered" }): URL | string {
  const { status, headers } = answer;
  const location = headers.location ?? "";
  if ((status !== 307 && status !== 308) || !URL.canParse(location, from.href))
    return `${from.host} answered ${status}: a POST is not repeated elsewhere; set the final URL`;
  const next = new URL(location, from.href);
  const isDowngrade = from.protocol === "https:" && next.protocol === "http:";
  return isDowngrade ? `${from.host} redirects from https to http` : next;
}

async function resolveHost(
  deps: PostDeps,
  url: URL,
  signal: AbortSignal,
): Promise<readonly HostAddress[] | Exclude<PostAnswer, { kind: "answered" }>> {
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
  url: URL;
  headers: Readonly<Record<string, string>>;
  body: string;
  addresses: readonly HostAddress[];
  ca: string | undefined;
}

function postOnce({ url, headers, body, addresses, ca }: Hop, signal: AbortSignal): Promise<PostAnswer> {
  const isSecure = url.protocol === "https:";
  return new Promise((resolve) => {
    let mayHaveArrived = false;
    let hasAnswer = false;
    const request = (isSecure ? https : http).request(url, {
      method: "POST",
      agent: false,
      lookup: pinnedLookup(addresses),
      signal,
      headers: { ...headers, "content-length": String(Buffer.byteLength(body)) },
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
      void readExcerpt(response).then((excerpt) => {
        request.destroy();
        resolve({ kind: "answered", status: response.statusCode ?? 0, headers: response.headers, excerpt });
      });
    });
    request.end(body);
  });
}

/** The beginning of an error's body. A 2xx is evidence by itself: its body is not waited for. Never rejects. */
function readExcerpt(response: IncomingMessage): Promise<string> {
  if ((response.statusCode ?? 0) < 300) return Promise.resolve("");
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const finish = () =>
      resolve(
        Buffer.concat(chunks).subarray(0, MAX_EXCERPT_BYTES).toString("utf8").replace(/\s+/g, " ").trim(),
      );
    response.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= MAX_EXCERPT_BYTES) finish();
    });
    // The status is known: a body that breaks off or never ends takes nothing from it.
    for (const end of ["end", "close", "error"]) response.once(end, finish);
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
