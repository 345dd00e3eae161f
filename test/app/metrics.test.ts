// What is counted, what a dump tells, and the log that a node keeps in memory.

import { describe, expect, test } from "vitest";
import { LogRing } from "../../src/app/log-ring.ts";
import { readMetrics } from "../../src/app/metrics.ts";
import { dumpMetrics } from "../../src/app/metrics-dump.ts";
import { metricsText } from "../../src/app/metrics-text.ts";
import { tickOnce } from "../../src/app/node.ts";
import { memoryLoop } from "../../src/app/node-memory.ts";
import { submitTask } from "../../src/app/workflows/submit.ts";
import { MINUTE, SECOND } from "../../src/kernel/time.ts";
import { manualClock } from "../support/clock.ts";
import { gated, WorkflowBench } from "./workflows/bench.ts";

test("queues and executors are counted: who waits, who runs, how attempts ended and how long they took", async () => {
  const gate = gated("slow", "none");
  const bench = await WorkflowBench.open([gate.executor], {
    config:
      "orchestrator: {retryPolicy: {max: 0}}\nqueues: {line: {concurrency: 1}, other: {concurrency: 2}}\n",
  });
  const { context, executors } = bench;
  const submit = (executor: string, queue: string, params = {}) =>
    submitTask({ context, executors }, { executor, params, queue });
  const { id } = await submit("echo", "other");
  await submit("echo", "other", { fail: "no" });
  await tickOnce({ context, executors });
  const node = await bench.node();
  await submit("slow", "line");
  const call = await gate.whenCalled(1);
  await submit("slow", "line");

  const document = await readMetrics(context, { since: 0 });

  expect(document.queues).toEqual([
    { queue: "line", waiting: 1, running: 1, width: 1 },
    { queue: "other", waiting: 0, running: 0, width: 2 },
  ]);
  expect(
    document.executors.map(({ executor, version, state, attempts }) => [executor, version, state, attempts]),
  ).toEqual([
    ["echo", null, "failed", 1],
    ["echo", null, "succeeded", 1],
  ]);
  const text = metricsText(document);
  expect(text).toContain('nightshift_queue_waiting{queue="line"} 1\n');
  expect(text).toContain('nightshift_queue_width{queue="other"} 2\n');
  expect(text).toContain('nightshift_executor_attempts{executor="echo",state="failed"} 1\n');
  const run = await context.ledger.run(id);
  const tookMs = run && "id" in run ? (run.finishedAt ?? 0) - (run.startedAt ?? 0) : -1;
  expect(text).toContain(
    `nightshift_executor_seconds{executor="echo",state="succeeded"} ${tookMs / 1_000}\n`,
  );
  call.end("done");
  await node.stop({ graceMs: 0 });
});

describe("metrics dump", () => {
  test("tells the store table by table, the largest first, and what a node's process holds, measured every half minute and told when it is news", async () => {
    const bench = await WorkflowBench.open();
    const node = await bench.node();
    const clock = manualClock(Date.now());
    let liveRuns = 3;
    const loop = memoryLoop({
      context: { ...bench.context, clock },
      nodeId: node.id,
      counts: () => ({ liveRuns }),
    });
    const memory = async () =>
      (await dumpMetrics(bench.context)).nodes.find(({ id }) => id === node.id)?.memory;
    loop.start();
    expect(await memory()).toBeNull();
    const turn = async (ms: number) => {
      await clock.whenSleeping(1);
      await clock.advance(ms);
      await clock.whenSleeping(1);
    };

    await turn(30 * SECOND);
    const first = await memory();
    expect(first).toMatchObject({ counts: { liveRuns: 3 } });
    expect(first?.rssBytes).toBeGreaterThan(first?.heapUsedBytes ?? Number.POSITIVE_INFINITY);
    liveRuns = 4;
    for (let minutes = 0; minutes < 10; minutes += 0.5) await turn(0.5 * MINUTE);
    expect(await memory()).toMatchObject({ counts: { liveRuns: 4 } });
    await loop.stop();

    const { store } = await dumpMetrics(bench.context);
    expect(store.tables.find(({ table }) => table === "nodes")).toMatchObject({ rows: 1 });
    const sizes = store.tables.map(({ bytes }) => bytes ?? 0);
    expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
  });
});

describe("the log in memory", () => {
  const ring = () =>
    new LogRing({
      now: () => 0,
      redact: () => ((text: string) => text.replaceAll("s3cret", "[redacted]")) as never,
    });

  test("keeps the newest thousand lines, redacted as they come; older ones make room", () => {
    const kept = ring();
    for (let count = 1; count <= 1_200; count++) kept.sink("info", "counted", { count, with: "s3cret" });

    expect(kept.size.lines).toBe(1_000);
    const lines = kept.lines({ tail: 2, level: "debug" }).map((line) => JSON.parse(line));
    expect(lines).toEqual([
      { at: "1970-01-01T00:00:00Z", level: "info", event: "counted", count: 1_199, with: "[redacted]" },
      { at: "1970-01-01T00:00:00Z", level: "info", event: "counted", count: 1_200, with: "[redacted]" },
    ]);
  });

  test("is bounded by bytes too, and filters by level", () => {
    const kept = ring();
    for (const level of ["debug", "error", "warn", "info"] as const) kept.sink(level, "said", {});
    const words = kept.lines({ tail: 10, level: "warn" }).map((line) => JSON.parse(line).level);
    expect(words).toEqual(["error", "warn"]);

    for (let count = 0; count < 20; count++) kept.sink("info", "long", { text: "x".repeat(100_000) });
    expect(kept.size.bytes).toBeLessThanOrEqual(1_000_000);
    expect(kept.size.lines).toBeLessThan(11);
  });
});
