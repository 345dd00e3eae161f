// A file to Slack: asked for a place, put there, and only then shown.
//
// I1. Only the last step is seen by anybody: what is lost before it is a try that failed, not a doubt.
// @source api.slack.com: files.getUploadURLExternal, files.completeUploadExternal.

import type { SentMedia } from "../../records/delivery.ts";
import {
  askPlatform,
  FILE_TIMEOUT_MS,
  type PlatformAnswer,
  type PlatformDeps,
  type Question,
  textAt,
} from "./ask.ts";
import { ofHiddenStep } from "./judge.ts";
import { fileBody } from "./multipart.ts";

export interface SlackCalls {
  deps: PlatformDeps;
  /** A method of the Web API, with the bot's token. */
  call(method: string, question: Omit<Question, "url">, signal: AbortSignal): Promise<PlatformAnswer>;
  signal: AbortSignal;
}

/** The answer of the step that ended it. `channel` must be an id: a name is answered with `channel_not_found`. */
export async function sendSlackFile(
  { deps, call, signal }: SlackCalls,
  message: { media: SentMedia; channel?: string; text: string; thread_ts?: string },
): Promise<PlatformAnswer> {
  const { media, channel, text, thread_ts } = message;
  const form = new URLSearchParams({ filename: media.name, length: String(media.bytes) });
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const place = await call("files.getUploadURLExternal", { headers, body: form.toString() }, signal);
  const [url, id] = ["upload_url", "file_id"].map((key) =>
    place.kind === "answered" ? textAt(place.json, key) : undefined,
  );
  // A refusal with 200 and `ok: false` is an answer as any other.
  if (url === undefined || id === undefined || !URL.canParse(url))
    return place.kind === "cut" ? { kind: "unsent", error: place.error } : place;
  const put = await askPlatform(
    deps,
    {
      url: new URL(url),
      headers: { "content-type": media.contentType },
      body: fileBody(media),
      timeoutMs: FILE_TIMEOUT_MS,
    },
    signal,
  );
  const step = ofHiddenStep(put, ({ status }) => status === 200);
  if (step !== "done") return step;
  const json = { files: [{ id, title: media.name }], channel_id: channel, initial_comment: text, thread_ts };
  return call("files.completeUploadExternal", { json }, signal);
}
