// Feishu and Lark: a group's custom bot, signed when it has a secret, as a card with a Markdown element.
//
// I1. A repeat is a second message: `blind`. The receipt is `code: 0`, which has no id.
// @source open.feishu.cn "Custom bot usage guide": signature over an empty body with `timestamp\nsecret` as key, 20 KB,
//         100 requests a minute; error 11232 frequency, 19021–19024 signature, address, keyword, 9499 the form of the body
//         (with the words "too many request" it is the frequency, too).

import { createHmac } from "node:crypto";
import { type Instant, MINUTE, SECOND } from "../../kernel/time.ts";
import type { PlatformConfigs } from "../../records/deliver-config.ts";
import type { Adapter, SendRequest } from "../../records/delivery.ts";
import { ANY_ID, hookAddress } from "../platforms/address.ts";
import { numberAt, type PlatformDeps, type PlatformReply, textAt, utf8Length } from "../platforms/ask.ts";
import { type CodedAnswers, codedJudge } from "../platforms/judge.ts";
import { sendHook } from "../platforms/send-hook.ts";
import { hookFor, hooksOf, type Settings, whyNoHook, whyUnusable } from "../platforms/settings.ts";
import { toMarkdownDialect } from "../rendering/markdown-dialects.ts";
import { breakBrackets } from "../rendering/mentions.ts";
import { toPlain } from "../rendering/plain.ts";

/** 20 KB a request, of which JSON's escapes take their part. */
const MAX_BYTES = 12_000;
const TOO_OFTEN = 11_232;
/** The body's form, and a card that cannot be made of it. */
const BAD_FORM = new Set([9_499, 11_246, 230_099]);

export function makeFeishuAdapter(
  deps: PlatformDeps,
  settings: Settings<PlatformConfigs["feishu"]>,
): Adapter {
  const hooks = hooksOf(settings);
  const allowMentions = settings.kind === "ready" ? settings.config.allowMentions : undefined;
  const bodyOf = ({ body }: SendRequest) => ({
    msg_type: "interactive",
    card: {
      schema: "2.0",
      config: { wide_screen_mode: true },
      body: {
        elements: [{ tag: "markdown", content: toMarkdownDialect(body, "feishu", { allowMentions }) }],
      },
    },
  });
  return {
    platform: "feishu",
    repeatability: "blind",
    maxLength: MAX_BYTES,
    lengthOf: (body) => utf8Length(JSON.stringify(toMarkdownDialect(body, "feishu"))),
    rate: { tokens: 5, perMs: SECOND },
    addressForm: "<configured webhook's name or webhook url>",
    parseAddress: hookAddress(ANY_ID, ANY_ID),
    unusable: () => whyUnusable(settings, "feishu", "webhook"),
    refuses: (target) => whyNoHook(hooks, target),
    preview: bodyOf,
    send(request, signal) {
      const hook = hookFor(hooks, request.target);
      const now = deps.clock.now();
      const signed = hook?.secret === undefined ? {} : feishuSignature(hook.secret, now);
      const plain = toPlain(request.body, { allowMentions });
      const text = allowMentions ? plain : breakBrackets(plain);
      return sendHook(
        deps,
        {
          url: new URL(hook?.url ?? ""),
          marked: { ...signed, ...bodyOf(request) },
          plain: () => ({ ...signed, msg_type: "text", content: { text } }),
          isFormRefused: (reply) => !isTooOften(reply) && BAD_FORM.has(codeOf(reply) ?? 0),
          judge: codedJudge(ANSWERS, now),
        },
        signal,
      );
    },
  };
}

const ANSWERS: CodedAnswers = {
  name: "code",
  codeOf,
  error: ({ json, text }) => textAt(json, "msg") ?? text,
  waitOf: (_code, reply) => (isTooOften(reply) ? MINUTE : undefined),
};

function isTooOften(reply: PlatformReply): boolean {
  return codeOf(reply) === TOO_OFTEN || /too many request/i.test(textAt(reply.json, "msg") ?? "");
}

/** An older answer calls it `StatusCode`. */
function codeOf({ json }: PlatformReply): number | undefined {
  return numberAt(json, "code") ?? numberAt(json, "StatusCode");
}

function feishuSignature(secret: string, now: Instant) {
  const timestamp = String(Math.floor(now / SECOND));
  const sign = createHmac("sha256", `${timestamp}\n${secret}`).update("").digest("base64");
  return { timestamp, sign };
}
