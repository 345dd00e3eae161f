// SSRF: where a webhook may lead. Loopback servers stand for the private network; names are answered by the test.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { makeWebhookAdapter, type WebhookOptions } from "../../src/deliver/adapters/webhook.ts";
import { isPublicAddress, makeAllowAddress } from "../../src/kernel/private-addresses.ts";
import type { SendResult } from "../../src/records/delivery.ts";
import { manualClock } from "../support/clock.ts";
import { requestTo, START } from "./fixtures.ts";
import { serve } from "./loopback.ts";

const clock = manualClock(START);
const pem = (name: string) => readFileSync(new URL(`./tls/${name}.pem`, import.meta.url), "utf8");
const tls = { key: pem("key"), cert: pem("cert") };

function send(
  target: { url?: string; chat?: string },
  options: Partial<WebhookOptions> = {},
): Promise<SendResult> {
  const request = requestTo(
    { platform: "webhook", ...target },
    { body: "disk 91 %", idempotencyKey: "a1b2c3d4" },
  );
  return makeWebhookAdapter({ clock, ...options }).send(request, new AbortController().signal);
}

const answers = (...addresses: string[]) => {
  return () =>
    Promise.resolve(addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })));
};

describe("addresses", () => {
  test.each([
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:a00:1",
    "[::ffff:192.168.0.1]",
    "64:ff9b::10.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "not-an-address",
    "",
  ])("%s is not public", (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  test.each([
    "1.1.1.1",
    "9.255.255.255",
    "11.0.0.0",
    "100.128.0.1",
    "172.15.0.1",
    "172.32.0.1",
    "192.167.0.1",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001:80b::200e",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
  ])("%s is public", (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  test("what the configuration names is allowed, and nothing beside it", () => {
    const allow = makeAllowAddress(["10.0.0.0/8", "fd00::/8", "192.168.1.7", "Hooks.Internal"]);

    expect(allow("any.example", "10.9.9.9")).toBe(true);
    expect(allow("any.example", "::ffff:10.9.9.9")).toBe(true);
    expect(allow("any.example", "64:ff9b::10.9.9.9")).toBe(true);
    expect(allow("any.example", "fd12::1")).toBe(true);
    expect(allow("any.example", "192.168.1.7")).toBe(true);
    expect(allow("hooks.internal.", "127.0.0.1")).toBe(true);
    expect(allow("any.example", "192.168.1.8")).toBe(false);
    expect(allow("evil.hooks.internal", "127.0.0.1")).toBe(false);
  });
});

describe("a webhook into the private network", () => {
  test.each(["127.0.0.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "0"])(
    "http://%s is refused, and nothing is sent",
    async (host) => {
      const server = await serve((response) => response.writeHead(200).end());

      const result = await send({ url: `http://${host}:${server.port}/in` });

      expect(result).toMatchObject({ kind: "refused", error: expect.stringContaining("allowPrivate") });
      expect(server.received).toEqual([]);
    },
  );

  test("a name that leads there is refused, also when one public address stands beside the private one", async () => {
    const server = await serve((response) => response.writeHead(200).end());
    const url = `http://hooks.test:${server.port}/in`;

    for (const lookup of [
      answers("127.0.0.1"),
      answers("1.1.1.1", "127.0.0.1"),
      answers("::ffff:127.0.0.1"),
    ]) {
      expect(await send({ url }, { lookup })).toMatchObject({ kind: "refused" });
    }
    expect(server.received).toEqual([]);
  });

  test("the name is asked once and the connection goes to the judged address: rebinding cannot win", async () => {
    const server = await serve((response) => response.writeHead(200).end());
    let asked = 0;
    const lookup = () => {
      asked += 1;
      return answers("127.0.0.1")();
    };

    const result = await send(
      { url: `http://no-such-name.invalid:${server.port}/in` },
      { lookup, allowPrivate: ["127.0.0.1"] },
    );

    expect(result.kind).toBe("delivered");
    expect(asked).toBe(1);
    expect(server.received[0]?.headers.host).toBe(`no-such-name.invalid:${server.port}`);
  });

  test("a redirect is judged like the first url", async () => {
    const inside = await serve((response) => response.writeHead(200).end());
    const outside = await serve((response) => response.writeHead(307, { location: inside.url }).end());

    const result = await send(
      { url: `http://hooks.test:${outside.port}/in` },
      { lookup: answers("127.0.0.1"), allowPrivate: ["hooks.test"] },
    );

    expect(result).toMatchObject({
      kind: "refused",
      error: expect.stringContaining("a redirect was refused"),
    });
    expect(outside.received).toHaveLength(1);
    expect(inside.received).toEqual([]);
  });
});

describe("redirects", () => {
  const allowPrivate = ["127.0.0.1"];

  test.each([307, 308])("%i keeps the POST, its body and its key", async (status) => {
    const end = await serve((response) => response.writeHead(200).end());
    const start = await serve((response) => response.writeHead(status, { location: end.url }).end());

    expect(await send({ url: start.url }, { allowPrivate })).toMatchObject({ kind: "delivered" });
    expect(end.received[0]?.body).toBe(start.received[0]?.body);
    expect(end.received[0]?.method).toBe("POST");
    expect(end.received[0]?.headers["idempotency-key"]).toBe("a1b2c3d4");
  });

  test.each([301, 302, 303])("%i would turn the POST into a GET and is refused", async (status) => {
    const end = await serve((response) => response.writeHead(200).end());
    const start = await serve((response) => response.writeHead(status, { location: end.url }).end());

    expect(await send({ url: start.url }, { allowPrivate })).toMatchObject({
      kind: "refused",
      error: expect.stringContaining(`answered ${status}`),
    });
    expect(end.received).toEqual([]);
  });

  test("a circle ends after three", async () => {
    const server = await serve((response) => response.writeHead(307, { location: "/in" }).end());

    expect(await send({ url: server.url }, { allowPrivate })).toEqual({
      kind: "refused",
      error: "more than 3 redirects",
    });
    expect(server.received).toHaveLength(4);
  });

  test("a webhook's own headers do not follow to another origin", async () => {
    const end = await serve((response) => response.writeHead(200).end());
    const start = await serve((response) => response.writeHead(307, { location: end.url }).end());
    const named = { ops: { url: start.url, headers: { Authorization: "Bearer t0ken" } } };

    await send({ chat: "ops" }, { allowPrivate, named });

    expect(start.received[0]?.headers.authorization).toBe("Bearer t0ken");
    expect(end.received[0]?.headers.authorization).toBeUndefined();
  });
});

describe("https", () => {
  const options = { lookup: answers("127.0.0.1"), allowPrivate: ["127.0.0.1"] };

  test("a server with a certificate of one's own authority is reached by its name", async () => {
    const server = await serve((response) => response.writeHead(200).end(), tls);

    const result = await send({ url: `https://hooks.test:${server.port}/in` }, { ...options, ca: tls.cert });

    expect(result.kind).toBe("delivered");
  });

  test("an unknown certificate or another name is refused before anything is sent", async () => {
    const server = await serve((response) => response.writeHead(200).end(), tls);

    const unknown = await send({ url: `https://hooks.test:${server.port}/in` }, options);
    const misnamed = await send(
      { url: `https://other.test:${server.port}/in` },
      { ...options, ca: tls.cert },
    );

    expect([unknown.kind, misnamed.kind]).toEqual(["retry", "retry"]);
    expect(server.received).toEqual([]);
  });

  test("a redirect from https to http is refused", async () => {
    const plain = await serve((response) => response.writeHead(200).end());
    const server = await serve((response) => response.writeHead(307, { location: plain.url }).end(), tls);

    const result = await send({ url: `https://hooks.test:${server.port}/in` }, { ...options, ca: tls.cert });

    expect(result).toMatchObject({ kind: "refused", error: expect.stringContaining("from https to http") });
    expect(plain.received).toEqual([]);
  });
});
