// One call, whatever its tool does: told about while it lasts, redacted, and never the end of the session.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { expect, onTestFinished, test } from "vitest";
import type { Session } from "../../src/app/agent-tools/session.ts";
import { Fault } from "../../src/kernel/errors.ts";
import { SECOND } from "../../src/kernel/time.ts";
import { makeServer } from "../../src/mcp/make-server.ts";
import * as sdk from "../../src/mcp/sdk.ts";
import type { Tool, ToolContext, ToolResult } from "../../src/records/tool.ts";
import { type ManualClock, manualClock } from "../support/clock.ts";
import { testContext } from "../support/home.ts";

type Work = (context: ToolContext) => Promise<ToolResult>;

/** A client whose only tool does `work`. */
async function clientOf(work: Work): Promise<{ client: Client; clock: ManualClock }> {
  const clock = manualClock(Date.parse("2026-11-29T06:00:00Z"));
  const context = {
    ...(await testContext({ clock })),
    redact: (text: string) => text.replaceAll("hunter2", "[redacted]"),
  };
  const tool: Tool = {
    ...{ name: "work", toolset: "test", description: "Works.", parameters: { type: "object" } },
    isParallelSafe: true,
    prepare: () => ({ ok: true, call: { summary: "work", run: work } }),
  };
  const session: Session = {
    id: "session",
    tools: () => [tool],
    originOf: () => ({ origin: undefined, problem: undefined }),
    close: async () => {},
  };
  const [near, far] = InMemoryTransport.createLinkedPair();
  const { server } = makeServer(sdk, session, context);
  await server.connect(far);
  const client = new Client({ name: "test", version: "1" });
  await client.connect(near);
  onTestFinished(() => client.close());
  return { client, clock };
}

test("a client that asks for progress hears a sign of life every five seconds, not more", async () => {
  const told: string[] = [];
  const { begun, finish, work } = workByHand();
  const { client, clock } = await clientOf(work);
  const call = client.callTool({ name: "work" }, undefined, {
    onprogress: ({ message }) => void told.push(message ?? ""),
  });
  const { touch } = await begun;
  for (let second = 0; second <= 11; second++) {
    touch(`at ${second} s`);
    await clock.advance(SECOND);
  }
  finish();
  expect(await call).toMatchObject({ isError: false });
  expect(told).toEqual(["at 5 s", "at 10 s"]);
});

/** Work that a test watches begin, and ends. */
function workByHand(): { begun: Promise<ToolContext>; finish(): void; work: Work } {
  let begin = (_context: ToolContext) => {};
  let finish = () => {};
  const begun = new Promise<ToolContext>((resolve) => {
    begin = resolve;
  });
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const work: Work = async (context) => {
    begin(context);
    await finished;
    return { error: null };
  };
  return { begun, finish: () => finish(), work };
}

test("law 7: what a tool says is redacted in both forms, keys and errors too", async () => {
  const { client } = await clientOf(async () => ({
    error: "hunter2 is wrong",
    deep: [{ hunter2: "a hunter2 b" }],
  }));
  const answer = await client.callTool({ name: "work" });
  expect(answer).toMatchObject({
    isError: true,
    structuredContent: { error: "[redacted] is wrong", deep: [{ "[redacted]": "a [redacted] b" }] },
  });
  expect(JSON.stringify(answer)).not.toContain("hunter2");
});

test.each<[string, () => Error, object]>([
  [
    "a broken store is said with what to do",
    () => new Fault("store.full", "The disk is full.", { hint: "Free some space." }),
    { code: "store.full", error: "The disk is full. Free some space.", hint: "Free some space." },
  ],
  ["a bug is an answer, not the end", () => new Error("x is undefined"), { code: "internal" }],
])("%s", async (_what, error, expected) => {
  const { client } = await clientOf(() => Promise.reject(error()));
  expect(await client.callTool({ name: "work" })).toMatchObject({
    isError: true,
    structuredContent: expected,
  });
  expect((await client.listTools()).tools).toHaveLength(1);
});

test("a call that its client cancels is told so: its signal aborts", async () => {
  let arrive = () => {};
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  let notice = () => {};
  const aborted = new Promise<void>((resolve) => {
    notice = resolve;
  });
  const { client } = await clientOf(async ({ signal }) => {
    signal.addEventListener("abort", () => notice());
    arrive();
    await aborted;
    return { error: "cancelled" };
  });
  const cancel = new AbortController();
  const call = client.callTool({ name: "work" }, undefined, { signal: cancel.signal });
  await arrived;
  cancel.abort("enough");
  await expect(call).rejects.toThrow(/enough/);
  await aborted;
});
