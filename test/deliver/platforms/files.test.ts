// Files to platforms: the true requests, step by step, and what is made of refusals and cuts at each step.
// Nothing here was ever sent to the real services.

import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { adapterTable } from "../../../src/deliver/adapter-table.ts";
import { sendRow } from "../../../src/deliver/try-row.ts";
import type { Adapter, SendRequest, Target } from "../../../src/records/delivery.ts";
import { type Media, mediaTypeOf } from "../../../src/records/media.ts";
import { tempFolder } from "../../support/temp.ts";
import { deliveryRow, redact } from "../fixtures.ts";
import { type Received, serve } from "../loopback.ts";
import { clock, never, platform, requestTo } from "./fixtures.ts";

type Answer = [status: number, body: unknown, headers?: Record<string, string>];

/** Answers in turn, the last one again and again; null cuts the connection once the request was read. */
async function script(...answers: (Answer | null)[]) {
  let turn = 0;
  const server = await serve((response, { socket }) => {
    const answer = answers[Math.min(turn++, answers.length - 1)];
    if (!answer) return void socket.destroy();
    const [status, body, headers = {}] = answer;
    response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body));
  });
  return { ...server, base: new URL(server.url).origin };
}

const CONTENT = "the bytes of a picture";

async function file(name = "chart.png", content = CONTENT) {
  const root = await tempFolder();
  await writeFile(join(root, name), content);
  const sha256 = createHash("sha256").update(content).digest("hex");
  const media: Media = { file: name, name, ...mediaTypeOf(name), bytes: content.length, sha256 };
  return { root, media };
}

async function withFile(
  target: Omit<Target, "text">,
  { name, body = "CPU **load**" }: { name?: string; body?: string } = {},
): Promise<SendRequest> {
  const { root, media } = await file(name);
  return requestTo(target, { body, media: { ...media, path: join(root, media.file) } });
}

const paths = (received: readonly Received[]) => received.map(({ method, path }) => `${method} ${path}`);

/** The fields of a form, and its file under `file`. */
function form({ headers, body }: Received): Record<string, string> {
  const boundary = /boundary=(.+)$/.exec(headers["content-type"] ?? "")?.[1] ?? "none";
  expect(Number(headers["content-length"])).toBe(Buffer.byteLength(body));
  expect(body.endsWith(`--${boundary}--\r\n`)).toBe(true);
  const parts = body.split(`--${boundary}\r\n`).slice(1);
  return Object.fromEntries(
    parts.map((part) => {
      const [head = "", ...rest] = part.split("\r\n\r\n");
      return [/name="([^"]+)"/.exec(head)?.[1] ?? "", rest.join("\r\n\r\n").split("\r\n")[0] ?? ""];
    }),
  );
}

const telegram = (baseUrl: string) => platform("telegram", { token: "1:t", baseUrl });
const TOPIC = { platform: "telegram", chat: "-1001", thread: "17" };
const SENT: Answer = [200, { ok: true, result: { message_id: 42 } }];
const refusal = (code: number, description: string): Answer => [
  code,
  { ok: false, error_code: code, description },
];

test.each([
  ["chart.png", "sendPhoto", "photo"],
  ["clip.mp4", "sendVideo", "video"],
  ["note.mp3", "sendAudio", "audio"],
  ["report.pdf", "sendDocument", "document"],
  ["moving.gif", "sendDocument", "document"],
])("telegram: %s goes by %s with its caption in HTML", async (name, method, field) => {
  const server = await script(SENT);

  const result = await telegram(server.base).send(await withFile(TOPIC, { name }), never);

  expect(result).toMatchObject({ kind: "delivered", receipt: { id: "42" } });
  expect(paths(server.received)).toEqual([`POST /bot1:t/${method}`]);
  expect(form(server.received[0]!)).toEqual({
    chat_id: "-1001",
    message_thread_id: "17",
    caption: "CPU <b>load</b>",
    parse_mode: "HTML",
    [field]: CONTENT,
  });
});

test("telegram: a picture that it cannot show goes as a file; a deleted topic falls back to the chat", async () => {
  const server = await script(
    refusal(400, "Bad Request: PHOTO_INVALID_DIMENSIONS"),
    refusal(400, "Bad Request: message thread not found"),
    SENT,
  );

  const result = await telegram(server.base).send(await withFile(TOPIC), never);

  expect(result).toMatchObject({
    kind: "delivered",
    receipt: { note: "the picture was refused: sent as a file; thread 17 is gone: sent to the chat" },
  });
  expect(paths(server.received).map((path) => path.replace(/^.*\//, ""))).toEqual([
    "sendPhoto",
    "sendDocument",
    "sendDocument",
  ]);
  expect(form(server.received[2]!).message_thread_id).toBeUndefined();
});

test("slack: asked for a place, put there without the token, then shown in the thread", async () => {
  const server = await script([200, {}]);
  const steps = await script(
    [200, { ok: true, upload_url: `${server.base}/upload/v1/x`, file_id: "F1" }],
    [200, { ok: true, files: [{ id: "F1" }] }],
  );
  const bot = platform("slack", { token: "xoxb", baseUrl: `${steps.base}/api` });

  const result = await bot.send(await withFile({ platform: "slack", chat: "C123", thread: "1.2" }), never);

  expect(result).toMatchObject({ kind: "delivered", receipt: { id: "F1" } });
  expect(paths(steps.received)).toEqual([
    "POST /api/files.getUploadURLExternal",
    "POST /api/files.completeUploadExternal",
  ]);
  expect(steps.received[0]?.body).toBe(`filename=chart.png&length=${CONTENT.length}`);
  expect(server.received[0]).toMatchObject({ path: "/upload/v1/x", body: CONTENT });
  expect(server.received[0]?.headers.authorization).toBeUndefined();
  expect(JSON.parse(steps.received[1]?.body ?? "")).toMatchObject({
    files: [{ id: "F1", title: "chart.png" }],
    channel_id: "C123",
    thread_ts: "1.2",
  });
});

test.each<[string, (Answer | null)[], string]>([
  ["a cut before anybody saw it", [null], "retry"],
  ["a refusal with 200", [[200, { ok: false, error: "invalid_auth" }]], "refused"],
  [
    "a cut while it is shown",
    [[200, { ok: true, upload_url: "UP", file_id: "F1" }], [200, "OK"], null],
    "unknown",
  ],
  [
    "a lost upload",
    [
      [200, { ok: true, upload_url: "UP", file_id: "F1" }],
      [502, "bad gateway"],
    ],
    "retry",
  ],
])("O3, slack: %s", async (_name, answers, kind) => {
  const server = await script([200, {}]);
  const filled = answers.map(
    (answer) => answer && JSON.parse(JSON.stringify(answer).replace('"UP"', `"${server.base}/in"`)),
  );
  let turn = 0;
  const one = await serve((response, { socket }) => {
    const answer = filled[Math.min(turn++, filled.length - 1)];
    if (!answer) return void socket.destroy();
    const body = JSON.stringify(answer[1]).replaceAll(server.base, new URL(one.url).origin);
    response.writeHead(answer[0]).end(body);
  });
  const bot = platform("slack", { token: "xoxb", baseUrl: new URL(one.url).origin });

  expect((await bot.send(await withFile({ platform: "slack", chat: "C1" }), never)).kind).toBe(kind);
});

test("discord: the message's JSON and the file in one form, from a bot and from a webhook", async () => {
  const server = await script([200, { id: "900" }]);
  const bot = platform("discord", { token: "b", baseUrl: server.base });
  const hook = platform("discord", { webhook: `${server.base}/api/webhooks/1/x` });

  await bot.send(await withFile({ platform: "discord", chat: "111" }), never);
  await hook.send(await withFile({ platform: "discord", chat: "default" }), never);

  expect(paths(server.received)).toEqual(["POST /channels/111/messages", "POST /api/webhooks/1/x?wait=true"]);
  for (const received of server.received) {
    const { payload_json = "", ...rest } = form(received);
    expect(rest).toEqual({ "files[0]": CONTENT });
    expect(JSON.parse(payload_json)).toMatchObject({ allowed_mentions: { parse: [] } });
  }
});

test("matrix: uploaded, then an event with the file's address under the row's transaction id", async () => {
  const server = await script([200, { content_uri: "mxc://x/1" }], [200, { event_id: "$e" }]);
  const room = { platform: "matrix", chat: "!r:example.org", thread: "$root" };
  const request = await withFile(room);

  const result = await platform("matrix", { baseUrl: server.base, token: "t" }).send(request, never);

  expect(result).toMatchObject({ kind: "delivered", receipt: { id: "$e" } });
  expect(paths(server.received)).toEqual([
    "POST /_matrix/media/v3/upload?filename=chart.png",
    `PUT /_matrix/client/v3/rooms/!r%3Aexample.org/send/m.room.message/${request.idempotencyKey}`,
  ]);
  expect(server.received[0]).toMatchObject({ body: CONTENT, headers: { "content-type": "image/png" } });
  expect(JSON.parse(server.received[1]?.body ?? "")).toMatchObject({
    msgtype: "m.image",
    body: "CPU load",
    filename: "chart.png",
    url: "mxc://x/1",
    info: { mimetype: "image/png", size: CONTENT.length },
    "m.relates_to": { event_id: "$root" },
  });
});

test("mattermost: uploaded to the channel, then posted with the file's id", async () => {
  const server = await script([201, { file_infos: [{ id: "f1" }] }], [201, { id: "p1" }]);
  const bot = platform("mattermost", { baseUrl: server.base, token: "t" });

  const result = await bot.send(await withFile({ platform: "mattermost", chat: "ch" }), never);

  expect(result).toMatchObject({ kind: "delivered", receipt: { id: "p1" } });
  expect(paths(server.received)).toEqual([
    "POST /api/v4/files?channel_id=ch&filename=chart.png",
    "POST /api/v4/posts",
  ]);
  expect(JSON.parse(server.received[1]?.body ?? "")).toMatchObject({ file_ids: ["f1"] });
});

test("ntfy: the file is the body, all else stands in the address; pushover: a form", async () => {
  const ntfy = await script([200, { id: "n1" }]);
  const push = await script([200, { status: 1, request: "r1" }]);

  await platform("ntfy", { baseUrl: ntfy.base }).send(
    await withFile({ platform: "ntfy", chat: "topic" }, { body: "Größe & Last" }),
    never,
  );
  await platform("pushover", { token: "app", baseUrl: push.base }).send(
    await withFile({ platform: "pushover", chat: "user" }),
    never,
  );

  const url = new URL(ntfy.received[0]?.path ?? "", ntfy.base);
  expect([ntfy.received[0]?.method, url.pathname, ntfy.received[0]?.body]).toEqual([
    "PUT",
    "/topic",
    CONTENT,
  ]);
  expect(Object.fromEntries(url.searchParams)).toMatchObject({
    filename: "chart.png",
    message: "Größe & Last",
  });
  expect(form(push.received[0]!)).toMatchObject({ token: "app", user: "user", attachment: CONTENT });
});

test("webhook: in the JSON as base64, with its digest; wecom: a picture by its own message", async () => {
  const hook = await script([204, ""]);
  const wecom = await script([200, { errcode: 0 }]);
  const request = await withFile({ platform: "webhook", url: `${hook.base}/in` });
  const { makeWebhookAdapter } = await import("../../../src/deliver/adapters/webhook.ts");

  await makeWebhookAdapter({ clock, allowPrivate: ["127.0.0.1"] }).send(request, never);
  await platform("wecom", { webhook: `${wecom.base}/x` }).send(
    await withFile({ platform: "wecom", chat: "default" }),
    never,
  );

  const { attachment } = JSON.parse(hook.received[0]?.body ?? "");
  expect(attachment).toEqual({
    name: "chart.png",
    contentType: "image/png",
    bytes: CONTENT.length,
    sha256: request.media?.sha256,
    data: Buffer.from(CONTENT).toString("base64"),
  });
  expect(JSON.parse(wecom.received[0]?.body ?? "")).toEqual({
    msgtype: "image",
    image: {
      base64: Buffer.from(CONTENT).toString("base64"),
      md5: createHash("md5").update(CONTENT).digest("hex"),
    },
  });
});

/** One try of a row with a file. */
async function tried(adapter: Adapter, { isGone = false, content = CONTENT } = {}) {
  const { root, media } = await file();
  if (isGone || content !== CONTENT) {
    const { rm } = await import("node:fs/promises");
    await rm(join(root, media.file));
    if (!isGone) await writeFile(join(root, media.file), content);
  }
  const target = { platform: "telegram", chat: "-1001", text: "telegram:-1001" };
  const row = deliveryRow({ target, media, body: "chart.png", repeatability: "blind" });
  return sendRow({ adapters: adapterTable([adapter]), clock, root, redact }, row, never);
}

test("a file that its platform refuses is named instead, with the reason and where it is kept", async () => {
  const server = await script(refusal(413, "Request Entity Too Large"), SENT);

  const result = await tried(telegram(server.base));

  expect(result).toMatchObject({
    kind: "delivered",
    receipt: { id: "42", note: expect.stringMatching(/^the file was refused \(.*413.*\): named instead$/) },
  });
  expect(JSON.parse(server.received[1]?.body ?? "").text).toMatch(
    /^Not sent: chart\.png \(22 bytes\): .*413.* It is kept on the node: chart\.png\.$/,
  );
});

test("a file that is gone, or was changed since it was kept, is never read: it is named", async () => {
  for (const [options, why] of [
    [{ isGone: true }, "the file is gone"],
    [{ content: "other" }, "the file has changed since"],
  ] as const) {
    const server = await script(SENT);
    expect(await tried(telegram(server.base), options)).toMatchObject({ kind: "delivered" });
    expect(server.received).toHaveLength(1);
    expect(JSON.parse(server.received[0]?.body ?? "").text).toContain(why);
  }
});

test("O3: a file that was cut off is as doubtful as a text, and is not named instead", async () => {
  const server = await script(null);
  expect(await tried(telegram(server.base))).toMatchObject({ kind: "unknown" });
  expect(server.received).toHaveLength(1);
});

test("429 on a file waits as for a text", async () => {
  const server = await script([
    429,
    { ok: false, error_code: 429, description: "Too Many Requests", parameters: { retry_after: 35 } },
  ]);
  expect(await tried(telegram(server.base))).toMatchObject({ kind: "retry", afterMs: 35_000 });
});
