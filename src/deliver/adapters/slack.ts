// Slack: a bot's chat.postMessage, or an incoming webhook by its configured name.
//
// I1. A repeat is a second message: `blind`. A bot's receipt is the message's `ts`; a webhook's is Slack's word "ok".
// I2. Slack says of `internal_error` and `fatal_error` that part of it may have happened: that is `unknown`.
// @source api.slack.com: chat.postMessage (errors), "Sending messages using incoming webhooks", rate limits (1 a second).

import { SECOND } from "../../kernel/time.ts";
import type { PlatformConfigs } from "../../records/deliver-config.ts";
import type { Adapter, SendRequest } from "../../records/delivery.ts";
import { hookAddress } from "../platforms/address.ts";
import {
  askPlatform,
  below,
  type PlatformDeps,
  type PlatformReply,
  type Question,
  textAt,
} from "../platforms/ask.ts";
import { type Judge, judgeAnswer, type Verdict } from "../platforms/judge.ts";
import { hookFor, hooksOf, type Settings, whyUnusable } from "../platforms/settings.ts";
import { sendSlackFile } from "../platforms/slack-file.ts";
import { asPlain, sendVariants, toChat, type Variant, withThreadNote } from "../platforms/variants.ts";
import { escapeSlack, toSlackMrkdwn } from "../rendering/mrkdwn.ts";
import { toPlain } from "../rendering/plain.ts";
import type { RenderOptions } from "../rendering/write.ts";

/** Slack asks for 4,000 and cuts at 40,000; the rest is room for a note. */
const MAX_LENGTH = 3_900;
/** @source "Working with files": 1 GB. */
const MAX_FILE = 1_000_000_000;

const GONE_THREADS = new Set([
  "thread_not_found",
  "cannot_reply_to_message",
  "restricted_action_thread_locked",
]);
const BAD_FORM = new Set(["invalid_payload", "invalid_arguments", "invalid_blocks", "invalid_blocks_format"]);
const WAITING = new Set([
  "ratelimited",
  "rate_limited",
  "service_unavailable",
  "team_added_to_org",
  "request_timeout",
]);
const DOUBTFUL = new Set(["internal_error", "fatal_error"]);

export function makeSlackAdapter(deps: PlatformDeps, settings: Settings<PlatformConfigs["slack"]>): Adapter {
  const config = settings.kind === "ready" ? settings.config : undefined;
  const hooks = hooksOf(settings);
  const hookOf = (request: SendRequest) => hookFor(hooks, request.target);
  const bodyOf = (request: SendRequest, variant: Variant) => ({
    ...(!hookOf(request) && { channel: variant.chat }),
    ...textOf(withThreadNote(request.body, variant, request.target.thread), variant, {
      allowMentions: config?.allowMentions,
    }),
    ...(variant.thread !== undefined && { thread_ts: variant.thread }),
    unfurl_links: false,
    unfurl_media: false,
  });
  const call = (method: string, question: Omit<Question, "url">, signal: AbortSignal) => {
    const url = below(config?.baseUrl ?? "https://slack.com/api", method);
    const secretHeaders = { authorization: `Bearer ${config?.token ?? ""}` };
    return askPlatform(deps, { url, secretHeaders, ...question }, signal);
  };
  return {
    platform: "slack",
    repeatability: "blind",
    maxLength: MAX_LENGTH,
    lengthOf: (body) => toSlackMrkdwn(body).length,
    rate: { tokens: 1, perMs: SECOND },
    addressForm: "<channel>[:<thread ts>], or a configured webhook's name",
    parseAddress: hookAddress(/^[#@]?[\w.-]+$/, /^\d+\.\d+$/),
    unusable: () => whyUnusable(settings, "slack", "token (or .webhook)"),
    refuses: (target) =>
      hookFor(hooks, target) || config?.token !== undefined
        ? undefined
        : "deliver.slack has no token, and no webhook of that name",
    mediaLimits: (target) => (hookFor(hooks, target) ? undefined : { maxBytes: MAX_FILE }),
    preview: (request) => bodyOf(request, firstOf(request)),
    send: (request, signal) =>
      sendVariants({
        first: firstOf(request),
        send: (variant) => {
          const hook = hookOf(request);
          const json = bodyOf(request, variant);
          if (hook) return askPlatform(deps, { url: new URL(hook.url), json }, signal);
          if (request.media) return sendSlackFile({ deps, call, signal }, { media: request.media, ...json });
          return call("chat.postMessage", { json }, signal);
        },
        next: (reply, variant) => {
          if (GONE_THREADS.has(errorOf(reply))) return toChat(variant);
          return BAD_FORM.has(errorOf(reply)) ? asPlain(variant) : undefined;
        },
        judge: (answer) => judgeAnswer(answer, judge(deps)),
      }),
  };
}

function textOf(body: string, { isPlain }: Variant, options: RenderOptions) {
  return isPlain
    ? { text: escapeSlack(toPlain(body, options)), mrkdwn: false }
    : { text: toSlackMrkdwn(body, options) };
}

function firstOf({ target }: SendRequest): Variant {
  return { chat: target.chat ?? "", thread: target.thread, isPlain: false, notes: [] };
}

/** A bot's answer is JSON with `ok`; a webhook's is one word. */
function errorOf({ json, text }: PlatformReply): string {
  return textAt(json, "error") ?? text.trim();
}

function judge({ clock }: PlatformDeps): Judge {
  return {
    repeatability: "blind",
    now: clock.now(),
    receipt: ({ json, text }) => {
      const id = textAt(json, "ts") ?? textAt(json, "files", 0, "id");
      if (id !== undefined) return { id };
      return text.trim() === "ok" ? { note: "ok" } : undefined;
    },
    error: errorOf,
    verdict: (reply): Verdict | undefined => {
      const error = errorOf(reply);
      if (WAITING.has(error)) return { kind: "retry" };
      if (DOUBTFUL.has(error)) return { kind: "unknown" };
      return reply.status === 200 && textAt(reply.json, "error") !== undefined
        ? { kind: "refused" }
        : undefined;
    },
  };
}
