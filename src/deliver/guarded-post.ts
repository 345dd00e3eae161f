// One POST of a message, through the guard that every request to a written address goes through.
//
// I1. A 2xx is evidence by itself: its body is not waited for. Of an error's body the beginning is kept, as one line.

import type { IncomingHttpHeaders } from "node:http";
import { guardedRequest, type RequestDeps, type Unanswered } from "../kernel/guarded-request.ts";

const MAX_REDIRECTS = 3;
/** Enough for an error's sentence; the rest of a body is not read. */
const MAX_EXCERPT_BYTES = 2_000;

export interface PostRequest {
  url: URL;
  headers: Readonly<Record<string, string>>;
  /** Sent to the first origin only, never to where it redirects. */
  secretHeaders?: Readonly<Record<string, string>> | undefined;
  body: string;
  /** For everything together: names, redirects, answer. */
  timeoutMs: number;
}

export type PostAnswer =
  | { kind: "answered"; status: number; headers: IncomingHttpHeaders; excerpt: string }
  | Unanswered;

/** Posts and follows 307 and 308. Never throws for what a network can do. */
export async function guardedPost(
  deps: RequestDeps,
  request: PostRequest,
  signal: AbortSignal,
): Promise<PostAnswer> {
  const maxBytes = (status: number) => (status < 300 ? 0 : MAX_EXCERPT_BYTES);
  const answer = await guardedRequest(
    deps,
    { ...request, method: "POST", maxRedirects: MAX_REDIRECTS, maxBytes },
    signal,
  );
  if (answer.kind !== "answered") return answer;
  const { status, headers, body } = answer;
  return { kind: "answered", status, headers, excerpt: body.toString("utf8").replace(/\s+/g, " ").trim() };
}
