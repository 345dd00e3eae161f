// WeCom: a group's robot.
//
// I1. A repeat is a second message: `blind`. The receipt is `errcode: 0`, which has no id.
// @source developer.work.weixin.qq.com "Group robot": Markdown of 4,096 bytes, text of 2,048, 20 messages a
//         minute; error 45009 and 45033 too often, -1 busy, 40008 and 40058 the form.

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { MINUTE } from "../../kernel/time.ts";
import type { PlatformConfigs } from "../../records/deliver-config.ts";
import type { Adapter, SendRequest, SentMedia } from "../../records/delivery.ts";
import { ANY_ID, hookAddress } from "../platforms/address.ts";
import { numberAt, type PlatformDeps, textAt, utf8Length } from "../platforms/ask.ts";
import { type CodedAnswers, codedJudge } from "../platforms/judge.ts";
import { sendHook } from "../platforms/send-hook.ts";
import { hookFor, hooksOf, type Settings, whyNoHook, whyUnusable } from "../platforms/settings.ts";
import { toMarkdownDialect } from "../rendering/markdown-dialects.ts";
import { breakBrackets } from "../rendering/mentions.ts";
import { toPlain } from "../rendering/plain.ts";

const MAX_BYTES = 4_096;
const MAX_PLAIN_BYTES = 2_048;
/** 2 MB before base64, JPG or PNG; it has no caption. */
const MAX_PICTURE = 2_000_000;
const TOO_OFTEN = new Set([45_009, 45_033]);
/** "The system is busy". */
const BUSY = -1;
const BAD_FORM = new Set([40_008, 40_058]);

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
      const text = toPlain(request.body, { allowMentions });
      const content = allowMentions ? text : breakBrackets(text);
      const hasPlain = !request.media && utf8Length(content) <= MAX_PLAIN_BYTES;
      return sendHook(
        deps,
        {
          url: new URL(hookFor(hooks, request.target)?.url ?? ""),
          marked: request.media ? await pictureOf(request.media) : bodyOf(request),
          plain: hasPlain ? () => ({ msgtype: "text", text: { content } }) : undefined,
          isFormRefused: ({ json }) => BAD_FORM.has(numberAt(json, "errcode") ?? 0),
          judge: codedJudge(ANSWERS, deps.clock.now()),
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
  waitOf: (code) => (TOO_OFTEN.has(code) ? MINUTE : code === BUSY ? "later" : undefined),
};

async function pictureOf({ path }: SentMedia) {
  const bytes = await readFile(path);
  const md5 = createHash("md5").update(bytes).digest("hex");
  return { msgtype: "image", image: { base64: bytes.toString("base64"), md5 } };
}
