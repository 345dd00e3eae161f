// Sessions that nobody ends: they go when they are too old or too many, without a timer.

import { expect, onTestFinished, test } from "vitest";
import { DAY, HOUR } from "../../src/kernel/time.ts";
import { type McpHttp, makeMcpHttp } from "../../src/mcp/serve-http.ts";
import { manualClock } from "../support/clock.ts";
import { testContext } from "../support/home.ts";

const HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };

async function open(mcp: McpHttp): Promise<string> {
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } };
  const answer = await send(mcp, { jsonrpc: "2.0", id: 1, method: "initialize", params });
  return answer.headers.get("mcp-session-id") ?? "";
}

async function send(mcp: McpHttp, message: object, session?: string): Promise<Response> {
  const headers = { ...HEADERS, ...(session !== undefined && { "mcp-session-id": session }) };
  const answer = await mcp.handle(
    new Request("http://127.0.0.1/mcp", { method: "POST", headers, body: JSON.stringify(message) }),
    undefined,
  );
  await answer.text();
  return answer;
}

async function statusOf(mcp: McpHttp, session: string): Promise<number> {
  return (await send(mcp, { jsonrpc: "2.0", id: 2, method: "ping" }, session)).status;
}

async function served(): Promise<{ mcp: McpHttp; advance(ms: number): Promise<void> }> {
  const clock = manualClock(Date.parse("2026-11-29T06:00:00Z"));
  const mcp = await makeMcpHttp(await testContext({ clock }));
  onTestFinished(() => mcp.close());
  return { mcp, advance: (ms) => clock.advance(ms) };
}

test("a session that was idle for a day is gone; one that was used is not", async () => {
  const { mcp, advance } = await served();
  const [idle, used] = [await open(mcp), await open(mcp)];
  await advance(DAY - HOUR);
  expect(await statusOf(mcp, used)).toBe(200);
  await advance(2 * HOUR);
  await open(mcp);
  expect([await statusOf(mcp, idle), await statusOf(mcp, used)]).toEqual([404, 200]);
});

test("the hundred sessions used last are kept", async () => {
  const { mcp, advance } = await served();
  const first = await open(mcp);
  const second = await open(mcp);
  for (let n = 0; n < 98; n++) {
    await advance(1);
    await open(mcp);
  }
  expect(await statusOf(mcp, first)).toBe(200);
  await advance(1);
  await open(mcp);
  expect([await statusOf(mcp, first), await statusOf(mcp, second)]).toEqual([200, 404]);
});

test("what comes while the node stops is told so, and a second close is the same", async () => {
  const { mcp } = await served();
  const session = await open(mcp);
  await Promise.all([mcp.close(), mcp.close()]);
  expect([await statusOf(mcp, session), (await send(mcp, {})).status]).toEqual([503, 503]);
});
