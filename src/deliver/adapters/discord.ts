// Discord: a bot's message, or a webhook's by its configured name.
//
// I1. A nonce is enforced, but only for minutes; after a cut the channel's last messages are asked for it: `probe`.
//     A webhook's messages cannot be asked for, so a cut there stays `unknown`.
// I2. A thread is a channel of its own. `allowed_mentions` is empty unless the configuration allows more.
// @source discord.com/developers/docs: "Create Message", "Execute Webhook", "Rate Limits", JSON error codes.

import { type Instant, SECOND } from "../../kernel/time.ts";
import type { PlatformConfigs } from "../../records/deliver-config.ts";
import type { Adapter, Receipt, SendRequest } from "../../records/delivery.ts";
import { hookAddress } from "../platforms/address.ts";
import {
  askPlatform,
  below,
  FILE_TIMEOUT_MS,
  numberAt,
  type PlatformDeps,
  type PlatformReply,
  type Question,
  textAt,
} from "../platforms/ask.ts";
import { idAt, type Judge, judgeAnswer, secondsMs } from "../platforms/judge.ts";
import { multipart } from "../platforms/multipart.ts";
import { hookFor, hooksOf, type Settings, whyUnusable } from "../platforms/settings.ts";
import { asPlain, sendVariants, toChat, type Variant, withThreadNote } from "../platforms/variants.ts";
import { toMarkdownDialect } from "../rendering/markdown-dialects.ts";
import { toPlain } from "../rendering/plain.ts";

/** 2,000; the rest is room for a note. */
const MAX_LENGTH = 1_900;
/** @source "Uploading Files": 10 MiB where nobody has paid for more. */
const MAX_FILE = 10_000_000;
/** @source "Create Message": a nonce is at most 25 characters. */
const NONCE_LENGTH = 25;
/** Unknown channel, unknown thread to a webhook, an archived or locked thread. */
const GONE_THREADS = new Set([10_003, 10_008, 50_083, 160_005]);
const INVALID_FORM = 50_035;
const SUPPRESS_EMBEDS = 4;
/** Messages that one question brings. */
const PAGE = 100;

export function makeDiscordAdapter(
  deps: PlatformDeps,
  settings: Settings<PlatformConfigs["discord"]>,
): Adapter {
  const config = settings.kind === "ready" ? settings.config : undefined;
  const hooks = hooksOf(settings);
  const options = { allowMentions: config?.allowMentions };
  const base = config?.baseUrl ?? "https://discord.com/api/v10";
  const secretHeaders = { authorization: `Bot ${config?.token ?? ""}` };
  const contentOf = (text: string, { isPlain }: Variant) =>
    isPlain ? toPlain(text, options) : toMarkdownDialect(text, "discord", options);
  const bodyOf = (request: SendRequest, variant: Variant) => ({
    content: contentOf(withThreadNote(request.body, variant, request.target.thread), variant),
    allowed_mentions: { parse: options.allowMentions ? ["everyone", "roles", "users"] : [] },
    flags: SUPPRESS_EMBEDS,
    ...(!hookFor(hooks, request.target) && { nonce: nonceOf(request), enforce_nonce: true }),
  });
  return {
    platform: "discord",
    repeatability: "probe",
    maxLength: MAX_LENGTH,
    lengthOf: (body) => toMarkdownDialect(body, "discord").length,
    rate: { tokens: 5, perMs: 5 * SECOND },
    addressForm: "<channel id>[:<thread id>], or a configured webhook's name",
    parseAddress: hookAddress(/^(\d+|[#@]?[^\s:,]+)$/, /^\d+$/),
    unusable: () => whyUnusable(settings, "discord", "token (or .webhook)"),
    refuses: (target) => {
      if (hookFor(hooks, target)) return undefined;
      if (config?.token === undefined) return "deliver.discord has no token, and no webhook of that name";
      return /^\d+$/.test(target.chat ?? "") ? undefined : "Discord's channels are named by their numeric id";
    },
    mediaLimits: () => ({ maxBytes: MAX_FILE }),
    preview: (request) => bodyOf(request, firstOf(request)),
    send: (request, signal) =>
      sendVariants({
        first: firstOf(request),
        send: (variant) => {
          const form = formOf(bodyOf(request, variant), request);
          const hook = hookFor(hooks, request.target);
          if (hook) return askPlatform(deps, { url: hookUrl(hook.url, variant), ...form }, signal);
          const url = below(base, `channels/${variant.thread ?? variant.chat}/messages`);
          return askPlatform(deps, { url, secretHeaders, ...form }, signal);
        },
        next,
        judge: (answer) => judgeAnswer(answer, judge(deps)),
      }),
    async probe(request, signal) {
      if (hookFor(hooks, request.target)) return undefined;
      const { chat, thread } = request.target;
      const url = below(base, `channels/${thread ?? chat}/messages?limit=${PAGE}`);
      const answer = await askPlatform(deps, { method: "GET", url, secretHeaders }, signal);
      const asked = { sent: bodyOf(request, firstOf(request)), createdAt: request.createdAt };
      return answer.kind === "answered" ? findSent(answer, asked, deps) : undefined;
    },
  };
}

/** JSON, or a form with the same JSON and the file. */
function formOf(json: object, { media, idempotencyKey }: SendRequest): Partial<Question> {
  if (!media) return { json };
  const form = multipart(
    { payload_json: JSON.stringify(json) },
    { field: "files[0]", media },
    idempotencyKey,
  );
  return { ...form, timeoutMs: FILE_TIMEOUT_MS };
}

function next({ status, json }: PlatformReply, variant: Variant): Variant | undefined {
  const code = numberAt(json, "code") ?? 0;
  if (status < 400) return undefined;
  if (GONE_THREADS.has(code)) return toChat(variant);
  return code === INVALID_FORM ? asPlain(variant) : undefined;
}

/** Waits for the message's id; a thread is named beside the webhook. */
function hookUrl(address: string, { thread }: Variant): URL {
  const url = new URL(address);
  url.searchParams.set("wait", "true");
  if (thread !== undefined) url.searchParams.set("thread_id", thread);
  return url;
}

function firstOf({ target }: SendRequest): Variant {
  return { chat: target.chat ?? "", thread: target.thread, isPlain: false, notes: [] };
}

function nonceOf({ idempotencyKey }: SendRequest): string {
  return idempotencyKey.slice(0, NONCE_LENGTH);
}

/** @source "Snowflakes": an id's upper bits are the ms since this instant. */
const DISCORD_EPOCH = 1_420_070_400_000;
/** Clocks differ. */
const CLOCK_SLACK_MS = 30 * SECOND;

/** Our message among the channel's last ones, by its nonce or its text; "absent" only when they reach back to its making. */
function findSent(
  { status, json }: PlatformReply,
  { sent, createdAt }: { sent: { nonce?: string; content: string }; createdAt: Instant },
  { clock }: PlatformDeps,
): Receipt | "absent" | undefined {
  if (status !== 200 || !Array.isArray(json)) return undefined;
  const since = createdAt - CLOCK_SLACK_MS;
  const found = json.find(
    (message: unknown) =>
      textAt(message, "nonce") === sent.nonce ||
      (textAt(message, "content") === sent.content.trim() && sentAt(message) >= since),
  );
  const id = textAt(found, "id");
  if (id !== undefined) return { id, status, at: clock.now(), note: "found by asking" };
  return json.length < PAGE || sentAt(json.at(-1)) < since ? "absent" : undefined;
}

function sentAt(message: unknown): Instant {
  const id = textAt(message, "id") ?? "";
  return /^\d+$/.test(id) ? Number(BigInt(id) >> 22n) + DISCORD_EPOCH : Number.NaN;
}

function judge({ clock }: PlatformDeps): Judge {
  return {
    repeatability: "probe",
    now: clock.now(),
    receipt: idAt("id"),
    error: ({ json }) => textAt(json, "message"),
    verdict: ({ status, json }) =>
      status === 429 ? { kind: "retry", afterMs: secondsMs(numberAt(json, "retry_after")) } : undefined,
  };
}
