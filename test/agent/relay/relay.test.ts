// What the relay knows of each call, and that it knows no more.

import { describe, expect, test } from "vitest";
import { projectCall } from "../../../src/agent/relay/project-call.ts";
import { HOUR } from "../../../src/kernel/time.ts";
import type { ModelCallRecord } from "../../../src/records/model.ts";
import { callTools, fail, makeGate, say, stallAfter, startModelServer } from "../../support/model-server.ts";
import { asks, calling, chainOf, portFor, START, scripted } from "../models/ports.ts";
import { watch } from "./ways.ts";

describe("S4: a record", () => {
  test("holds id, run, role, model, attempts, first token, end, usage and cost of one logical call", async () => {
    const gate = makeGate();
    const server = await startModelServer([
      fail(500),
      say(["a", "b"], { gate, usage: { input: 100, output: 10 } }),
    ]);
    const { call, clock } = portFor(chainOf({ main: scripted(server) }));
    const relay = watch(call, clock);
    const firstPiece = new Promise<void>((resolve) => {
      void relay.call(asks("Go."), calling({ onChunk: () => resolve() })).then(() => ended());
    });
    let ended = () => {};
    const end = new Promise<void>((resolve) => {
      ended = resolve;
    });
    await clock.whenSleeping();
    await clock.advance(1_100);
    await gate.whenWaiting();
    await clock.advance(400);
    gate.release();
    await firstPiece;
    await clock.advance(500);
    gate.open();
    await end;
    expect(relay.records).toEqual([
      {
        id: "call-1",
        runId: "run-1",
        rootId: "root-1",
        role: "primary",
        model: "main",
        provider: "openai-compatible",
        isStreaming: true,
        startedAt: START,
        attempts: 2,
        firstTokenMs: 1_500,
        durationMs: 2_000,
        end: "done",
        usage: { inputTokens: 100, outputTokens: 10, cachedInputTokens: 0, reasoningTokens: 0 },
        costUsd: expect.closeTo(0.0003, 9),
        errorClass: undefined,
      },
    ]);
  });

  test("of a failed call has its class; of a call that fell back, the model that answered and all attempts", async () => {
    const server = await startModelServer([fail(400), fail(401), say("x")]);
    const { call, clock } = portFor(
      chainOf({ main: scripted(server), spare: scripted(server, { stream: false }) }),
    );
    const relay = watch(call, clock);
    await expect(relay.call(asks("1"), calling())).rejects.toThrow();
    await relay.call(asks("2"), calling({ role: "auxiliary" }));
    expect(relay.records).toMatchObject([
      { end: "failed", errorClass: "invalidRequest", attempts: 1, model: "main", firstTokenMs: undefined },
      { end: "done", role: "auxiliary", attempts: 2, model: "spare", isStreaming: false },
    ]);
  });

  test("of a cancelled call says so, and what it cost by estimate", async () => {
    const server = await startModelServer([stallAfter("Some words that were said.")]);
    const { call, clock } = portFor(chainOf({ main: scripted(server) }));
    const relay = watch(call, clock);
    const stop = new AbortController();
    const reason = new Error("stop");
    const options = calling({ signal: stop.signal, onChunk: () => stop.abort(reason) });
    await expect(relay.call(asks("Go."), options)).rejects.toBe(reason);
    expect(relay.records).toMatchObject([{ end: "cancelled", errorClass: "cancelled", attempts: 1 }]);
    expect(relay.records[0]?.usage.outputTokens).toBeGreaterThan(3);
  });

  test("comes before the caller learns of the end, for each of many calls side by side", async () => {
    const server = await startModelServer(() => say("x"));
    const { call, clock } = portFor(chainOf({ main: scripted(server) }));
    const relay = watch(call, clock);
    const known = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        await relay.call(asks(`${index}`), calling());
        return relay.records.length;
      }),
    );
    expect(Math.min(...known)).toBeGreaterThan(0);
    expect(new Set(relay.records.map(({ id }) => id)).size).toBe(20);
  });
});

describe("S4: a sink that breaks", () => {
  test("is let go after the first failure, and reported once", async () => {
    const server = await startModelServer(() => say("x"));
    const { call, clock } = portFor(chainOf({ main: scripted(server) }));
    let taken = 0;
    const relay = watch(call, clock, () => {
      taken++;
      throw new Error("disk full");
    });
    for (let index = 0; index < 3; index++) await relay.call(asks("x"), calling());
    expect(taken).toBe(1);
    expect(relay.reports).toEqual([new Error("disk full")]);
  });

  test("that hangs is waited for 2 s at a run's end, not longer, and no timer is left", async () => {
    const server = await startModelServer([say("x")]);
    const { call, clock } = portFor(chainOf({ main: scripted(server) }));
    const relay = watch(call, clock, () => new Promise(() => {}));
    await relay.call(asks("x"), calling());
    const settled = relay.settled();
    await clock.advance(1_999);
    expect(relay.reports).toEqual([]);
    await clock.advance(1);
    await settled;
    expect(relay.reports).toHaveLength(1);
    expect(clock.sleeping()).toBe(0);
  });

  test("that takes its time is waited for at a run's end", async () => {
    const server = await startModelServer([say("x")]);
    const { call, clock } = portFor(chainOf({ main: scripted(server) }));
    let take = () => {};
    const relay = watch(
      call,
      clock,
      () =>
        new Promise((resolve) => {
          take = resolve;
        }),
    );
    await relay.call(asks("x"), calling());
    let isSettled = false;
    const settled = relay.settled().then(() => {
      isSettled = true;
    });
    await clock.advance(100);
    expect(isSettled).toBe(false);
    take();
    await settled;
    expect(relay.reports).toEqual([]);
    expect(clock.sleeping()).toBe(0);
  });

  test("includes a relay whose own clock or ids are broken: the call goes on unwatched", async () => {
    const server = await startModelServer(() => say("x"));
    const { call, clock } = portFor(chainOf({ main: scripted(server) }));
    const broken = {
      ...clock,
      monotonicMs: () => {
        throw new Error("no clock");
      },
    };
    const relay = watch(call, broken);
    expect((await relay.call(asks("x"), calling())).text).toBe("x");
    expect((await relay.call(asks("x"), calling())).text).toBe("x");
    expect(relay.reports).toHaveLength(1);
  });
});

describe("S4: what metrics learn", () => {
  const record: ModelCallRecord = {
    id: "call-1",
    runId: "run-1",
    rootId: "root-1",
    role: "primary",
    model: "main",
    provider: "anthropic",
    isStreaming: true,
    startedAt: START + 12 * 60_000,
    attempts: 2,
    firstTokenMs: 300,
    durationMs: 900.4,
    end: "failed",
    usage: { inputTokens: 10, outputTokens: 5, cachedInputTokens: 2, reasoningTokens: 1 },
    costUsd: 0.00007,
    errorClass: "server",
  };

  test("is the hour, a few known words, and numbers", () => {
    expect(projectCall(record, ["main"])).toEqual({
      hour: Math.floor(START / HOUR) * HOUR,
      model: "main",
      provider: "anthropic",
      role: "primary",
      end: "failed",
      errorClass: "server",
      calls: 1,
      attempts: 2,
      inputTokens: 10,
      outputTokens: 5,
      cachedInputTokens: 2,
      microUsd: 70,
      unpricedCalls: 0,
      totalMs: 900,
      firstTokenMs: 300,
      firstTokens: 1,
    });
  });

  test("canary: no prompt, reply, path, key, address or error text gets there, whatever a record holds", () => {
    const canary = "CANARY /home/anna/.ssh/id_rsa sk-ant-secret https://internal.example Please summarise";
    const poisoned = Object.fromEntries(
      Object.entries({ ...record, prompt: "", error: "", baseUrl: "" }).map(([key, value]) => [
        key,
        typeof value === "number"
          ? canary
          : typeof value === "object"
            ? { inputTokens: canary, note: canary }
            : canary,
      ]),
    ) as unknown as ModelCallRecord;
    const row = projectCall(poisoned, ["main"]);
    expect(JSON.stringify(row)).not.toMatch(/CANARY|anna|secret|internal|summarise/);
    expect(row).toMatchObject({
      model: "other",
      provider: "other",
      role: "auxiliary",
      end: "failed",
      errorClass: "other",
    });
  });

  test("canary: a real call with secrets in prompt, reply, key and error leaves none of them in record or row", async () => {
    const server = await startModelServer([
      callTools([{ name: "look", arguments: { at: "CANARY-ARGUMENT" } }], { text: "CANARY-REPLY" }),
      fail(400, { message: "CANARY-ERROR" }),
    ]);
    const config = scripted(server, { key: "${env:OWN}", id: "CANARY-ID" });
    const { call, clock } = portFor(chainOf({ main: config }, { OWN: "CANARY-KEY" }));
    const relay = watch(call, clock);
    await relay.call(asks("CANARY-PROMPT"), calling());
    await expect(relay.call(asks("CANARY-PROMPT"), calling())).rejects.toThrow("CANARY-ERROR");
    expect(relay.records).toHaveLength(2);
    const kept = JSON.stringify([relay.records, relay.records.map((one) => projectCall(one, ["main"]))]);
    expect(kept).not.toContain("CANARY");
    expect(kept).not.toContain("127.0.0.1");
  });
});
