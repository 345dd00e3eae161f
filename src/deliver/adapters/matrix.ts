// Matrix: one event, put under a transaction id.
//
// I1. The same transaction id gives the same event: `idempotent`. It is made of the row's key, so it outlives this process.
// I2. An alias is asked for its room each time: aliases move.
// @source spec.matrix.org v1.13 client-server: "PUT …/send/{eventType}/{txnId}", "m.thread", "m.mentions", M_LIMIT_EXCEEDED.

import type { PlatformConfigs } from "../../records/deliver-config.ts";
import type { Adapter, SendRequest, SentMedia } from "../../records/delivery.ts";
import { chatAddress } from "../platforms/address.ts";
import {
  askPlatform,
  below,
  FILE_TIMEOUT_MS,
  numberAt,
  type PlatformAnswer,
  type PlatformDeps,
  type PlatformReply,
  type Question,
  textAt,
  utf8Length,
} from "../platforms/ask.ts";
import { idAt, type Judge, judgeAnswer, type Verdict } from "../platforms/judge.ts";
import { fileBody } from "../platforms/multipart.ts";
import { type Settings, whyUnusable } from "../platforms/settings.ts";
import { asPlain, sendVariants, toChat, type Variant, withThreadNote } from "../platforms/variants.ts";
import { toPlain } from "../rendering/plain.ts";
import { toRichHtml } from "../rendering/rich-html.ts";

/** An event is at most 65,536 bytes, with everything a server adds to it. */
const MAX_BYTES = 50_000;
/** What the common server takes as it comes; a smaller limit is answered with 413. */
const MAX_FILE = 50_000_000;
const BAD_FORM = new Set(["M_BAD_JSON", "M_INVALID_PARAM"]);

export function makeMatrixAdapter(
  deps: PlatformDeps,
  settings: Settings<PlatformConfigs["matrix"]>,
): Adapter {
  const config = settings.kind === "ready" ? settings.config : undefined;
  const options = { allowMentions: config?.allowMentions };
  const secretHeaders = { authorization: `Bearer ${config?.token ?? ""}` };
  const base = below(config?.baseUrl ?? "https://matrix.invalid", "_matrix/client/v3").href;

  const bodyOf = (request: SendRequest, variant: Variant) => {
    const body = withThreadNote(request.body, variant, request.target.thread);
    return {
      msgtype: "m.text",
      body: toPlain(body, options),
      ...(!variant.isPlain && {
        format: "org.matrix.custom.html",
        formatted_body: toRichHtml(body, options),
      }),
      "m.mentions": options.allowMentions && /@room\b/.test(body) ? { room: true } : {},
      ...(variant.thread !== undefined && { "m.relates_to": threadOf(variant.thread) }),
    };
  };
  return {
    platform: "matrix",
    repeatability: "idempotent",
    maxLength: MAX_BYTES,
    lengthOf: (body) => utf8Length(toPlain(body)) + utf8Length(toRichHtml(body)),
    addressForm: "<room>[:<$event>]",
    parseAddress: chatAddress(/^[!#@][^\s:$,]+(:[^\s:$,]+(:\d+)?)?$/, /^\$\S+$/),
    unusable: () => whyUnusable(settings, "matrix", "baseUrl and .token"),
    refuses: ({ chat }) =>
      chat?.startsWith("@") ? "Matrix sends to rooms: write !room or #alias" : undefined,
    mediaLimits: () => ({ maxBytes: MAX_FILE }),
    preview: (request) => bodyOf(request, firstOf(request)),
    async send(request, signal) {
      const upload = ({ media }: SendRequest) =>
        media &&
        uploadFile(media, (question) => askPlatform(deps, { ...question, secretHeaders }, signal), config);
      const room = await roomOf(request.target.chat ?? "", (url) =>
        askPlatform(deps, { method: "GET", url: below(base, url), secretHeaders }, signal),
      );
      // Nothing was sent yet: a cut here is no doubt, only a try that failed.
      if (typeof room !== "string") return unresolved(room, judge(deps));
      const uploaded = await upload(request);
      if (uploaded && typeof uploaded !== "string") return unresolved(uploaded, judge(deps));
      return sendVariants({
        first: { ...firstOf(request), chat: room },
        send: (variant) => {
          // Another event needs another id, or the server would give back the refused one.
          const suffix = variant.notes.length === 0 ? "" : `-${variant.notes.length}`;
          const path = `rooms/${encodeURIComponent(room)}/send/m.room.message/${request.idempotencyKey}${suffix}`;
          const json = uploaded ? fileOf(request, variant, uploaded) : bodyOf(request, variant);
          return askPlatform(deps, { method: "PUT", url: below(base, path), secretHeaders, json }, signal);
        },
        next,
        judge: (answer) => judgeAnswer(answer, judge(deps)),
      });
    },
  };
}

/** The file's address in its server; undefined = nothing is to be sent. A lost upload is no doubt: nobody has seen it. */
async function uploadFile(
  media: SentMedia,
  ask: (question: Question) => Promise<PlatformAnswer>,
  config: PlatformConfigs["matrix"] | undefined,
): Promise<string | PlatformAnswer> {
  const path = `_matrix/media/v3/upload?filename=${encodeURIComponent(media.name)}`;
  const answer = await ask({
    url: below(config?.baseUrl ?? "https://matrix.invalid", path),
    headers: { "content-type": media.contentType },
    body: fileBody(media),
    timeoutMs: FILE_TIMEOUT_MS,
  });
  const uri =
    answer.kind === "answered" && answer.status === 200 ? textAt(answer.json, "content_uri") : undefined;
  return uri ?? answer;
}

/** @source spec.matrix.org v1.13 "m.image": `body` is the caption where `filename` stands beside it. */
function fileOf({ body, media, target }: SendRequest, variant: Variant, url: string) {
  return {
    msgtype: `m.${media?.kind ?? "file"}`,
    body: toPlain(withThreadNote(body, variant, target.thread)),
    filename: media?.name,
    url,
    info: { mimetype: media?.contentType, size: media?.bytes },
    "m.mentions": {},
    ...(variant.thread !== undefined && { "m.relates_to": threadOf(variant.thread) }),
  };
}

function firstOf({ target }: SendRequest): Variant {
  return { chat: target.chat ?? "", thread: target.thread, isPlain: false, notes: [] };
}

/** What a server says of a thread's root that it does not know. */
function isThreadGone({ status, json }: PlatformReply): boolean {
  const code = textAt(json, "errcode");
  return status === 404 ? code === "M_NOT_FOUND" : status === 400 && code === "M_INVALID_PARAM";
}

function next(reply: PlatformReply, variant: Variant): Variant | undefined {
  if (isThreadGone(reply) && variant.thread !== undefined) return toChat(variant);
  const isForm = reply.status === 400 && BAD_FORM.has(textAt(reply.json, "errcode") ?? "");
  return isForm ? asPlain(variant) : undefined;
}

/** Clients that know no threads show it as an answer to the thread's root. */
function threadOf(event: string) {
  return {
    rel_type: "m.thread",
    event_id: event,
    is_falling_back: true,
    "m.in_reply_to": { event_id: event },
  };
}

async function roomOf(
  chat: string,
  ask: (path: string) => Promise<PlatformAnswer>,
): Promise<string | PlatformAnswer> {
  if (!chat.startsWith("#")) return chat;
  const answer = await ask(`directory/room/${encodeURIComponent(chat)}`);
  const room =
    answer.kind === "answered" && answer.status === 200 ? textAt(answer.json, "room_id") : undefined;
  return room ?? answer;
}

function unresolved(answer: PlatformAnswer, how: Judge) {
  const result = judgeAnswer(answer, how);
  return result.kind === "unknown" ? { kind: "retry" as const, error: result.error } : result;
}

function judge({ clock }: PlatformDeps): Judge {
  return {
    repeatability: "idempotent",
    now: clock.now(),
    receipt: idAt("event_id"),
    error: ({ json, text }) => {
      const code = textAt(json, "errcode");
      return code === undefined ? text : `${code}: ${textAt(json, "error") ?? ""}`;
    },
    verdict: ({ json }): Verdict | undefined =>
      textAt(json, "errcode") === "M_LIMIT_EXCEEDED"
        ? { kind: "retry", afterMs: numberAt(json, "retry_after_ms") }
        : undefined,
  };
}
