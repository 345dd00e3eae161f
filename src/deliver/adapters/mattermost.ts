// Mattermost: a bot's post, or an incoming webhook by its configured name.
//
// I1. A repeat is a second post: `blind`. A post's receipt is its id; a webhook's is the server's word "ok".
// @source api.mattermost.com: POST /api/v4/posts; developers.mattermost.com "Incoming webhooks"; 16,383 characters a post.

import { SECOND } from "../../kernel/time.ts";
import type { PlatformConfigs } from "../../records/deliver-config.ts";
import type { Adapter, SendRequest } from "../../records/delivery.ts";
import { ANY_ID, hookAddress } from "../platforms/address.ts";
import { askPlatform, below, type PlatformDeps, textAt } from "../platforms/ask.ts";
import { type Judge, judgeAnswer } from "../platforms/judge.ts";
import { hookFor, hooksOf, type Settings, whyUnusable } from "../platforms/settings.ts";
import { sendVariants, toChat, type Variant, withThreadNote } from "../platforms/variants.ts";
import { toMarkdownDialect } from "../rendering/markdown-dialects.ts";

const MAX_LENGTH = 16_000;

export function makeMattermostAdapter(
  deps: PlatformDeps,
  settings: Settings<PlatformConfigs["mattermost"]>,
): Adapter {
  const config = settings.kind === "ready" ? settings.config : undefined;
  const hooks = hooksOf(settings);
  const canPost = config?.token !== undefined && config.baseUrl !== undefined;
  const bodyOf = (request: SendRequest, variant: Variant) => {
    const text = toMarkdownDialect(
      withThreadNote(request.body, variant, request.target.thread),
      "mattermost",
      { allowMentions: config?.allowMentions },
    );
    if (hookFor(hooks, request.target)) return { text };
    const root = variant.thread === undefined ? {} : { root_id: variant.thread };
    return { channel_id: variant.chat, message: text, ...root };
  };
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
    preview: (request) => bodyOf(request, firstOf(request)),
    send: (request, signal) =>
      sendVariants({
        first: firstOf(request),
        send: (variant) => {
          const hook = hookFor(hooks, request.target);
          const url = hook ? new URL(hook.url) : below(config?.baseUrl ?? "", "api/v4/posts");
          const secretHeaders = hook ? {} : { authorization: `Bearer ${config?.token ?? ""}` };
          return askPlatform(deps, { url, secretHeaders, json: bodyOf(request, variant) }, signal);
        },
        next: ({ status, json }, variant) =>
          status === 400 && textAt(json, "id")?.includes("root_id") ? toChat(variant) : undefined,
        judge: (answer) => judgeAnswer(answer, judge(deps)),
      }),
  };
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
