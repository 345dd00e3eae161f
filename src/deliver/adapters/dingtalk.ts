// DingTalk: a group's custom robot, signed in its URL when it has a secret.
//
// I1. A repeat is a second message: `blind`. The receipt is `errcode: 0`, which has no id.
// @source open.dingtalk.com "Custom robot": sign = base64(HMAC-SHA256(secret, `timestamp\nsecret`)), 20,000 bytes,
//         20 messages a minute, else ten minutes of rest; error 130101 and 410100 too often, -1 busy, 40035 and 400105 the
//         form; final are 310000 (keyword, signature, address), 400013 and 400101–400106 (group or robot gone or stopped).

import { createHmac } from "node:crypto";
import { MINUTE } from "../../kernel/time.ts";
import type { PlatformConfigs } from "../../records/deliver-config.ts";
import type { Adapter, SendRequest } from "../../records/delivery.ts";
import { ANY_ID, hookAddress } from "../platforms/address.ts";
import { numberAt, type PlatformDeps, textAt, utf8Length } from "../platforms/ask.ts";
import { type CodedAnswers, codedJudge } from "../platforms/judge.ts";
import { sendHook } from "../platforms/send-hook.ts";
import {
  hookFor,
  hooksOf,
  type NamedHook,
  type Settings,
  whyNoHook,
  whyUnusable,
} from "../platforms/settings.ts";
import { toMarkdownDialect } from "../rendering/markdown-dialects.ts";
import { toPlain } from "../rendering/plain.ts";

const MAX_BYTES = 15_000;
const TOO_OFTEN = new Set([130_101, 130_102, 410_100]);
const REST_MS = 10 * MINUTE;
const BUSY = -1;
const BAD_FORM = new Set([40_035, 400_105]);

export function makeDingTalkAdapter(
  deps: PlatformDeps,
  settings: Settings<PlatformConfigs["dingtalk"]>,
): Adapter {
  const hooks = hooksOf(settings);
  const allowMentions = settings.kind === "ready" ? settings.config.allowMentions : undefined;
  const bodyOf = ({ body }: SendRequest) => ({
    msgtype: "markdown",
    markdown: { title: titleOf(body), text: toMarkdownDialect(body, "dingtalk", { allowMentions }) },
    at: { isAtAll: allowMentions === true && /@all\b/.test(body) },
  });
  return {
    platform: "dingtalk",
    repeatability: "blind",
    maxLength: MAX_BYTES,
    lengthOf: (body) => utf8Length(toMarkdownDialect(body, "dingtalk")),
    rate: { tokens: 20, perMs: MINUTE },
    addressForm: "<configured webhook's name or webhook url>",
    parseAddress: hookAddress(ANY_ID),
    unusable: () => whyUnusable(settings, "dingtalk", "webhook"),
    refuses: (target) => whyNoHook(hooks, target),
    preview: bodyOf,
    send(request, signal) {
      const now = deps.clock.now();
      const { at } = bodyOf(request);
      return sendHook(
        deps,
        {
          url: signedUrl(hookFor(hooks, request.target), now),
          marked: bodyOf(request),
          plain: () => ({ msgtype: "text", text: { content: toPlain(request.body, { allowMentions }) }, at }),
          isFormRefused: ({ json }) => BAD_FORM.has(numberAt(json, "errcode") ?? 0),
          judge: codedJudge(ANSWERS, now),
        },
        signal,
      );
    },
  };
}

const ANSWERS: CodedAnswers = {
  name: "errcode",
  codeOf: ({ json }) => numberAt(json, "errcode"),
  error: ({ json, text }) => textAt(json, "errmsg") ?? text,
  waitOf: (code) => (TOO_OFTEN.has(code) ? REST_MS : code === BUSY ? "later" : undefined),
};

/** What the list of chats shows. */
export function titleOf(body: string): string {
  const line = toPlain(body)
    .split("\n")
    .find((text) => text.trim() !== "");
  return [...(line ?? "Nightshift").trim()].slice(0, 60).join("");
}

function signedUrl(hook: NamedHook | undefined, now: number): URL {
  const url = new URL(hook?.url ?? "");
  if (hook?.secret === undefined) return url;
  const sign = createHmac("sha256", hook.secret).update(`${now}\n${hook.secret}`).digest("base64");
  url.searchParams.set("timestamp", String(now));
  url.searchParams.set("sign", sign);
  return url;
}
