// Google Chat: a space's incoming webhook.
//
// I1. `blind`: a request id is sent along, but nothing published says that a webhook honours it. The receipt is the
//     message's name.
// I2. A thread that cannot be answered in becomes a new one: Google's own fallback, asked for in the URL.
// @source developers.google.com/workspace/chat: "Send messages with webhooks", spaces.messages.create, usage limits.

import { SECOND } from "../../kernel/time.ts";
import type { PlatformConfigs } from "../../records/deliver-config.ts";
import type { Adapter, SendRequest } from "../../records/delivery.ts";
import { ANY_ID, hookAddress } from "../platforms/address.ts";
import { type PlatformDeps, textAt } from "../platforms/ask.ts";
import { idAt } from "../platforms/judge.ts";
import { sendHook } from "../platforms/send-hook.ts";
import { hookFor, hooksOf, type Settings, whyNoHook, whyUnusable } from "../platforms/settings.ts";
import { breakBrackets } from "../rendering/mentions.ts";
import { toGoogleChat } from "../rendering/mrkdwn.ts";
import { toPlain } from "../rendering/plain.ts";

/** 4,096 characters in a webhook's text. */
const MAX_LENGTH = 4_000;

export function makeGoogleChatAdapter(
  deps: PlatformDeps,
  settings: Settings<PlatformConfigs["googlechat"]>,
): Adapter {
  const hooks = hooksOf(settings);
  const allowMentions = settings.kind === "ready" ? settings.config.allowMentions : undefined;
  const bodyOf = ({ body, target: { thread } }: SendRequest) => ({
    text: toGoogleChat(body, { allowMentions }),
    ...(thread !== undefined && {
      thread: thread.startsWith("spaces/") ? { name: thread } : { threadKey: thread },
    }),
  });
  return {
    platform: "googlechat",
    repeatability: "blind",
    maxLength: MAX_LENGTH,
    lengthOf: (body) => toGoogleChat(body).length,
    rate: { tokens: 1, perMs: SECOND },
    addressForm: "<configured webhook's name or webhook url>[:<thread>]",
    parseAddress: hookAddress(ANY_ID, ANY_ID),
    unusable: () => whyUnusable(settings, "googlechat", "webhook"),
    refuses: (target) => whyNoHook(hooks, target),
    preview: bodyOf,
    send(request, signal) {
      const url = new URL(hookFor(hooks, request.target)?.url ?? "");
      url.searchParams.set("requestId", request.idempotencyKey);
      if (request.target.thread !== undefined)
        url.searchParams.set("messageReplyOption", "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD");
      const plain = toPlain(request.body, { allowMentions });
      return sendHook(
        deps,
        {
          url,
          marked: bodyOf(request),
          plain: () => ({ ...bodyOf(request), text: allowMentions ? plain : breakBrackets(plain) }),
          isFormRefused: ({ status, json }) =>
            status === 400 && textAt(json, "error", "status") === "INVALID_ARGUMENT",
          judge: {
            repeatability: "blind",
            now: deps.clock.now(),
            receipt: idAt("name"),
            error: ({ json, text }) => textAt(json, "error", "message") ?? text,
          },
        },
        signal,
      );
    },
  };
}
