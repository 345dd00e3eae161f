// Tool calls of a turn: what runs beside what, in which order results stand, and what an interrupt leaves.

import { describe, expect, test } from "vitest";
import type { ToolResult } from "../../../src/records/tool.ts";
import { call, openWorld, tool } from "./scripted-model.ts";

/** Resolves when the other `count - 1` have begun too: it can only end if they run side by side. */
function meeting(count: number) {
  const arrived: string[] = [];
  let open = () => {};
  const all = new Promise<void>((resolve) => {
    open = resolve;
  });
  return {
    arrived,
    async join(name: string): Promise<void> {
      arrived.push(name);
      if (arrived.length === count) open();
      await all;
    },
  };
}

describe("calls of one turn", () => {
  test("run side by side where they say it is safe, and results stand in call order", async () => {
    const { join } = meeting(3);
    const ends: string[] = [];
    const read = tool(
      "read",
      async (value) => {
        await join(value);
        // The last called ends first.
        for (let turn = 0; turn < 3 - Number(value); turn++) await Promise.resolve();
        ends.push(value);
        return { error: null, value };
      },
      { isParallelSafe: true },
    );
    const world = openWorld(
      [{ toolCalls: [1, 2, 3].map((n) => call("read", { value: `${n}` }, `c${n}`)) }, { text: "ok" }],
      { tools: [read] },
    );
    await world.run();
    expect(ends).toEqual(["3", "2", "1"]);
    expect(world.results().map((text) => JSON.parse(text).value)).toEqual(["1", "2", "3"]);
  });

  test("a call that changes something runs alone, and parts the safe ones around it", async () => {
    const log: string[] = [];
    const noting = (name: string, isParallelSafe: boolean) =>
      tool(
        name,
        async (value) => {
          log.push(`${value}+`);
          await new Promise((resolve) => setImmediate(resolve));
          log.push(`${value}-`);
          return { error: null };
        },
        { isParallelSafe },
      );
    const names = ["read", "read", "write", "write", "read"];
    const world = openWorld(
      [{ toolCalls: names.map((name, n) => call(name, { value: `${n}` }, `c${n}`)) }, { text: "ok" }],
      { tools: [noting("read", true), noting("write", false)] },
    );
    await world.run();
    expect(log).toEqual(["0+", "1+", "0-", "1-", "2+", "2-", "3+", "3-", "4+", "4-"]);
  });

  test("no more than the allowed number run at once", async () => {
    let running = 0;
    let most = 0;
    const read = tool(
      "read",
      async () => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        return { error: null };
      },
      { isParallelSafe: true },
    );
    const toolCalls = Array.from({ length: 20 }, (_, n) => call("read", { value: "x" }, `c${n}`));
    const world = openWorld([{ toolCalls }, { text: "ok" }], { tools: [read], limits: { parallelCalls: 3 } });
    await world.run();
    expect(most).toBe(3);
    expect(world.results()).toHaveLength(20);
  });

  test("a result is bounded, and the event says so and how large it is", async () => {
    const huge = tool("huge", () => ({ error: null, output: `head${"x".repeat(200_000)}tail` }));
    const world = openWorld([{ toolCalls: [call("huge", { value: "a" })] }, { text: "ok" }], {
      tools: [huge],
    });
    await world.run();
    const [text = ""] = world.results();
    expect(text.length).toBeLessThanOrEqual(50_000);
    expect(JSON.parse(text).output).toMatch(/^headx+[\s\S]*150,\d{3} characters left out[\s\S]*x+tail$/);
    expect(world.events.find(({ kind }) => kind === "tool-finished")).toMatchObject({
      isTruncated: true,
      resultBytes: Buffer.byteLength(text),
      error: null,
    });
  });

  test("results of one turn together leave room in a small context", async () => {
    const huge = tool("huge", () => ({ error: null, output: "x".repeat(90_000) }), { isParallelSafe: true });
    const toolCalls = [1, 2, 3, 4].map((n) => call("huge", { value: "a" }, `c${n}`));
    const world = openWorld([{ toolCalls }, { text: "ok" }], {
      tools: [huge],
      window: { contextLength: 16_000, maxOutputTokens: 1_000 },
    });
    await world.run();
    for (const text of world.results()) expect(text.length).toBeLessThanOrEqual(8_000);
  });

  test("secrets are hidden before a result is quoted or cut", async () => {
    const secret = 'pass"word\nwith quotes';
    const leak = tool("leak", () => ({ error: null, lines: [`x ${secret} y`], [secret]: 1 }));
    const world = openWorld(
      [{ toolCalls: [call("leak", { value: secret })] }, { text: `It is ${secret}.` }],
      {
        tools: [leak],
        secrets: [secret],
      },
    );
    const end = await world.run();
    expect(world.results()).toEqual(['{"error":null,"lines":["x [redacted] y"],"[redacted]":1}']);
    expect(end.text).toBe("It is [redacted].");
    const told = JSON.stringify([world.events, end, world.touches]);
    expect(told).not.toContain(secret.slice(0, 9));
    expect(told).not.toContain("with quotes");
  });

  test("what JSON cannot say is an error for the model, not the end of the run", async () => {
    const odd = tool("odd", () => ({ error: null, big: 10n }));
    const world = openWorld([{ toolCalls: [call("odd", { value: "a" })] }, { text: "ok" }], { tools: [odd] });
    expect(await world.run()).toMatchObject({ reason: "answered" });
    expect(world.results()).toEqual(['{"error":"The tool gave back something that JSON cannot say."}']);
  });
});

describe("an interrupt", () => {
  test("during a tool reaches the tool; what it gives back then is kept, later calls are not run", async () => {
    const partial = tool("work", (value, { signal }) =>
      value === "never"
        ? { error: "must not run" }
        : new Promise<ToolResult>((resolve) => {
            signal.addEventListener("abort", () => resolve({ error: "interrupted", output: "half" }), {
              once: true,
            });
            world.abort({ kind: "cancel", by: "someone" });
          }),
    );
    const world = openWorld(
      [
        {
          text: "On it.",
          toolCalls: [call("work", { value: "a" }, "1"), call("work", { value: "never" }, "2")],
        },
      ],
      { tools: [partial] },
    );
    const end = await world.run();
    expect(end).toMatchObject({
      reason: "interrupted",
      text: "On it.",
      turns: 1,
      why: "Interrupted in turn 1.",
    });
    expect(world.results()).toEqual([
      '{"error":"interrupted","output":"half"}',
      '{"error":"Not run: the run was interrupted before."}',
    ]);
    expect(world.kinds().slice(-2)).toEqual(["turn-finished", "agent-finished"]);
  });

  test("of a tool that does not stop is waited for a bounded time, and said", async () => {
    let lateTouch = () => {};
    const deaf = tool("deaf", (_value, context) => {
      lateTouch = () => context.touch("still there");
      world.abort({ kind: "idleTimeout", limitMs: 1, lastActivity: "-", lastActivityAt: 0 });
      return new Promise<ToolResult>(() => {});
    });
    const world = openWorld([{ toolCalls: [call("deaf", { value: "a" })] }], { tools: [deaf] });
    const ending = world.run();
    await world.clock.whenSleeping();
    await world.clock.advance(9_999);
    expect(world.results()).toEqual([]);
    await world.clock.advance(1);
    expect(await ending).toMatchObject({ reason: "interrupted" });
    expect(world.results()[0]).toContain("did not stop in time");
    expect(world.logs.map(({ event }) => event)).toEqual(["tool-left-behind"]);
    const told = world.touches.length;
    lateTouch();
    expect(world.touches).toHaveLength(told);
  });

  test("by a node in a hurry waits no longer than the node does", async () => {
    const deaf = tool("deaf", () => {
      world.abort({ kind: "nodeStopped", graceMs: 50 });
      return new Promise<ToolResult>(() => {});
    });
    const world = openWorld([{ toolCalls: [call("deaf", { value: "a" })] }], { tools: [deaf] });
    const ending = world.run();
    await world.clock.whenSleeping();
    await world.clock.advance(50);
    expect(await ending).toMatchObject({ reason: "interrupted" });
    expect(world.clock.sleeping()).toBe(0);
  });

  test("while the model answers keeps the partial answer", async () => {
    const world = openWorld([
      (_request, { onChunk, signal }) => {
        onChunk?.({ kind: "text", text: "Three of five" });
        world.abort({ kind: "cancel", by: "someone" });
        return Promise.reject(signal.reason);
      },
    ]);
    const end = await world.run();
    expect(end).toMatchObject({ reason: "interrupted", text: "Three of five", error: undefined });
  });

  test("that came before the first turn asks no model", async () => {
    const world = openWorld([]);
    world.abort({ kind: "cancel", by: "someone" });
    expect(await world.run()).toMatchObject({ reason: "interrupted", turns: 0, text: "" });
    expect(world.model.requests).toEqual([]);
  });

  test("leaves no timer behind when tools end by themselves", async () => {
    const world = openWorld([{ toolCalls: [call("echo", { value: "a" })] }, { text: "ok" }]);
    await world.run();
    expect(world.clock.sleeping()).toBe(0);
  });
});
