// Rules of what is measured: sums over attempts of tasks, and how large the store is.

import { expect, test } from "vitest";
import { MINUTE } from "../../../src/kernel/time.ts";
import type { Admission } from "../../../src/records/run.ts";
import { type Bench, fail, manualRun, startOne, succeed } from "./fixtures.ts";

export function metricsRules(open: () => Promise<Bench>): void {
  test("attempts of tasks are summed by executor, version and end; what ended before, or waits, is not among them", async () => {
    const bench = await open();
    const ledger = await bench.open();
    const task = (admission: Partial<Admission>) =>
      manualRun(bench, { kind: "task", queue: "q", admission: { enqueuedAt: bench.now(), ...admission } });
    const end = async (close: typeof fail, minutes: number, admission: Partial<Admission>) => {
      await ledger.enqueue([task(admission)]);
      const { claim } = await startOne(ledger, bench, {
        tasks: {
          rated: [],
          admit: ({ waiting }) => ({ start: waiting.map(({ id }) => id), skip: [], cancel: [], blocked: [] }),
        },
      });
      await bench.advance(minutes * MINUTE);
      expect(await ledger.closeRuns([close(bench, claim)])).toEqual(["closed"]);
    };
    await end(succeed, 9, { executor: "detect" });
    await bench.advance(1);
    const since = bench.now();
    await end(succeed, 1, { executor: "detect" });
    await end(succeed, 3, { executor: "detect" });
    await end(fail, 2, { executor: "detect" });
    await end(succeed, 4, { executor: "detect", version: "v2" });
    await ledger.enqueue([task({ executor: "detect" }), manualRun(bench)]);

    const sums = await ledger.executorSums({ since });

    expect(sums.map((sum) => [sum.version, sum.state, sum.attempts, sum.totalMs, sum.longestMs])).toEqual(
      expect.arrayContaining([
        [undefined, "failed", 1, 2 * MINUTE, 2 * MINUTE],
        [undefined, "succeeded", 2, 4 * MINUTE, 3 * MINUTE],
        ["v2", "succeeded", 1, 4 * MINUTE, 4 * MINUTE],
      ]),
    );
    expect(sums).toHaveLength(3);
    expect(sums.every(({ executor }) => executor === "detect")).toBe(true);
  });

  test("the store's size is told table by table, with rows that are there", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.enqueue([manualRun(bench), manualRun(bench)]);

    const { totalBytes, tables } = await ledger.storeSizes();

    const runs = tables.find(({ table }) => table === "runs");
    expect(runs?.rows).toBe(2);
    expect(runs?.bytes).toBeGreaterThan(0);
    const sum = tables.reduce((total, { bytes = 0 }) => total + bytes, 0);
    expect(sum).toBeGreaterThan(0);
    expect(sum).toBeLessThanOrEqual(totalBytes);
  });
}
