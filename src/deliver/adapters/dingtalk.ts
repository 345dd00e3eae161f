// DingTalk: a group's custom robot, signed in its URL when it has a secret.
//
// I1. A repeat is a second message: `blind`. The receipt is `errcode: 0`, which has no id.
// @source open.dingtalk.com "Custom robot": sign = base64(HMAC-SHA256(secret, `timestamp\nsecret`)), 20,000 bytes,
//         20 messages a minute; error 130101 too often, 310000 keyword, signature or address.

import { createHmac } from "node:crypto";
import { MINUTE } from "../../kernel/time.ts";
import type { PlatformConfigs } from "../../records/deliver-config.ts";
import type { Adapter, SendRequest } from "../../records/delivery.ts";
import { ANY_ID, hookAddress } from "../platforms/address.ts";
import { askPlatform, numberAt, type PlatformDeps, textAt, utf8Length } from "../platforms/ask.ts";
import { judgeAnswer, type Verdict } from "../platforms/judge.ts";
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
const TOO_OFTEN = new Set([130_101, 130_102]);
/** The robot is busy, or DingTalk is. */
const PASSING = new Set([-1, 400_102]);

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
    async send(request, signal) {
      const now = deps.clock.now();
      const url = signedUrl(hookFor(hooks, request.target), now);
      const answer = await askPlatform(deps, { url, json: bodyOf(request) }, signal);
      return judgeAnswer(answer, {
        repeatability: "blind",
        now,
        receipt: ({ json }) => (numberAt(json, "errcode") === 0 ? { note: "errcode 0" } : undefined),
        error: ({ json, text }) => textAt(json, "errmsg") ?? text,
        verdict: ({ json }): Verdict | undefined => {
          const code = numberAt(json, "errcode");
          if (code === undefined) return undefined;
          if (TOO_OFTEN.has(code)) return { kind: "retry", afterMs: MINUTE };
          return { kind: PASSING.has(code) ? "retry" : "refused" };
        },
      });
    },
  };
}

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
