// Telegram: the Bot API's sendMessage, and sendPhoto, sendVideo, sendAudio, sendDocument for files.
//
// I1. A repeat is a second message: `blind`. The receipt is the message's id.
// I2. A forum's general topic is the chat itself: its id 1 must not be sent along.
// @source core.telegram.org/bots/api: sendMessage, ResponseParameters, "Making requests". The limits on sends are its FAQ's.

import { MINUTE } from "../../kernel/time.ts";
import type { PlatformConfigs } from "../../records/deliver-config.ts";
import type { Adapter, SendRequest, SentMedia } from "../../records/delivery.ts";
import { chatAddress } from "../platforms/address.ts";
import {
  askPlatform,
  FILE_TIMEOUT_MS,
  numberAt,
  type PlatformDeps,
  type PlatformReply,
  textAt,
} from "../platforms/ask.ts";
import { idAt, type Judge, judgeAnswer, secondsMs } from "../platforms/judge.ts";
import { multipart } from "../platforms/multipart.ts";
import { type Settings, whyUnusable } from "../platforms/settings.ts";
import {
  asFile,
  asPlain,
  sendVariants,
  toChat,
  toMoved,
  type Variant,
  withThreadNote,
} from "../platforms/variants.ts";
import { toPlain } from "../rendering/plain.ts";
import { toTelegramHtml, visibleLength } from "../rendering/telegram-html.ts";
import { methodUrl } from "../telegram-updates.ts";

/** 4,096 after entities parsing; the rest is room for a note. */
const MAX_LENGTH = 4_000;
/** 1,024 after entities parsing. */
const MAX_CAPTION = 1_000;
/** @source "Sending files": 50 MB, photos 10 MB. */
const MAX_FILE = 50_000_000;
const MAX_PHOTO = 10_000_000;
/** What the Bot API shows as more than a file, with the name of its field. */
const METHODS: Readonly<Record<string, readonly [method: string, field: string]>> = {
  "image/png": ["sendPhoto", "photo"],
  "image/jpeg": ["sendPhoto", "photo"],
  "image/webp": ["sendPhoto", "photo"],
  "video/mp4": ["sendVideo", "video"],
  "audio/mpeg": ["sendAudio", "audio"],
  "audio/mp4": ["sendAudio", "audio"],
};
const GENERAL_TOPIC = "1";

export function makeTelegramAdapter(
  deps: PlatformDeps,
  settings: Settings<PlatformConfigs["telegram"]>,
): Adapter {
  const config = settings.kind === "ready" ? settings.config : undefined;
  const options = { allowMentions: config?.allowMentions };
  const url = (method: string) => methodUrl({ token: config?.token ?? "", baseUrl: config?.baseUrl }, method);
  const bodyOf = (request: SendRequest, variant: Variant) => {
    const body = withThreadNote(request.body, variant, request.target.thread);
    const text = variant.isPlain ? toPlain(body, options) : toTelegramHtml(body, options);
    return {
      chat_id: variant.chat,
      ...(variant.thread !== undefined && { message_thread_id: Number(variant.thread) }),
      text,
      ...(!variant.isPlain && { parse_mode: "HTML" }),
      link_preview_options: { is_disabled: true },
      ...(config?.silent && { disable_notification: true }),
    };
  };
  return {
    platform: "telegram",
    repeatability: "blind",
    maxLength: MAX_LENGTH,
    lengthOf: (body) => visibleLength(toTelegramHtml(body)),
    rate: { tokens: 20, perMs: MINUTE },
    addressForm: "<chat id or @name>[:<thread>]",
    parseAddress: chatAddress(/^(-?\d+|@\w+)$/, /^\d+$/),
    unusable: () => whyUnusable(settings, "telegram", "token"),
    mediaLimits: () => ({ maxBytes: MAX_FILE }),
    preview: (request) => bodyOf(request, firstOf(request)),
    send: (request, signal) =>
      sendVariants({
        first: firstOf(request),
        send: (variant) => {
          const { media } = request;
          if (!media)
            return askPlatform(deps, { url: url("sendMessage"), json: bodyOf(request, variant) }, signal);
          const [method, field] = methodOf(media, variant);
          const form = multipart(
            captionForm(request, variant, config),
            { field, media },
            request.idempotencyKey,
          );
          return askPlatform(deps, { url: url(method), ...form, timeoutMs: FILE_TIMEOUT_MS }, signal);
        },
        next,
        judge: (answer) => judgeAnswer(answer, judge(deps)),
      }),
  };
}

function firstOf({ target }: SendRequest): Variant {
  const thread = target.thread === GENERAL_TOPIC ? undefined : target.thread;
  return { chat: target.chat ?? "", thread, isPlain: false, notes: [] };
}

function methodOf({ contentType, bytes }: SentMedia, { isFile }: Variant): readonly [string, string] {
  const [method, field] = METHODS[contentType] ?? ["sendDocument", "document"];
  const isTooLarge = method === "sendPhoto" && bytes > MAX_PHOTO;
  return isFile || isTooLarge ? ["sendDocument", "document"] : [method, field];
}

function captionForm(
  { body, target }: SendRequest,
  variant: Variant,
  config: PlatformConfigs["telegram"] | undefined,
): Record<string, string | undefined> {
  const options = { allowMentions: config?.allowMentions };
  const text = withThreadNote(body, variant, target.thread);
  const html = toTelegramHtml(text, options);
  const isPlain = variant.isPlain || visibleLength(html) > MAX_CAPTION;
  return {
    chat_id: variant.chat,
    message_thread_id: variant.thread,
    caption: isPlain ? [...toPlain(text, options)].slice(0, MAX_CAPTION).join("") : html,
    parse_mode: isPlain ? undefined : "HTML",
    disable_notification: config?.silent ? "true" : undefined,
  };
}

function judge({ clock }: PlatformDeps): Judge {
  return {
    repeatability: "blind",
    now: clock.now(),
    receipt: idAt("result", "message_id"),
    error: ({ json }) => textAt(json, "description"),
    verdict: ({ json, status }) =>
      status === 429
        ? { kind: "retry", afterMs: secondsMs(numberAt(json, "parameters", "retry_after")) }
        : undefined,
  };
}

/** The Bot API gives these refusals no code of their own, only its sentence. */
const BAD_MARKUP = /can't parse entities/i;
const BAD_PICTURE = /PHOTO_|IMAGE_PROCESS_FAILED|wrong file type|VIDEO_|failed to get HTTP URL content/i;
const NO_THREAD = /message thread not found|topic_(?:deleted|closed)|topic_id_invalid/i;

function next({ status, json }: PlatformReply, variant: Variant): Variant | undefined {
  if (status !== 400) return undefined;
  const moved = textAt(json, "parameters", "migrate_to_chat_id");
  if (moved !== undefined && moved !== variant.chat) return toMoved(variant, moved);
  const description = textAt(json, "description") ?? "";
  if (NO_THREAD.test(description)) return toChat(variant);
  if (BAD_PICTURE.test(description)) return asFile(variant);
  return BAD_MARKUP.test(description) ? asPlain(variant) : undefined;
}
