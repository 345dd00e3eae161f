// Each platform's true request, and its own words for each kind of refusal: one entry a platform, for errors.test.ts.
// @source Each platform's documentation, as named in its adapter. Nothing here was ever sent to the real services.

import { createHmac } from "node:crypto";
import { makeWebhookAdapter } from "../../../src/deliver/adapters/webhook.ts";
import { textAt } from "../../../src/deliver/platforms/ask.ts";
import type { Adapter, Target } from "../../../src/records/delivery.ts";
import { START } from "../fixtures.ts";
import type { Received } from "../loopback.ts";
import { clock, platform } from "./fixtures.ts";

/** null cuts the connection once the request was read. */
export type Answer = [status: number, body: unknown, headers?: Record<string, string>] | null;

export interface ErrorCase {
  adapter(base: string): Adapter;
  target: Omit<Target, "text" | "platform">;
  /** What the request must be; a complaint where it is not. */
  request: { method?: string; path: RegExp; header?: readonly [name: string, value: RegExp] };
  /** Where in the request's JSON the message stands: the first of these that is there. */
  text: readonly (readonly (string | number)[])[];
  delivered: Answer;
  /** The platform says when to come again; undefined ms = it only says "later". */
  tooOften: readonly [Answer, number | undefined];
  /** It refuses the message's form. Absent = it takes plain text, or never refuses it. */
  badForm?: Answer;
  /** We were thrown out, or what we write to is gone. */
  gone: readonly Answer[];
  /** The thread is gone, the chat is not. Absent = it has no threads of its own, or its own fallback. */
  threadGone?: Answer;
  tooLarge: Answer;
  /** What else than `@all` and its like rings everybody there. */
  rings?: RegExp;
}

const KEY = "a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5f6a1b2";
const RETRY_AFTER = { "retry-after": "30" };
const telegram = (code: number, description: string, parameters?: object): Answer => [
  code,
  { ok: false, error_code: code, description, parameters },
];
const bearer = (token: string) => ["authorization", new RegExp(`^Bearer ${token}$`)] as const;
const sign = createHmac("sha256", "SECs").update(`${START}\nSECs`).digest("base64");

export const ERROR_CASES: Readonly<Record<string, ErrorCase>> = {
  telegram: {
    adapter: (baseUrl) => platform("telegram", { token: "1:t", baseUrl }),
    target: { chat: "-1001", thread: "17" },
    request: { path: /^\/bot1:t\/sendMessage$/ },
    text: [["text"]],
    delivered: [200, { ok: true, result: { message_id: 42 } }],
    tooOften: [telegram(429, "Too Many Requests: retry after 35", { retry_after: 35 }), 35_000],
    badForm: telegram(400, "Bad Request: can't parse entities: Unexpected end tag at byte offset 3"),
    gone: [
      telegram(403, "Forbidden: bot was kicked from the supergroup chat"),
      telegram(400, "Bad Request: chat not found"),
      telegram(404, "Not Found"),
    ],
    threadGone: telegram(400, "Bad Request: message thread not found"),
    tooLarge: telegram(413, "Request Entity Too Large"),
  },
  "slack (bot)": {
    adapter: (base) => platform("slack", { token: "xoxb", baseUrl: `${base}/api` }),
    target: { chat: "C1", thread: "1700000000.000100" },
    request: { path: /^\/api\/chat\.postMessage$/, header: bearer("xoxb") },
    text: [["text"]],
    delivered: [200, { ok: true, ts: "1700000001.000200" }],
    tooOften: [[429, { ok: false, error: "ratelimited" }, RETRY_AFTER], 30_000],
    badForm: [200, { ok: false, error: "invalid_arguments" }],
    gone: [
      [200, { ok: false, error: "not_in_channel" }],
      [200, { ok: false, error: "channel_not_found" }],
      [200, { ok: false, error: "account_inactive" }],
    ],
    threadGone: [200, { ok: false, error: "thread_not_found" }],
    tooLarge: [200, { ok: false, error: "msg_too_long" }],
    rings: /<!channel>/,
  },
  "slack (webhook)": {
    adapter: (base) => platform("slack", { webhook: `${base}/services/T/B/x` }),
    target: { chat: "default" },
    request: { path: /^\/services\/T\/B\/x$/ },
    text: [["text"]],
    delivered: [200, "ok"],
    tooOften: [[429, "rate_limited", RETRY_AFTER], 30_000],
    badForm: [400, "invalid_payload"],
    gone: [
      [403, "action_prohibited"],
      [404, "channel_not_found"],
      [410, "channel_is_archived"],
    ],
    tooLarge: [413, "too large"],
    rings: /<!channel>/,
  },
  "discord (bot)": {
    adapter: (baseUrl) => platform("discord", { token: "b0t", baseUrl }),
    target: { chat: "111", thread: "222" },
    request: { path: /^\/channels\/(222|111)\/messages$/, header: ["authorization", /^Bot b0t$/] },
    text: [["content"]],
    delivered: [200, { id: "900" }],
    tooOften: [[429, { message: "You are being rate limited.", retry_after: 1.5, global: false }], 1_500],
    badForm: [400, { code: 50_035, message: "Invalid Form Body", errors: { content: {} } }],
    gone: [
      [403, { code: 50_001, message: "Missing Access" }],
      [403, { code: 50_013, message: "Missing Permissions" }],
    ],
    threadGone: [404, { code: 10_003, message: "Unknown Channel" }],
    tooLarge: [413, { code: 40_005, message: "Request entity too large" }],
  },
  "discord (webhook)": {
    adapter: (base) => platform("discord", { webhook: `${base}/api/webhooks/1/x` }),
    target: { chat: "default", thread: "5" },
    request: { path: /^\/api\/webhooks\/1\/x\?wait=true(&thread_id=5)?$/ },
    text: [["content"]],
    delivered: [200, { id: "901" }],
    tooOften: [[429, { message: "You are being rate limited.", retry_after: 0.5 }], 500],
    badForm: [400, { code: 50_035, message: "Invalid Form Body" }],
    gone: [[404, { code: 10_015, message: "Unknown Webhook" }]],
    threadGone: [400, { code: 10_003, message: "Unknown Channel" }],
    tooLarge: [413, { code: 40_005, message: "Request entity too large" }],
  },
  matrix: {
    adapter: (baseUrl) => platform("matrix", { token: "syt", baseUrl }),
    target: { chat: "!r:example.org", thread: "$root" },
    request: {
      method: "PUT",
      path: new RegExp(
        `^/_matrix/client/v3/rooms/!r%3Aexample\\.org/send/m\\.room\\.message/${KEY}(-[12])?$`,
      ),
      header: bearer("syt"),
    },
    text: [["formatted_body"], ["body"]],
    delivered: [200, { event_id: "$new" }],
    tooOften: [[429, { errcode: "M_LIMIT_EXCEEDED", error: "slow", retry_after_ms: 2_000 }], 2_000],
    badForm: [400, { errcode: "M_BAD_JSON", error: "formatted_body" }],
    gone: [[403, { errcode: "M_FORBIDDEN", error: "You are not in the room" }]],
    threadGone: [404, { errcode: "M_NOT_FOUND", error: "Unknown event" }],
    tooLarge: [413, { errcode: "M_TOO_LARGE", error: "event too large" }],
  },
  "mattermost (bot)": {
    adapter: (baseUrl) => platform("mattermost", { token: "tok", baseUrl }),
    target: { chat: "chan", thread: "root" },
    request: { path: /^\/api\/v4\/posts$/, header: bearer("tok") },
    text: [["message"]],
    delivered: [201, { id: "post1" }],
    tooOften: [[429, "limit exceeded", RETRY_AFTER], 30_000],
    badForm: [400, { id: "api.context.invalid_body_param.app_error", message: "Invalid post" }],
    gone: [
      [403, { id: "api.context.permissions.app_error", message: "no permission" }],
      [404, { id: "app.channel.get.existing.app_error", message: "no such channel" }],
    ],
    threadGone: [400, { id: "api.post.create_post.root_id.app_error", message: "Invalid RootId" }],
    tooLarge: [413, { id: "api.post.too_large", message: "too large" }],
  },
  "mattermost (webhook)": {
    adapter: (base) => platform("mattermost", { webhook: `${base}/hooks/x` }),
    target: { chat: "default" },
    request: { path: /^\/hooks\/x$/ },
    text: [["text"]],
    delivered: [200, "ok"],
    tooOften: [[429, "limit exceeded", RETRY_AFTER], 30_000],
    badForm: [400, { id: "web.incoming_webhook.parse.app_error", message: "Unable to parse" }],
    gone: [
      [403, { id: "web.incoming_webhook.permissions.app_error", message: "no permission" }],
      [404, { id: "web.incoming_webhook.channel.app_error", message: "no such channel" }],
    ],
    tooLarge: [413, "too large"],
  },
  teams: {
    adapter: (base) => platform("teams", { webhook: `${base}/workflows/x?sig=s` }),
    target: { chat: "default" },
    request: { path: /^\/workflows\/x\?sig=s$/ },
    text: [
      ["attachments", 0, "content", "body", 0, "text"],
      ["attachments", 0, "content", "body", 0, "inlines", 0, "text"],
    ],
    delivered: [202, ""],
    tooOften: [[429, "", RETRY_AFTER], 30_000],
    badForm: [400, { error: { code: "InvalidBotAdaptiveCard", message: "not a card" } }],
    gone: [
      [403, "forbidden"],
      [404, { error: { code: "WorkflowNotFound" } }],
    ],
    tooLarge: [413, "RequestEntityTooLarge"],
  },
  googlechat: {
    adapter: (base) => platform("googlechat", { webhook: `${base}/v1/spaces/A/messages?key=k&token=t` }),
    target: { chat: "default", thread: "nightly" },
    request: {
      path: new RegExp(
        `^/v1/spaces/A/messages\\?key=k&token=t&requestId=${KEY}&messageReplyOption=REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD$`,
      ),
    },
    text: [["text"]],
    delivered: [200, { name: "spaces/A/messages/B" }],
    tooOften: [[429, { error: { status: "RESOURCE_EXHAUSTED", message: "quota" } }, RETRY_AFTER], 30_000],
    badForm: [400, { error: { status: "INVALID_ARGUMENT", message: "Invalid text" } }],
    gone: [
      [403, { error: { status: "PERMISSION_DENIED", message: "not a member" } }],
      [404, { error: { status: "NOT_FOUND", message: "no such space" } }],
    ],
    tooLarge: [413, "too large"],
    rings: /<users\/all>/,
  },
  feishu: {
    adapter: (base) => platform("feishu", { webhook: `${base}/open-apis/bot/v2/hook/x` }),
    target: { chat: "default" },
    request: { path: /^\/open-apis\/bot\/v2\/hook\/x$/ },
    text: [
      ["card", "body", "elements", 0, "content"],
      ["content", "text"],
    ],
    delivered: [200, { code: 0, msg: "success" }],
    tooOften: [[200, { code: 11_232, msg: "frequency limited" }], 60_000],
    badForm: [400, { code: 9_499, msg: "Bad Request", data: {} }],
    gone: [
      [200, { code: 19_001, msg: "param invalid: incoming webhook access token invalid" }],
      [200, { code: 19_022, msg: "Ip Not Allowed" }],
    ],
    tooLarge: [413, "too large"],
    rings: /<at id=all>/,
  },
  dingtalk: {
    adapter: (base) => platform("dingtalk", { webhook: `${base}/robot/send?access_token=t`, secret: "SECs" }),
    target: { chat: "default" },
    request: {
      path: new RegExp(
        `^/robot/send\\?access_token=t&timestamp=${START}&sign=${encodeURIComponent(sign).replace(/[.*+?]/g, "\\$&")}$`,
      ),
    },
    text: [
      ["markdown", "text"],
      ["text", "content"],
    ],
    delivered: [200, { errcode: 0, errmsg: "ok" }],
    tooOften: [[200, { errcode: 130_101, errmsg: "send too fast, exceed 20 times per minute" }], 600_000],
    badForm: [200, { errcode: 400_105, errmsg: "unsupported msgtype" }],
    gone: [
      [200, { errcode: 400_013, errmsg: "the group was dissolved" }],
      [200, { errcode: 400_102, errmsg: "the robot was stopped" }],
      [200, { errcode: 310_000, errmsg: "sign not match" }],
    ],
    tooLarge: [413, "too large"],
  },
  wecom: {
    adapter: (base) => platform("wecom", { webhook: `${base}/cgi-bin/webhook/send?key=k` }),
    target: { chat: "default" },
    request: { path: /^\/cgi-bin\/webhook\/send\?key=k$/ },
    text: [
      ["markdown", "content"],
      ["text", "content"],
    ],
    delivered: [200, { errcode: 0, errmsg: "ok" }],
    tooOften: [[200, { errcode: 45_009, errmsg: "api freq out of limit" }], 60_000],
    badForm: [200, { errcode: 40_058, errmsg: "markdown.content is invalid" }],
    gone: [[200, { errcode: 93_000, errmsg: "invalid webhook url" }]],
    tooLarge: [413, "too large"],
    rings: /<@all>/,
  },
  ntfy: {
    adapter: (baseUrl) => platform("ntfy", { token: "tk", baseUrl }),
    target: { chat: "ops" },
    request: { path: /^\/$/, header: bearer("tk") },
    text: [["message"]],
    delivered: [200, { id: "n1" }],
    tooOften: [[429, { code: 42_901, error: "limit reached" }, RETRY_AFTER], 30_000],
    gone: [
      [403, { code: 40_301, error: "forbidden" }],
      [404, { code: 40_401, error: "page not found" }],
    ],
    tooLarge: [413, { code: 41_301, error: "too large" }],
  },
  gotify: {
    adapter: (baseUrl) => platform("gotify", { token: "Atok", baseUrl }),
    target: { chat: "app" },
    request: { path: /^\/message$/, header: ["x-gotify-key", /^Atok$/] },
    text: [["message"]],
    delivered: [200, { id: 25 }],
    tooOften: [[429, "", RETRY_AFTER], 30_000],
    badForm: [400, { error: "Bad Request", errorDescription: "extras" }],
    gone: [
      [401, { error: "Unauthorized", errorDescription: "a valid access token is needed" }],
      [404, { error: "Not Found" }],
    ],
    tooLarge: [413, "too large"],
  },
  pushover: {
    adapter: (baseUrl) => platform("pushover", { token: "app", baseUrl }),
    target: { chat: "user", thread: "phone" },
    request: { path: /^\/1\/messages\.json$/ },
    text: [["message"]],
    delivered: [200, { status: 1, request: "r-1" }],
    // A 429 is the month's quota, which is no rate (see the adapter): its servers ask to wait with 5xx.
    tooOften: [[503, { status: 0, errors: ["busy"] }, RETRY_AFTER], 30_000],
    gone: [
      [400, { status: 0, errors: ["user identifier is not valid"] }],
      [429, { status: 0, errors: ["the month's quota is used up"] }],
    ],
    tooLarge: [413, { status: 0, errors: ["message is too long"] }],
  },
  webhook: {
    adapter: (base) =>
      makeWebhookAdapter({ clock, allowPrivate: ["127.0.0.1"], named: { ops: { url: `${base}/in` } } }),
    target: { chat: "ops" },
    request: { path: /^\/in$/, header: ["idempotency-key", new RegExp(`^${KEY}$`)] },
    text: [["text"]],
    delivered: [204, ""],
    tooOften: [[429, "", RETRY_AFTER], 30_000],
    gone: [
      [403, ""],
      [404, ""],
      [410, ""],
    ],
    tooLarge: [413, ""],
  },
};

/** What is wrong with a request; undefined = it is the platform's own. */
export function complaintOf(received: Received, { request }: ErrorCase): string | undefined {
  const { method = "POST", path, header } = request;
  if (received.method !== method) return `${received.method} instead of ${method}`;
  if (!path.test(received.path ?? "")) return `asked for ${received.path}`;
  const value = header && received.headers[header[0]];
  if (header && !header[1].test(String(value))) return `${header[0]} is ${value}`;
  if (!/^application\/json/.test(received.headers["content-type"] ?? "")) return "it is no JSON";
  return undefined;
}

/** The message as the platform is given it. */
export function messageIn({ body }: Received, { text }: ErrorCase): string {
  const json: unknown = JSON.parse(body);
  return text.map((path) => textAt(json, ...path)).find((found) => found !== undefined) ?? "";
}
