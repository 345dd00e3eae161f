// Mattermost: a bot's post, or an incoming webhook by its configured name.
//
// I1. A repeat is a second post: `blind`. A post's receipt is its id; a webhook's is the server's word "ok".
// @source api.mattermost.com: POST /api/v4/posts; developers.mattermost.com "Incoming webhooks"; 16,383 characters a post.

import { SECOND } from "../../kernel/time.ts";
import type { PlatformConfigs } from "../../records/deliver-config.ts";
import type { Adapter, SendRequest, SentMedia } from "../../records/delivery.ts";
import { ANY_ID, hookAddress } from "../platforms/address.ts";
import {
  askPlatform,
  below,
  FILE_TIMEOUT_MS,
  type PlatformAnswer,
  type PlatformDeps,
  type Question,
  textAt,
} from "../platforms/ask.ts";
import { type Judge, judgeAnswer, ofHiddenStep } from "../platforms/judge.ts";
import { fileBody } from "../platforms/multipart.ts";
import { hookFor, hooksOf, type Settings, whyUnusable } from "../platforms/settings.ts";
import { asPlain, sendVariants, toChat, type Variant, withThreadNote } from "../platforms/variants.ts";
import { toMarkdownDialect } from "../rendering/markdown-dialects.ts";
import { toPlain } from "../rendering/plain.ts";

const MAX_LENGTH = 16_000;
/** What a server takes as it comes (`MaxFileSize`). */
const MAX_FILE = 100_000_000;

export function makeMattermostAdapter(
  deps: PlatformDeps,
  settings: Settings<PlatformConfigs["mattermost"]>,
): Adapter {
  const config = settings.kind === "ready" ? settings.config : undefined;
  const hooks = hooksOf(settings);
  const canPost = config?.token !== undefined && config.baseUrl !== undefined;
  const bodyOf = (request: SendRequest, variant: Variant) => {
    const body = withThreadNote(request.body, variant, request.target.thread);
    const options = { allowMentions: config?.allowMentions };
    const text = variant.isPlain ? toPlain(body, options) : toMarkdownDialect(body, "mattermost", options);
    if (hookFor(hooks, request.target)) return { text };
    const root = variant.thread === undefined ? {} : { root_id: variant.thread };
    return { channel_id: variant.chat, message: text, ...root };
  };
  const secretHeaders = { authorization: `Bearer ${config?.token ?? ""}` };
  return {
    platform: "mattermost",
    repeatability: "blind",
    maxLength: MAX_LENGTH,
    lengthOf: (body) => toMarkdownDialect(body, "mattermost").length,
    rate: { tokens: 10, perMs: SECOND, isShared: true },
    addressForm: "<channel id>[:<post id>], or a configured webhook's name",
    parseAddress: hookAddress(ANY_ID, ANY_ID),
    unusable: () => whyUnusable(settings, "mattermost", "baseUrl and .token (or .webhook)"),
    refuses: (target) =>
      hookFor(hooks, target) || canPost
        ? undefined
        : "deliver.mattermost has no baseUrl and token, and no webhook of that name",
    mediaLimits: (target) => (hookFor(hooks, target) ? undefined : { maxBytes: MAX_FILE }),
    preview: (request) => bodyOf(request, firstOf(request)),
    send: (request, signal) =>
      sendVariants({
        first: firstOf(request),
        send: (variant) => {
          const hook = hookFor(hooks, request.target);
          const json = bodyOf(request, variant);
          if (hook) return askPlatform(deps, { url: new URL(hook.url), json }, signal);
          const base = config?.baseUrl ?? "";
          const ask = (question: Question) => askPlatform(deps, { ...question, secretHeaders }, signal);
          return request.media
            ? postFile(ask, { base, media: request.media, channel: variant.chat, json })
            : ask({ url: below(base, "api/v4/posts"), json });
        },
        next: ({ status, json }, variant) => {
          if (status !== 400) return undefined;
          return textAt(json, "id")?.includes("root_id") ? toChat(variant) : asPlain(variant);
        },
        judge: (answer) => judgeAnswer(answer, judge(deps)),
      }),
  };
}

/** Uploaded first, which nobody sees; then posted. */
async function postFile(
  ask: (question: Question) => Promise<PlatformAnswer>,
  file: { base: string; media: SentMedia; channel: string; json: object },
): Promise<PlatformAnswer> {
  const { base, media, channel, json } = file;
  const query = new URLSearchParams({ channel_id: channel, filename: media.name });
  const uploaded = await ask({
    url: below(base, `api/v4/files?${query}`),
    headers: { "content-type": media.contentType },
    body: fileBody(media),
    timeoutMs: FILE_TIMEOUT_MS,
  });
  const id = uploaded.kind === "answered" ? textAt(uploaded.json, "file_infos", 0, "id") : undefined;
  const step = ofHiddenStep(uploaded, () => id !== undefined);
  return step === "done"
    ? ask({ url: below(base, "api/v4/posts"), json: { ...json, file_ids: [id] } })
    : step;
}

function firstOf({ target }: SendRequest): Variant {
  return { chat: target.chat ?? "", thread: target.thread, isPlain: false, notes: [] };
}

function judge({ clock }: PlatformDeps): Judge {
  return {
    repeatability: "blind",
    now: clock.now(),
    receipt: ({ json, text }) => {
      const id = textAt(json, "id");
      if (id !== undefined) return { id };
      return text.trim() === "ok" ? { note: "ok" } : undefined;
    },
    error: ({ json, text }) => textAt(json, "message") ?? text,
  };
}
