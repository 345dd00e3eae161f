// Platforms with chats and threads against servers that check their true request and answer as they do.
// Nothing here was ever sent to the real services.

import { describe, expect, test } from "vitest";
import { START } from "../fixtures.ts";
import type { Received } from "../loopback.ts";
import { serve } from "../loopback.ts";
import { never, platform, requestTo } from "./fixtures.ts";

const TOKEN = "123456789:AAtoken";

/** Answers in turn; the last one again and again. */
async function script(...answers: [status: number, body: unknown, headers?: Record<string, string>][]) {
  let turn = 0;
  const server = await serve((response) => {
    const [status, body, headers = {}] = answers[Math.min(turn++, answers.length - 1)]!;
    response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body));
  });
  return { ...server, base: new URL(server.url).origin };
}

const json = (received: Received | undefined) => JSON.parse(received?.body ?? "null");

describe("telegram", () => {
  const send = (base: string, request = requestTo({ platform: "telegram", chat: "-1001", thread: "17" })) =>
    platform("telegram", { token: TOKEN, baseUrl: base }).send(request, never);
  const sent = { ok: true, result: { message_id: 42 } };
  const refusal = (code: number, description: string, parameters?: unknown) =>
    [code, { ok: false, error_code: code, description, ...(parameters ? { parameters } : {}) }] as [
      number,
      unknown,
    ];

  test("sendMessage in HTML to the thread; the receipt is the message's id", async () => {
    const server = await script([200, sent]);

    expect(await send(server.base)).toEqual({
      kind: "delivered",
      receipt: { id: "42", status: 200, at: START },
    });
    expect(server.received[0]).toMatchObject({ method: "POST", path: `/bot${TOKEN}/sendMessage` });
    expect(json(server.received[0])).toEqual({
      chat_id: "-1001",
      message_thread_id: 17,
      text: "<b>disk</b> is at 91 % &amp; rising",
      parse_mode: "HTML",
      link_preview_options: { is_disabled: true },
    });
  });

  test("429 waits as long as Telegram says, in its own form", async () => {
    const server = await script(refusal(429, "Too Many Requests: retry after 35", { retry_after: 35 }));
    expect(await send(server.base)).toMatchObject({ kind: "retry", afterMs: 35_000 });
  });

  test("markup that is refused goes once more as plain text, and the receipt says so", async () => {
    const server = await script(refusal(400, "Bad Request: can't parse entities: unsupported tag"), [
      200,
      sent,
    ]);

    expect(await send(server.base)).toMatchObject({
      kind: "delivered",
      receipt: { note: "the markup was refused: sent as plain text" },
    });
    expect(json(server.received[1]).text).toBe("disk is at 91 % & rising");
    expect(json(server.received[1]).parse_mode).toBeUndefined();
  });

  test("markup refused twice is dead, not a loop", async () => {
    const server = await script(refusal(400, "Bad Request: can't parse entities"));
    expect(await send(server.base)).toMatchObject({ kind: "refused" });
    expect(server.received).toHaveLength(2);
  });

  test("hermes#54329: a deleted topic falls back to the chat, with a line that says so", async () => {
    const server = await script(refusal(400, "Bad Request: message thread not found"), [200, sent]);

    expect(await send(server.base)).toMatchObject({
      kind: "delivered",
      receipt: { note: "thread 17 is gone: sent to the chat" },
    });
    expect(json(server.received[1]).message_thread_id).toBeUndefined();
    expect(json(server.received[1]).text).toMatch(
      /^\(The thread is gone; this message was meant for it\.\)\n\n/,
    );
  });

  test("a group that became a supergroup is followed, and its new id stands in the receipt", async () => {
    const server = await script(
      refusal(400, "Bad Request: group chat was upgraded to a supergroup chat", {
        migrate_to_chat_id: -100777,
      }),
      [200, sent],
    );

    const result = await send(server.base);

    expect(json(server.received[1]).chat_id).toBe("-100777");
    expect(result).toMatchObject({
      kind: "delivered",
      receipt: { note: expect.stringContaining("-100777") },
    });
  });

  test("a forum's general topic is the chat itself", async () => {
    const server = await script([200, sent]);
    await send(server.base, requestTo({ platform: "telegram", chat: "-1001", thread: "1" }));
    expect(json(server.received[0]).message_thread_id).toBeUndefined();
  });

  test.each([
    ["403 kicked", refusal(403, "Forbidden: bot was kicked from the supergroup chat"), "refused"],
    ["401", refusal(401, "Unauthorized"), "refused"],
    ["no such chat", refusal(400, "Bad Request: chat not found"), "refused"],
    ["413", refusal(413, "Request Entity Too Large"), "refused"],
    ["500", refusal(500, "Internal Server Error"), "retry"],
    ["a gateway that lost the answer", [502, "<html>bad gateway</html>"], "unknown"],
    ["200 without an id", [200, { ok: true }], "unknown"],
  ] as [string, [number, unknown], string][])("%s is %s", async (_name, answer, kind) => {
    const server = await script(answer);
    const result = await send(server.base);
    expect(result.kind).toBe(kind);
    expect(JSON.stringify(result)).not.toContain(TOKEN);
  });

  test("hermes#58818: a connection cut after the request was read is unknown", async () => {
    const server = await serve((_response, { socket }) => void socket.destroy());
    expect(await send(new URL(server.url).origin)).toMatchObject({ kind: "unknown" });
  });
});

describe("slack", () => {
  const bot = (base: string) => platform("slack", { token: "xoxb-t0ken", baseUrl: `${base}/api` });
  const request = requestTo({ platform: "slack", chat: "C123", thread: "1700000000.000100" });

  test("a bot posts into the thread; the receipt is the message's ts", async () => {
    const server = await script([200, { ok: true, channel: "C123", ts: "1700000001.000200" }]);

    expect(await bot(server.base).send(request, never)).toMatchObject({
      kind: "delivered",
      receipt: { id: "1700000001.000200" },
    });
    expect(server.received[0]).toMatchObject({ path: "/api/chat.postMessage" });
    expect(server.received[0]?.headers.authorization).toBe("Bearer xoxb-t0ken");
    expect(json(server.received[0])).toMatchObject({ channel: "C123", thread_ts: "1700000000.000100" });
    expect(json(server.received[0]).text.replaceAll("\u200b", "")).toBe("*disk* is at 91 % &amp; rising");
  });

  test("an incoming webhook by its name needs no token, and its `ok` is the receipt", async () => {
    const server = await script([200, "ok"]);
    const hook = platform("slack", { webhooks: { ops: { url: `${server.base}/services/T/B/x` } } });

    expect(await hook.send(requestTo({ platform: "slack", chat: "ops" }), never)).toMatchObject({
      kind: "delivered",
    });
    expect(server.received[0]).toMatchObject({ path: "/services/T/B/x" });
    expect(server.received[0]?.headers.authorization).toBeUndefined();
    expect(json(server.received[0]).channel).toBeUndefined();
    expect(hook.refuses?.(requestTo({ platform: "slack", chat: "C1" }).target)).toMatch(/no token/);
  });

  test("a thread that cannot be answered in falls back to the channel", async () => {
    const server = await script(
      [200, { ok: false, error: "thread_not_found" }],
      [200, { ok: true, ts: "2.0" }],
    );

    expect(await bot(server.base).send(request, never)).toMatchObject({
      kind: "delivered",
      receipt: { id: "2.0" },
    });
    expect(json(server.received[1]).thread_ts).toBeUndefined();
  });

  test.each([
    [[200, { ok: false, error: "channel_not_found" }], "refused"],
    [[200, { ok: false, error: "not_in_channel" }], "refused"],
    [[200, { ok: false, error: "fatal_error" }], "unknown"],
    [[200, { ok: false, error: "service_unavailable" }], "retry"],
    [[410, "channel_is_archived"], "refused"],
    [[504, ""], "unknown"],
  ] as [[number, unknown], string][])("%j is %s", async (answer, kind) => {
    const server = await script(answer);
    expect((await bot(server.base).send(request, never)).kind).toBe(kind);
  });

  test("429 waits for Retry-After", async () => {
    const server = await script([429, { ok: false, error: "ratelimited" }, { "retry-after": "30" }]);
    expect(await bot(server.base).send(request, never)).toMatchObject({ kind: "retry", afterMs: 30_000 });
  });
});

describe("discord", () => {
  const bot = (base: string) => platform("discord", { token: "b0t", baseUrl: `${base}/api/v10` });
  const request = requestTo(
    { platform: "discord", chat: "111", thread: "222" },
    { body: "@everyone **disk**" },
  );

  test("a bot posts to the thread's own channel, with a nonce, and nobody is rung", async () => {
    const server = await script([200, { id: "900" }]);

    expect(await bot(server.base).send(request, never)).toMatchObject({
      kind: "delivered",
      receipt: { id: "900" },
    });
    expect(server.received[0]).toMatchObject({ path: "/api/v10/channels/222/messages" });
    expect(server.received[0]?.headers.authorization).toBe("Bot b0t");
    expect(json(server.received[0])).toEqual({
      content: "@\u200beveryone **disk**",
      allowed_mentions: { parse: [] },
      flags: 4,
      nonce: request.idempotencyKey.slice(0, 25),
      enforce_nonce: true,
    });
  });

  test("a webhook waits for its message's id", async () => {
    const server = await script([200, { id: "901" }]);
    const hook = platform("discord", { webhook: `${server.base}/api/webhooks/1/x` });

    const result = await hook.send(requestTo({ platform: "discord", chat: "default", thread: "5" }), never);

    expect(result).toMatchObject({ kind: "delivered", receipt: { id: "901" } });
    expect(server.received[0]?.path).toBe("/api/webhooks/1/x?wait=true&thread_id=5");
  });

  test("429 in a fraction of a second; a deleted thread falls back; 50013 is final", async () => {
    const late = await script([
      429,
      { message: "You are being rate limited.", retry_after: 1.337, global: false },
    ]);
    expect(await bot(late.base).send(request, never)).toMatchObject({ kind: "retry", afterMs: 1_337 });

    const gone = await script([404, { message: "Unknown Channel", code: 10_003 }], [200, { id: "902" }]);
    expect(await bot(gone.base).send(request, never)).toMatchObject({ kind: "delivered" });
    expect(gone.received[1]?.path).toBe("/api/v10/channels/111/messages");

    const forbidden = await script([403, { message: "Missing Permissions", code: 50_013 }]);
    expect(await bot(forbidden.base).send(request, never)).toMatchObject({ kind: "refused" });
  });

  test("O3: after a cut the channel is asked: found by nonce, absent when the page reaches back, else unknown", async () => {
    const idAt = (ms: number) => String(BigInt(ms - 1_420_070_400_000) << 22n);
    const nonce = request.idempotencyKey.slice(0, 25);
    const probe = async (page: unknown[]) => bot((await script([200, page])).base).probe?.(request, never);

    expect(await probe([{ id: "7", nonce }])).toMatchObject({ id: "7" });
    expect(await probe([{ id: idAt(START), content: "@\u200beveryone **disk**" }])).toMatchObject({
      id: idAt(START),
    });
    expect(await probe([{ id: idAt(START), content: "other" }])).toBe("absent");
    const busy = Array.from({ length: 100 }, (_, at) => ({
      id: idAt(START + 60_000 - at),
      content: "chatter",
    }));
    expect(await probe(busy)).toBeUndefined();
    expect(await bot((await script([403, { code: 50_001 }])).base).probe?.(request, never)).toBeUndefined();
  });
});

describe("matrix", () => {
  const home = (base: string) => platform("matrix", { baseUrl: base, token: "syt_t0ken" });
  const request = requestTo({ platform: "matrix", chat: "!room:example.org", thread: "$root" });
  const path = `/_matrix/client/v3/rooms/!room%3Aexample.org/send/m.room.message/${request.idempotencyKey}`;

  test("O3: one PUT under a transaction id that stays the same, into the thread", async () => {
    const server = await script([200, { event_id: "$new" }]);

    expect(await home(server.base).send(request, never)).toMatchObject({
      kind: "delivered",
      receipt: { id: "$new" },
    });
    await home(server.base).send({ ...request, attempt: 2 }, never);

    expect(server.received.map((one) => [one.method, one.path])).toEqual([
      ["PUT", path],
      ["PUT", path],
    ]);
    expect(server.received[0]?.headers.authorization).toBe("Bearer syt_t0ken");
    expect(json(server.received[0])).toEqual({
      msgtype: "m.text",
      body: "disk is at 91 % & rising",
      format: "org.matrix.custom.html",
      formatted_body: "<p><strong>disk</strong> is at 91 % &amp; rising</p>",
      "m.mentions": {},
      "m.relates_to": {
        rel_type: "m.thread",
        event_id: "$root",
        is_falling_back: true,
        "m.in_reply_to": { event_id: "$root" },
      },
    });
  });

  test("an alias is asked for its room first; one that does not exist is final", async () => {
    const server = await script([200, { room_id: "!r:example.org" }], [200, { event_id: "$n" }]);
    const alias = requestTo({ platform: "matrix", chat: "#ops:example.org" });

    expect(await home(server.base).send(alias, never)).toMatchObject({ kind: "delivered" });
    expect(server.received[0]).toMatchObject({
      method: "GET",
      path: "/_matrix/client/v3/directory/room/%23ops%3Aexample.org",
    });
    const none = await script([404, { errcode: "M_NOT_FOUND", error: "no such alias" }]);
    expect(await home(none.base).send(alias, never)).toMatchObject({ kind: "refused" });
  });

  test("its rate limit is in ms; 403 is final; a cut is unknown to the row, which may send again", async () => {
    const late = await script([429, { errcode: "M_LIMIT_EXCEEDED", error: "slow", retry_after_ms: 2_345 }]);
    expect(await home(late.base).send(request, never)).toMatchObject({ kind: "retry", afterMs: 2_345 });

    const out = await script([403, { errcode: "M_FORBIDDEN", error: "not in room" }]);
    expect(await home(out.base).send(request, never)).toMatchObject({ kind: "refused" });
    expect(home(out.base).repeatability).toBe("idempotent");
  });
});

describe("mattermost", () => {
  const request = requestTo({ platform: "mattermost", chat: "chan26", thread: "root26" });

  test("a post in a thread; a root that is gone falls back; a webhook says ok", async () => {
    const config = (base: string) => platform("mattermost", { baseUrl: base, token: "mm" });
    const server = await script(
      [400, { id: "api.post.create_post.root_id.app_error", message: "Invalid RootId" }],
      [201, { id: "post1" }],
    );

    expect(await config(server.base).send(request, never)).toMatchObject({
      kind: "delivered",
      receipt: { id: "post1", note: "thread root26 is gone: sent to the chat" },
    });
    expect(server.received[0]).toMatchObject({ method: "POST", path: "/api/v4/posts" });
    expect(json(server.received[0])).toEqual({
      channel_id: "chan26",
      message: "**disk** is at 91 % & rising",
      root_id: "root26",
    });

    const hook = await script([200, "ok"]);
    const adapter = platform("mattermost", { webhook: `${hook.base}/hooks/x` });
    expect(await adapter.send(requestTo({ platform: "mattermost", chat: "default" }), never)).toMatchObject({
      kind: "delivered",
    });
    expect(json(hook.received[0])).toEqual({ text: "**disk** is at 91 % & rising" });
  });
});
