// What counts as life of an agent, in words a time-out can say, and what does not.

import { describe, expect, test } from "vitest";
import { MINUTE, SECOND } from "../../../src/kernel/time.ts";
import { call, openWorld, reply, tool, type World } from "./scripted-model.ts";

/** The idle watch as a node has it: aborts when nothing was touched for `limitMs`, with the last activity. */
async function watch(world: World, limitMs: number, isOver: () => boolean): Promise<void> {
  let seen = world.touches.length;
  let silentSince = world.clock.now();
  while (!isOver()) {
    if (world.touches.length > seen) {
      seen = world.touches.length;
      silentSince = world.clock.now();
    }
    if (world.clock.now() - silentSince >= limitMs) {
      const lastActivity = world.touches.at(-1) ?? "";
      return world.abort({ kind: "idleTimeout", limitMs, lastActivity, lastActivityAt: silentSince });
    }
    await world.clock.advance(SECOND);
  }
}

/** Sleeps on the world's clock until aborted. */
const pause = (world: World, ms: number, signal: AbortSignal) => world.clock.sleep(ms, signal);

describe("L14: activity of an agent", () => {
  test("is told with the turn, the model or tool, and what it was", async () => {
    const test1 = tool("terminal", (_value, { touch }) => {
      touch("output");
      touch("CPU time");
      return { error: null };
    });
    const world = openWorld(
      [
        { reasoning: "Hm.", text: "So.", toolCalls: [call("terminal", { value: "npm   test\n--all" })] },
        { text: "Done." },
      ],
      { tools: [test1] },
    );
    await world.run();
    expect(world.touches).toEqual([
      "turn 1, model main: reasoning",
      "turn 1, model main: text",
      "turn 1, model main: calls terminal",
      "turn 1, tool terminal (npm test --all): started",
      "turn 1, tool terminal (npm test --all): output",
      "turn 1, tool terminal (npm test --all): CPU time",
      "turn 1, tool terminal (npm test --all): ended",
      "turn 2, model main: text",
    ]);
  });

  test("a slow drip of tokens keeps a run alive for as long as it lasts", async () => {
    const world = openWorld([
      async (_request, { onChunk, signal }) => {
        for (let count = 0; count < 20; count++) {
          await pause(world, 9 * MINUTE, signal);
          onChunk?.({ kind: "text", text: "drop " });
        }
        return reply({ text: "drop ".repeat(20) });
      },
    ]);
    let isOver = false;
    const ending = world.run().finally(() => {
      isOver = true;
    });
    await watch(world, 10 * MINUTE, () => isOver);
    expect(await ending).toMatchObject({ reason: "answered" });
    expect(world.clock.now()).toBeGreaterThanOrEqual(180 * MINUTE);
  });

  test("a stall in the middle of a reply does not, and its last activity is what the time-out names", async () => {
    const world = openWorld([
      async (_request, { onChunk, signal }) => {
        onChunk?.({ kind: "text", text: "Half an ans" });
        await pause(world, 1_000 * MINUTE, signal);
        return reply({ text: "never" });
      },
    ]);
    let isOver = false;
    const ending = world.run().finally(() => {
      isOver = true;
    });
    await watch(world, 10 * MINUTE, () => isOver);
    expect(await ending).toMatchObject({ reason: "interrupted", text: "Half an ans" });
    expect(world.touches.at(-1)).toBe("turn 1, model main: text");
    expect(world.clock.now()).toBeLessThan(11 * MINUTE);
  });

  test("a tool that is silent times out, one that gives output does not", async () => {
    const build = tool("terminal", async (value, { touch, signal }) => {
      for (let count = 0; count < 5; count++) {
        await pause(world, 8 * MINUTE, signal);
        if (value === "loud") touch("output");
      }
      return { error: null };
    });
    const world = openWorld(
      [
        { toolCalls: [call("terminal", { value: "loud" })] },
        { toolCalls: [call("terminal", { value: "quiet" })] },
      ],
      { tools: [build] },
    );
    let isOver = false;
    const ending = world.run().finally(() => {
      isOver = true;
    });
    await watch(world, 10 * MINUTE, () => isOver);
    expect(await ending).toMatchObject({ reason: "interrupted", turns: 2 });
    expect(world.touches.at(-2)).toBe("turn 2, tool terminal (quiet): started");
  });

  test("waiting for a retry is none: the loop says nothing by itself", async () => {
    const world = openWorld([
      async (_request, { signal }) => {
        await pause(world, 20 * MINUTE, signal);
        return reply({ text: "late" });
      },
    ]);
    const ending = world.run();
    await world.clock.whenSleeping();
    expect(world.touches).toEqual([]);
    await world.clock.advance(20 * MINUTE);
    await ending;
  });

  test("holds no secret: it ends in the message of a time-out", async () => {
    const world = openWorld(
      [{ toolCalls: [call("echo", { value: "token s3cr3t-value" })] }, { text: "ok" }],
      {
        secrets: ["s3cr3t-value"],
      },
    );
    await world.run();
    expect(world.touches).toContain("turn 1, tool echo (token [redacted]): started");
    expect(world.touches.join()).not.toContain("s3cr3t");
  });
});
