// MQTT against a real broker, and programs as targets.

import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Aedes } from "aedes";
import { describe, expect, onTestFinished, test } from "vitest";
import { deadPort } from "../loopback.ts";
import { never, platform, requestTo } from "./fixtures.ts";

async function broker() {
  const aedes = await Aedes.createBroker();
  const published: { topic: string; payload: string; qos: number }[] = [];
  aedes.on("publish", ({ topic, payload, qos }, client) => {
    if (client) published.push({ topic, payload: payload.toString(), qos });
  });
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    aedes.handle(socket);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => aedes.close(() => resolve()));
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });
  return { url: `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`, published, aedes, sockets };
}

describe("mqtt", () => {
  const request = requestTo({ platform: "mqtt", chat: "home/alerts" });

  test("one publish with QoS 1, acknowledged", async () => {
    const { url, published } = await broker();

    expect(await platform("mqtt", { url }).send(request, never)).toMatchObject({ kind: "delivered" });
    expect(published).toEqual([{ topic: "home/alerts", payload: request.body, qos: 1 }]);
  });

  test("a broker that takes the message and is cut before its answer is unknown; none at all is a retry", async () => {
    const { url, aedes, sockets } = await broker();
    aedes.authorizePublish = () => {
      for (const socket of sockets) socket.destroy();
    };

    expect(await platform("mqtt", { url }).send(request, never)).toMatchObject({ kind: "unknown" });

    const port = await deadPort();
    expect(await platform("mqtt", { url: `mqtt://127.0.0.1:${port}` }).send(request, never)).toMatchObject({
      kind: "retry",
    });
  });

  test("a topic with a wildcard is no address", () => {
    expect(platform("mqtt", { url: "mqtt://x" }).parseAddress("a/#")).toBeUndefined();
    expect(platform("mqtt", { url: "mqtt://x" }).parseAddress("a/b")).toEqual({ chat: "a/b" });
  });
});

describe("command", () => {
  function folder(): string {
    const path = mkdtempSync(join(tmpdir(), "nightshift-command-"));
    onTestFinished(() => rmSync(path, { recursive: true, force: true }));
    return path;
  }
  const request = requestTo({ platform: "command", chat: "keep" }, { body: "$(id) `id`\n; rm -rf ~" });
  const run = (script: string, signal = never) =>
    platform("command", { programs: { keep: ["/bin/sh", "-c", script] } }).send(request, signal);

  test("the program reads the message as it is, and learns its key", async () => {
    const place = folder();
    writeFileSync(
      join(place, "keep.sh"),
      `cat > '${place}/body'; printf %s "$NIGHTSHIFT_DELIVERY_KEY" > '${place}/key'`,
    );

    expect(await run(`. '${place}/keep.sh'`)).toMatchObject({
      kind: "delivered",
      receipt: { note: "exit 0" },
    });
    expect(readFileSync(join(place, "body"), "utf8")).toBe(request.body);
    expect(readFileSync(join(place, "key"), "utf8")).toBe(request.idempotencyKey);
  });

  test.each([
    ["exit 75", "retry"],
    ["echo no such room >&2; exit 1", "refused"],
    ["kill -9 $$", "unknown"],
  ])("%s is %s", async (script, kind) => {
    expect(await run(script)).toMatchObject({ kind });
  });

  test("a program that reads nothing, and one that is not there", async () => {
    expect(await run("exit 0")).toMatchObject({ kind: "delivered" });
    const missing = platform("command", { programs: { keep: ["/nonexistent/program"] } });
    expect(await missing.send(request, never)).toMatchObject({ kind: "refused" });
  });

  test("a stop ends its whole group, and what it did is unknown", async () => {
    const place = folder();
    const stopping = new AbortController();
    const running = run(
      `mkfifo '${place}/f'; echo $$ > '${place}/pid'; sleep 60 & cat '${place}/f'`,
      stopping.signal,
    );
    await waitForFile(join(place, "pid"));

    stopping.abort(new Error("the outbox stopped"));

    expect(await running).toEqual({ kind: "unknown", error: "the outbox stopped" });
    const pid = Number(readFileSync(join(place, "pid"), "utf8"));
    await waitForEnd(pid);
  });
});

async function waitForFile(path: string): Promise<void> {
  for (;;) {
    try {
      if (readFileSync(path, "utf8").endsWith("\n")) return;
    } catch {
      // Not yet.
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Killed members stay until somebody reaps them. */
async function waitForEnd(group: number): Promise<void> {
  try {
    for (;;) {
      process.kill(-group, 0);
      await new Promise((resolve) => setImmediate(resolve));
    }
  } catch {
    // Nobody is left.
  }
}
