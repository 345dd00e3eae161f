// WeCom: a group's robot.
//
// I1. A repeat is a second message: `blind`. The receipt is `errcode: 0`, which has no id.
// @source developer.work.weixin.qq.com "Group robot": Markdown of 4,096 bytes, 20 messages a minute; error 45009 too often.

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { MINUTE } from "../../kernel/time.ts";
import type { PlatformConfigs } from "../../records/deliver-config.ts";
import type { Adapter, SendRequest, SentMedia } from "../../records/delivery.ts";
import { ANY_ID, hookAddress } from "../platforms/address.ts";
import { askPlatform, numberAt, type PlatformDeps, textAt, utf8Length } from "../platforms/ask.ts";
import { judgeAnswer, type Verdict } from "../platforms/judge.ts";
import { hookFor, hooksOf, type Settings, whyNoHook, whyUnusable } from "../platforms/settings.ts";
import { toMarkdownDialect } from "../rendering/markdown-dialects.ts";

const MAX_BYTES = 4_096;
/** 2 MB before base64, JPG or PNG; it has no caption. */
const MAX_PICTURE = 2_000_000;
const TOO_OFTEN = 45_009;
/** "The system is busy". */
const BUSY = -1;

export function makeWeComAdapter(deps: PlatformDeps, settings: Settings<PlatformConfigs["wecom"]>): Adapter {
  const hooks = hooksOf(settings);
  const allowMentions = settings.kind === "ready" ? settings.config.allowMentions : undefined;
  const bodyOf = ({ body }: SendRequest) => ({
    msgtype: "markdown",
    markdown: { content: toMarkdownDialect(body, "wecom", { allowMentions }) },
  });
  return {
    platform: "wecom",
    repeatability: "blind",
    maxLength: MAX_BYTES,
    lengthOf: (body) => utf8Length(toMarkdownDialect(body, "wecom")),
    rate: { tokens: 20, perMs: MINUTE },
    addressForm: "<configured webhook's name or webhook url>",
    parseAddress: hookAddress(ANY_ID),
    unusable: () => whyUnusable(settings, "wecom", "webhook"),
    refuses: (target) => whyNoHook(hooks, target),
    mediaLimits: () => ({ maxBytes: MAX_PICTURE, kinds: ["image"] }),
    preview: bodyOf,
    async send(request, signal) {
      const url = new URL(hookFor(hooks, request.target)?.url ?? "");
      const json = request.media ? await pictureOf(request.media) : bodyOf(request);
      const answer = await askPlatform(deps, { url, json }, signal);
      return judgeAnswer(answer, {
        repeatability: "blind",
        now: deps.clock.now(),
        receipt: ({ json }) => (numberAt(json, "errcode") === 0 ? { note: "errcode 0" } : undefined),
        error: ({ json, text }) => textAt(json, "errmsg") ?? text,
        verdict: ({ json }): Verdict | undefined => {
          const code = numberAt(json, "errcode");
          if (code === undefined) return undefined;
          if (code === TOO_OFTEN) return { kind: "retry", afterMs: MINUTE };
          return { kind: code === BUSY ? "retry" : "refused" };
        },
      });
    },
  };
}

async function pictureOf({ path }: SentMedia) {
  const bytes = await readFile(path);
  const md5 = createHash("md5").update(bytes).digest("hex");
  return { msgtype: "image", image: { base64: bytes.toString("base64"), md5 } };
}
