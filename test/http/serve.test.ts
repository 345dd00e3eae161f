// The server's lifetime: where it binds, what it says of its health, and that it ends with nothing left open.

import { createServer, type Server } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { openHome, serve } from "./server.ts";

const NODE = {
  name: "test",
  hostId: "host",
  bootId: "boot",
  pid: process.pid,
  startTime: "0",
  version: "0",
  clockOffsetMs: 0,
  stoppingAt: undefined,
  stoppedAt: undefined,
  maxParallelRuns: 8,
  liveRuns: 0,
  url: undefined,
  lastError: undefined,
};

async function busyPort(): Promise<number> {
  const blocker: Server = createServer();
  await new Promise<void>((resolve) => blocker.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise<void>((resolve) => blocker.close(() => resolve())));
  const address = blocker.address();
  return typeof address === "object" && address ? address.port : 0;
}

describe("binding", () => {
  test("S5: a busy default port gives way to a free one, and the answer says which", async () => {
    const port = await busyPort();
    const { server, call } = await serve({ port });
    expect(new URL(server.url).port).not.toBe(String(port));
    expect((await call("GET", "/api/nodes")).status).toBe(200);
  });

  test("S5: a busy port that was asked for is refused, not replaced", async () => {
    const port = await busyPort();
    await expect(serve({ port, isPortFixed: true })).rejects.toMatchObject({
      code: "environment.broken",
      message: `Port ${port} on 127.0.0.1 is taken.`,
    });
  });

  test.each(["0.0.0.0", "::", "192.0.2.1", "example.org"])(
    "S5: %s is beyond loopback and refused without --insecure, before anything is bound",
    async (bind) => {
      await expect(serve({ bind })).rejects.toMatchObject({ code: "input.refused" });
    },
  );

  test("S5: with --insecure it is bound, an address is taken for ours and a foreign name is not", async () => {
    const { server, context } = await serve({ bind: "0.0.0.0", isInsecureAllowed: true });
    const { port } = new URL(server.url);
    const response = await fetch(`http://127.0.0.1:${port}/api/nodes`, {
      headers: { authorization: `Bearer ${context.home.token}` },
    });
    expect(response.status).toBe(200);
  });

  test("an address that is not this machine's is named", async () => {
    await expect(serve({ bind: "192.0.2.1", isInsecureAllowed: true })).rejects.toMatchObject({
      code: "environment.broken",
    });
  });
});

describe("health", () => {
  test("/healthz is open and says when the node last passed", async () => {
    const { server, node } = await serve({ withNode: true });
    const response = await fetch(`${server.url}/healthz`);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      status: "ok",
      nodeId: node?.id,
      version: "0.0.0-test",
      startedAt: expect.any(String),
      lastPassAt: expect.toSatisfy((at: unknown) => at === null || typeof at === "string"),
      liveRuns: 0,
    });
  });

  test("hermes#60703: a node that is alive but has not passed for over two minutes is unhealthy", async () => {
    const context = await openHome();
    const now = await context.ledger.now();
    const row = { ...NODE, startedAt: now - 600_000, lastSeenAt: now, lastPassAt: now - 121_000 };
    await context.ledger.registerNode({ ...row, id: "stuck" });
    await context.ledger.registerNode({ ...row, id: "fresh", lastPassAt: now - 60_000 });
    const health = async (nodeId: string) => {
      const { server } = await serve({ context, nodeId });
      const response = await fetch(`${server.url}/healthz`);
      return [response.status, ((await response.json()) as { status: string }).status];
    };
    expect(await health("stuck")).toEqual([503, "stuck"]);
    expect(await health("fresh")).toEqual([200, "ok"]);
    await context.ledger.updateNode("fresh", { stoppingAt: now });
    expect(await health("fresh")).toEqual([503, "stopping"]);
  });

  test("a ledger that cannot be read is an answer, not a crash", async () => {
    const context = await openHome();
    const { server } = await serve({ context });
    await context.close();
    const response = await fetch(`${server.url}/healthz`);
    expect([response.status, ((await response.json()) as { status: string }).status]).toEqual([
      503,
      "storeUnavailable",
    ]);
  });
});

describe("stopping", () => {
  test("stop twice at once ends one server, and the port is free again", async () => {
    const { server, context } = await serve();
    await Promise.all([server.stop(), server.stop()]);
    await expect(fetch(`${server.url}/healthz`)).rejects.toThrow();
    const port = Number(new URL(server.url).port);
    const again = await serve({ context, port, isPortFixed: true });
    expect(again.server.url).toBe(server.url);
  });

  test("a connection that is kept alive does not hold the stop", async () => {
    const { server, call, context } = await serve();
    await call("GET", "/api/nodes");
    const before = context.clock.monotonicMs();
    await server.stop();
    expect(context.clock.monotonicMs() - before).toBeLessThan(1_500);
  });

  test("an open event stream ends cleanly, and its reader sees the end, not a broken pipe", async () => {
    const { server, context } = await serve();
    const response = await fetch(`${server.url}/api/events`, {
      headers: { authorization: `Bearer ${context.home.token}` },
    });
    const text = response.text();
    const before = context.clock.monotonicMs();
    await server.stop();
    expect(await text).toBe("retry: 1000\nid: 0\n\n");
    expect(context.clock.monotonicMs() - before).toBeLessThan(1_500);
  });

  test("a HEAD request of the event stream, which nobody reads, does not hold the stop", async () => {
    const { server, call, context } = await serve();
    expect((await call("HEAD", "/api/events")).status).toBe(200);
    const before = context.clock.monotonicMs();
    await server.stop();
    expect(context.clock.monotonicMs() - before).toBeLessThan(1_500);
  });
});
