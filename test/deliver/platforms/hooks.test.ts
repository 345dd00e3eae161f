// Platforms that are one webhook, and push services, against servers that check their true request.
// Nothing here was ever sent to the real services.

import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { START } from "../fixtures.ts";
import { type Received, serve } from "../loopback.ts";
import { never, platform, requestTo } from "./fixtures.ts";

async function answering(status: number, body: unknown, headers: Record<string, string> = {}) {
  const server = await serve((response) =>
    response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body)),
  );
  return { ...server, base: new URL(server.url).origin };
}

const json = (received: Received | undefined) => JSON.parse(received?.body ?? "null");

describe("teams", () => {
  const request = requestTo({ platform: "teams", chat: "default" });

  test("a workflow gets an adaptive card, and its 202 is the receipt", async () => {
    const server = await answering(202, "");

    expect(await platform("teams", { webhook: server.url }).send(request, never)).toMatchObject({
      kind: "delivered",
      receipt: { status: 202 },
    });
    const { type, attachments } = json(server.received[0]);
    expect(type).toBe("message");
    expect(attachments[0]).toMatchObject({
      contentType: "application/vnd.microsoft.card.adaptive",
      content: {
        type: "AdaptiveCard",
        body: [{ type: "TextBlock", text: "**disk** is at 91 % & rising", wrap: true }],
      },
    });
  });

  test.each([
    [200, "1", "delivered"],
    [200, "Webhook message delivery failed with error: 413", "unknown"],
    [429, "", "retry"],
    [404, "The workflow was not found", "refused"],
  ])("an older connector's %i %s is %s", async (status, body, kind) => {
    const server = await answering(status, body);
    expect((await platform("teams", { webhook: server.url }).send(request, never)).kind).toBe(kind);
  });
});

test("google chat: text, a thread with Google's own fallback, and the message's name as receipt", async () => {
  const server = await answering(200, { name: "spaces/A/messages/B" });
  const adapter = platform("googlechat", { webhooks: { ops: { url: `${server.url}?key=k&token=t` } } });

  expect(
    await adapter.send(requestTo({ platform: "googlechat", chat: "ops", thread: "nightly" }), never),
  ).toMatchObject({
    kind: "delivered",
    receipt: { id: "spaces/A/messages/B" },
  });
  const url = new URL(server.received[0]!.path!, "http://x");
  expect(Object.fromEntries(url.searchParams)).toMatchObject({
    key: "k",
    token: "t",
    messageReplyOption: "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD",
  });
  expect(json(server.received[0]).thread).toEqual({ threadKey: "nightly" });
});

describe("feishu", () => {
  const send = (url: string) =>
    platform("feishu", { webhook: url, secret: "s3cret" }).send(
      requestTo({ platform: "feishu", chat: "default" }),
      never,
    );

  test("a signed card: the signature's key is the timestamp and the secret, over nothing", async () => {
    const server = await answering(200, { code: 0, msg: "success", data: {} });

    expect(await send(server.url)).toMatchObject({ kind: "delivered" });
    const body = json(server.received[0]);
    const timestamp = String(START / 1_000);
    expect(body).toMatchObject({
      timestamp,
      sign: createHmac("sha256", `${timestamp}\ns3cret`).digest("base64"),
      msg_type: "interactive",
    });
    expect(body.card.body.elements).toEqual([{ tag: "markdown", content: "**disk** is at 91 % & rising" }]);
  });

  test.each([
    [{ code: 11_232, msg: "frequency limited" }, "retry"],
    [{ code: 19_021, msg: "sign match fail" }, "refused"],
    [{ hello: 1 }, "unknown"],
  ])("%j with status 200 is %s", async (answer, kind) => {
    expect((await send((await answering(200, answer)).url)).kind).toBe(kind);
  });
});

describe("dingtalk", () => {
  const send = (url: string) =>
    platform("dingtalk", { webhook: url, secret: "SECs3cret" }).send(
      requestTo({ platform: "dingtalk", chat: "default" }),
      never,
    );

  test("signed in the URL, Markdown with a title, nobody rung", async () => {
    const server = await answering(200, { errcode: 0, errmsg: "ok" });

    expect(await send(`${server.url}?access_token=t`)).toMatchObject({ kind: "delivered" });
    const url = new URL(server.received[0]!.path!, "http://x");
    expect(url.searchParams.get("access_token")).toBe("t");
    expect(url.searchParams.get("sign")).toBe(
      createHmac("sha256", "SECs3cret").update(`${START}\nSECs3cret`).digest("base64"),
    );
    expect(json(server.received[0])).toEqual({
      msgtype: "markdown",
      markdown: { title: "disk is at 91 % & rising", text: "**disk** is at 91 % & rising" },
      at: { isAtAll: false },
    });
  });

  test.each([
    [{ errcode: 130_101, errmsg: "send too fast" }, "retry"],
    [{ errcode: 310_000, errmsg: "keywords not in content" }, "refused"],
  ])("%j with status 200 is %s", async (answer, kind) => {
    expect((await send((await answering(200, answer)).url)).kind).toBe(kind);
  });
});

test.each([
  [{ errcode: 0, errmsg: "ok" }, "delivered"],
  [{ errcode: 45_009, errmsg: "api freq out of limit" }, "retry"],
  [{ errcode: 93_000, errmsg: "invalid webhook url" }, "refused"],
])("wecom: %j is %s", async (answer, kind) => {
  const server = await answering(200, answer);
  const adapter = platform("wecom", { webhook: server.url });

  expect((await adapter.send(requestTo({ platform: "wecom", chat: "default" }), never)).kind).toBe(kind);
  expect(json(server.received[0])).toEqual({
    msgtype: "markdown",
    markdown: { content: "**disk** is at 91 % & rising" },
  });
});

test("ntfy: JSON to the server's root, the token as a bearer, an alert louder than a result", async () => {
  const server = await answering(200, { id: "n1", event: "message" });
  const adapter = platform("ntfy", { baseUrl: server.base, token: "tk_1" });

  expect(
    await adapter.send(requestTo({ platform: "ntfy", chat: "ops" }, { kind: "alert" }), never),
  ).toMatchObject({
    kind: "delivered",
    receipt: { id: "n1" },
  });
  expect(server.received[0]).toMatchObject({ method: "POST", path: "/" });
  expect(server.received[0]?.headers.authorization).toBe("Bearer tk_1");
  expect(json(server.received[0])).toEqual({
    topic: "ops",
    message: "disk is at 91 % & rising",
    title: "disk-watch",
    priority: 4,
  });
});

test("gotify: the application's token in its header, Markdown named as such", async () => {
  const server = await answering(200, { id: 25, appid: 1 });
  const adapter = platform("gotify", { baseUrl: `${server.base}/gotify`, token: "Atoken" });

  expect(await adapter.send(requestTo({ platform: "gotify", chat: "app" }), never)).toMatchObject({
    kind: "delivered",
    receipt: { id: "25" },
  });
  expect(server.received[0]).toMatchObject({ path: "/gotify/message" });
  expect(server.received[0]?.headers["x-gotify-key"]).toBe("Atoken");
  expect(json(server.received[0]).extras).toEqual({ "client::display": { contentType: "text/markdown" } });
});

describe("pushover", () => {
  const send = (base: string) =>
    platform("pushover", { token: "app", baseUrl: base }).send(
      requestTo({ platform: "pushover", chat: "ukey", thread: "phone" }),
      never,
    );

  test("a message to one device; the request's id is the receipt", async () => {
    const server = await answering(200, { status: 1, request: "r-1" });

    expect(await send(server.base)).toMatchObject({ kind: "delivered", receipt: { id: "r-1" } });
    expect(server.received[0]?.path).toBe("/1/messages.json");
    expect(json(server.received[0])).toMatchObject({
      token: "app",
      user: "ukey",
      device: "phone",
      priority: 0,
    });
  });

  test("a wrong user is final with Pushover's sentence; a used-up quota waits for nothing", async () => {
    const wrong = await answering(400, { status: 0, errors: ["user identifier is not valid"] });
    expect(await send(wrong.base)).toMatchObject({
      kind: "refused",
      error: expect.stringContaining("user identifier is not valid"),
    });
    expect((await send((await answering(429, { status: 0, errors: ["quota"] })).base)).kind).toBe("refused");
  });
});
