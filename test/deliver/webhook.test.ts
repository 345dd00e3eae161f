// The webhook adapter against real servers on loopback. What a row does with each answer is decide-try.test.ts.

import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { makeWebhookAdapter, type WebhookOptions } from "../../src/deliver/adapters/webhook.ts";
import { isFault } from "../../src/kernel/errors.ts";
import type { SendRequest, Target } from "../../src/records/delivery.ts";
import { manualClock } from "../support/clock.ts";
import { requestTo, START } from "./fixtures.ts";
import { deadPort, serve } from "./loopback.ts";

const clock = manualClock(START);
const never = new AbortController().signal;

function adapter(options: Partial<WebhookOptions> = {}) {
  return makeWebhookAdapter({ clock, allowPrivate: ["127.0.0.1"], ...options });
}

const request = (target: Partial<Target>, changes: Partial<SendRequest> = {}) =>
  requestTo(
    { platform: "webhook", ...target },
    { body: "disk 91 %", idempotencyKey: "a1b2c3d4", ...changes },
  );

/** Independent of our code: the recipe of the Standard Webhooks specification. */
function verify(secret: string, headers: Record<string, unknown>, body: string): boolean {
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  const expected = createHmac("sha256", key).update(signed, "utf8").digest("base64");
  return String(headers["webhook-signature"])
    .split(" ")
    .some((part) => part === `v1,${expected}`);
}

describe("a webhook that answers", () => {
  test("gets the document as JSON, and a 2xx with an id header is the receipt", async () => {
    const server = await serve((response) => response.writeHead(202, { "x-request-id": "r-7" }).end());

    const result = await adapter().send(request({ url: server.url }), never);

    expect(result).toEqual({ kind: "delivered", receipt: { status: 202, id: "r-7", at: START } });
    expect(server.received).toHaveLength(1);
    expect(server.received[0]).toMatchObject({ method: "POST", path: "/in" });
    expect(server.received[0]?.headers).toMatchObject({
      "content-type": "application/json; charset=utf-8",
      "idempotency-key": "a1b2c3d4",
    });
    expect(JSON.parse(server.received[0]!.body)).toEqual({
      type: "nightshift.result",
      id: "a1b2c3d4",
      kind: "result",
      jobId: "disk-watch",
      runId: "run-1",
      text: "disk 91 %",
      createdAt: "2026-11-29T06:00:00Z",
    });
  });

  test("without a secret it is unsigned; with one, an independent verifier accepts it and a changed body fails", async () => {
    const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
    const server = await serve((response) => response.writeHead(204).end());

    await adapter().send(request({ url: server.url }), never);
    await adapter({ secret }).send(request({ url: server.url }, { body: "ä 😀" }), never);

    const [plain, signed] = server.received;
    expect(plain?.headers["webhook-signature"]).toBeUndefined();
    expect(signed?.headers["webhook-timestamp"]).toBe(String(START / 1_000));
    expect(verify(secret, signed!.headers, signed!.body)).toBe(true);
    expect(verify(secret, signed!.headers, `${signed!.body} `)).toBe(false);
  });

  test("O3: a second try has the same key, id and body", async () => {
    const server = await serve((response) => response.writeHead(500).end());
    const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

    await adapter({ secret }).send(request({ url: server.url }), never);
    await adapter({ secret }).send(request({ url: server.url }, { attempt: 2 }), never);

    const [first, second] = server.received;
    expect(second?.body).toBe(first?.body);
    expect(second?.headers["idempotency-key"]).toBe(first?.headers["idempotency-key"]);
    expect(second?.headers["webhook-id"]).toBe(first?.headers["webhook-id"]);
  });

  test.each([
    [400, "refused"],
    [401, "refused"],
    [404, "refused"],
    [410, "refused"],
    [408, "retry"],
    [425, "retry"],
    [429, "retry"],
    [500, "retry"],
    [502, "retry"],
    [503, "retry"],
  ])("status %i is %s", async (status, kind) => {
    const server = await serve((response) => response.writeHead(status).end("no  such\nhook"));

    const result = await adapter().send(request({ url: server.url }), never);

    expect(result).toEqual({ kind, error: `127.0.0.1:${server.port} answered ${status}: no such hook` });
  });

  test.each([
    ["120", 120_000],
    [new Date(START + 90_000).toUTCString(), 90_000],
    [new Date(START - 90_000).toUTCString(), 0],
    ["soon", undefined],
    ["-5", undefined],
  ])("Retry-After: %s is obeyed", async (header, afterMs) => {
    const server = await serve((response) => response.writeHead(429, { "retry-after": header }).end());

    const result = await adapter().send(request({ url: server.url }), never);

    expect(result).toMatchObject({ kind: "retry" });
    expect("afterMs" in result ? result.afterMs : undefined).toBe(afterMs);
  });

  test("a huge error page is not read to its end, and 500 characters are kept", async () => {
    let written = 0;
    const server = await serve((response) => {
      response.writeHead(500);
      const page = Buffer.alloc(64 * 1024 * 1024, "x");
      const pump = () => {
        while (written < page.length) {
          const chunk = page.subarray(written, written + 16_384);
          written += chunk.length;
          if (!response.write(chunk)) return void response.once("drain", pump);
        }
        response.end();
      };
      pump();
    });

    const result = await adapter().send(request({ url: server.url }), never);

    expect(result.kind).toBe("retry");
    expect("error" in result && result.error).toHaveLength(500);
    expect(written).toBeLessThan(32 * 1024 * 1024);
  });

  test("a 2xx whose body never ends is still a receipt", async () => {
    const server = await serve((response) => void response.writeHead(200).write("{"));

    expect(await adapter().send(request({ url: server.url }), never)).toMatchObject({ kind: "delivered" });
  });

  test("a named webhook has its own url, secret and headers", async () => {
    const server = await serve((response) => response.writeHead(200).end());
    const named = { ops: { url: server.url, headers: { Authorization: "Bearer t0ken" } } };

    await adapter({ named }).send(request({ chat: "ops" }), never);

    expect(server.received[0]?.headers.authorization).toBe("Bearer t0ken");
    expect(adapter({ named }).refuses?.(request({ chat: "nobody" }).target)).toBe(
      'no webhook is called "nobody" (configured: ops)',
    );
  });

  test.each([
    ["a short secret", { secret: "whsec_c2hvcnQ=" }],
    ["a secret without its prefix", { secret: Buffer.alloc(32).toString("base64") }],
    ["credentials in a url", { named: { ops: { url: "https://ada:pw123456@example.org" } } }],
    [
      "a header that breaks the request",
      { named: { ops: { url: "https://example.org", headers: { "X-A": "a\r\nb" } } } },
    ],
    [
      "a header of the connection",
      { named: { ops: { url: "https://example.org", headers: { Host: "b" } } } },
    ],
    ["an unreadable network", { allowPrivate: ["10.0.0.0/40"] }],
  ])("%s is refused when the node starts, without repeating the secret", (_name, options) => {
    try {
      adapter(options);
    } catch (error) {
      expect(isFault(error) && error.code).toBe("config.invalid");
      expect(String(error)).not.toMatch(/c2hvcnQ|pw123456/);
      return;
    }
    throw new Error("accepted");
  });
});

describe("a webhook that does not answer", () => {
  test("a refused connection has sent nothing: try again", async () => {
    const port = await deadPort();

    const result = await adapter().send(request({ url: `http://127.0.0.1:${port}/in` }), never);

    expect(result).toMatchObject({ kind: "retry", error: expect.stringContaining("ECONNREFUSED") });
  });

  test("PR 10361: a server that takes the request and hangs is unknown after 15 s, not failed", async () => {
    const server = await serve(() => {});
    const sending = adapter().send(request({ url: server.url }), never);
    await server.nextRequest();

    await clock.advance(15_000);

    expect(await sending).toEqual({
      kind: "unknown",
      error: `127.0.0.1:${server.port}: no answer within 15s`,
    });
    expect(clock.sleeping()).toBe(0);
  });

  test("58818: a connection cut between request and answer is unknown", async () => {
    const server = await serve((_response, { socket }) => void socket.destroy());

    expect(await adapter().send(request({ url: server.url }), never)).toMatchObject({ kind: "unknown" });
  });

  test("an answer cut in the middle of its body keeps its status", async () => {
    const server = await serve((response, { socket }) => {
      response.writeHead(500, { "content-length": "100" });
      response.write("half", () => socket.destroySoon());
    });

    expect(await adapter().send(request({ url: server.url }), never)).toEqual({
      kind: "retry",
      error: `127.0.0.1:${server.port} answered 500: half`,
    });
  });

  test("a stop while the server thinks is unknown, and no timer stays behind", async () => {
    const server = await serve(() => {});
    const stopping = new AbortController();
    const sending = adapter().send(request({ url: server.url }), stopping.signal);
    await server.nextRequest();

    stopping.abort(new Error("the outbox stopped"));

    expect(await sending).toMatchObject({
      kind: "unknown",
      error: expect.stringContaining("the outbox stopped"),
    });
    expect(clock.sleeping()).toBe(0);
  });

  test("a name server that hangs is given up in time, and nothing was sent", async () => {
    let onAsked = () => {};
    const asked = new Promise<void>((resolve) => {
      onAsked = resolve;
    });
    const lookup = () => {
      onAsked();
      return new Promise<never>(() => {});
    };
    const sending = adapter({ lookup }).send(request({ url: "http://slow.example/in" }), never);
    await asked;

    await clock.advance(15_000);

    expect(await sending).toMatchObject({
      kind: "retry",
      error: expect.stringContaining("no answer within 15s"),
    });
  });
});
