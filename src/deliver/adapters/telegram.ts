// Telegram: the Bot API's sendMessage.
//
// I1. A repeat is a second message: `blind`. The receipt is the message's id.
// I2. A forum's general topic is the chat itself: its id 1 must not be sent along.
// @source core.telegram.org/bots/api: sendMessage, ResponseParameters, "Making requests". The limits on sends are its FAQ's.

import { MINUTE } from "../../kernel/time.ts";
import type { PlatformConfigs } from "../../records/deliver-config.ts";
import type { Adapter, SendRequest } from "../../records/delivery.ts";
import { chatAddress } from "../platforms/address.ts";
import { askPlatform, numberAt, type PlatformDeps, type PlatformReply, textAt } from "../platforms/ask.ts";
import { type Judge, judgeAnswer, secondsMs } from "../platforms/judge.ts";
import { type Settings, whyUnusable } from "../platforms/settings.ts";
import { asPlain, sendVariants, toChat, type Variant, withThreadNote } from "../platforms/variants.ts";
import { toPlain } from "../rendering/plain.ts";
import { toTelegramHtml, visibleLength } from "../rendering/telegram-html.ts";
import { methodUrl } from "../telegram-updates.ts";

/** 4,096 after entities parsing; the rest is room for a note. */
const MAX_LENGTH = 4_000;
const GENERAL_TOPIC = "1";

export function makeTelegramAdapter(
  deps: PlatformDeps,
  settings: Settings<PlatformConfigs["telegram"]>,
): Adapter {
  const config = settings.kind === "ready" ? settings.config : undefined;
  const options = { allowMentions: config?.allowMentions };
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
    preview: (request) => bodyOf(request, firstOf(request)),
    send: (request, signal) =>
      sendVariants({
        first: firstOf(request),
        send: (variant) => {
          const url = methodUrl({ token: config?.token ?? "", baseUrl: config?.baseUrl }, "sendMessage");
          return askPlatform(deps, { url, json: bodyOf(request, variant) }, signal);
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

function judge({ clock }: PlatformDeps): Judge {
  return {
    repeatability: "blind",
    now: clock.now(),
    receipt: ({ json }) => {
      const id = textAt(json, "result", "message_id");
      return id === undefined ? undefined : { id };
    },
    error: ({ json }) => textAt(json, "description"),
    verdict: ({ json, status }) =>
      status === 429
        ? { kind: "retry", afterMs: secondsMs(numberAt(json, "parameters", "retry_after")) }
        : undefined,
  };
}

/** The Bot API gives these refusals no code of their own, only its sentence. */
const BAD_MARKUP = /can't parse entities/i;
const NO_THREAD = /message thread not found|topic_(?:deleted|closed)|topic_id_invalid/i;

function next({ status, json }: PlatformReply, variant: Variant): Variant | undefined {
  if (status !== 400) return undefined;
  const moved = textAt(json, "parameters", "migrate_to_chat_id");
  if (moved !== undefined && moved !== variant.chat) {
    const note = `the chat moved: its id is now ${moved}; change it where it is written`;
    return { ...variant, chat: moved, notes: [...variant.notes, note] };
  }
  const description = textAt(json, "description") ?? "";
  if (NO_THREAD.test(description)) return toChat(variant);
  return BAD_MARKUP.test(description) ? asPlain(variant) : undefined;
}
