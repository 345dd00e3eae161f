// Rules of endings: next attempts, streaks, messages, strikes (L6, L7, law 5, O1).

import { expect, test } from "vitest";
import { MINUTE, SECOND } from "../../../src/kernel/time.ts";
import type { Streak } from "../../../src/records/definition.ts";
import type { Run } from "../../../src/records/run.ts";
import {
  type Bench,
  claimOne,
  define,
  delivery,
  fail,
  keep,
  manualRun,
  passRequest,
  rowOf,
  START,
  startOne,
  succeed,
} from "./fixtures.ts";

export function endingRules(open: () => Promise<Bench>): void {
  test("L6: a failed attempt and its retry are one transaction; the retry waits for its back-off, then runs", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a");
    const { claim, run } = await startOne(ledger, bench);
    const next = {
      id: bench.id(),
      readyAt: START + MINUTE,
      trigger: "retry",
      idempotencyKey: "same",
    } as const;
    await ledger.closeRuns([fail(bench, claim, { next })]);

    const early = await ledger.pass(passRequest(bench, { decide: keep }));
    expect([early.claimed, early.nextWakeAt]).toEqual([[], START + MINUTE]);
    expect(await rowOf(ledger, next.id)).toMatchObject({ state: "waiting", reason: "retry", attempt: 2 });
    await bench.advance(MINUTE);
    const again = await claimOne(ledger, bench, { decide: keep });

    expect(again.run).toMatchObject({ dedupeKey: run.dedupeKey, idempotencyKey: "same", slot: run.slot });
    expect(await ledger.attempts(run.dedupeKey)).toHaveLength(2);
  });

  test("L6: a rerun of an unknown is claimable at once", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.enqueue([manualRun(bench)]);
    const { claim } = await startOne(ledger, bench);
    const next = { id: bench.id(), readyAt: START, trigger: "rerun", idempotencyKey: "same" } as const;
    await ledger.closeRuns([succeed(bench, claim, { state: "unknown", next })]);
    expect((await claimOne(ledger, bench)).run).toMatchObject({ id: next.id, trigger: "rerun", attempt: 2 });
  });

  test("O1: outcome, streak and messages are one transaction, and two endings of a job settle one after the other", async () => {
    const bench = await open();
    const [a, b] = [await bench.open(), await bench.open()];
    await define(a, bench, "job-a", { slot: undefined });
    await a.enqueue([1, 2].map(() => manualRun(bench, { jobId: "job-a", version: 1 })));
    const [first, second] = [await startOne(a, bench), await startOne(b, bench, { nodeId: "node-b" })];
    const settle = (streak: Streak, run: Run) => ({
      streak: { failures: streak.failures + 1, cause: "exit:1", isAlerted: true },
      deliveries: [delivery({ key: `${run.dedupeKey}/alert`, runId: run.id, kind: "alert" })],
    });

    for (const [ledger, { claim }] of [[a, first] as const, [b, second] as const])
      expect(await ledger.closeRuns([fail(bench, claim, { settle })])).toEqual(["closed"]);

    expect((await a.job("job-a"))?.cursor.streak).toEqual({ failures: 2, cause: "exit:1", isAlerted: true });
    expect(await a.deliveries({ state: ["queued"] })).toHaveLength(2);
  });

  test("L3: a run that needs no preparation is running from the transaction that claims it, and counts as started", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.enqueue([manualRun(bench)]);
    const { claimed } = await ledger.pass(passRequest(bench, { startsAtOnce: () => true }));
    const [one] = claimed;
    if (!one) throw new Error("nothing was claimed");
    expect(one.run).toEqual(await rowOf(ledger, one.run.id));
    expect(one.run).toMatchObject({ state: "running", startedAt: bench.now() });
    expect(await ledger.startRuns([{ claim: one.claim, startedAt: bench.now() }])).toEqual(["started"]);
    const events = await ledger.events({ runId: one.run.id });
    expect(events.map(({ kind }) => kind)).toEqual(["run-queued", "run-started"]);
    expect(await ledger.closeRuns([succeed(bench, one.claim)])).toEqual(["closed"]);
  });

  test("O1: a row made from what its owner knows settles as the row that stands in the ledger", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.enqueue([manualRun(bench)]);
    const { claim, run } = await startOne(ledger, bench);
    const settled: Run[] = [];
    const settle = (streak: Streak, closed: Run) => {
      settled.push(closed);
      return { streak, deliveries: [] };
    };
    const known = { ...run, ...pickStart(await rowOf(ledger, claim.runId)) };
    await ledger.closeRuns([fail(bench, claim, { settle, known })]);
    expect(settled).toEqual([await rowOf(ledger, claim.runId)]);
  });

  test("law 5: a settlement that throws undoes the ending too", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.enqueue([manualRun(bench)]);
    const { claim } = await startOne(ledger, bench);
    const settle = () => {
      throw new Error("broken");
    };
    await expect(ledger.closeRuns([succeed(bench, claim, { settle })])).rejects.toThrow("broken");
    expect((await rowOf(ledger, claim.runId)).state).toBe("running");
    expect(await ledger.closeRuns([succeed(bench, claim)])).toEqual(["closed"]);
  });

  test("L7: after two strikes a job's run is claimed alone, marked as a suspect, and a survivor clears them", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a", { slot: undefined });
    for (let strike = 0; strike < 2; strike++) {
      await ledger.enqueue([manualRun(bench, { jobId: "job-a", version: 1 })]);
      const { claim } = await startOne(ledger, bench);
      await ledger.closeRuns([succeed(bench, claim, { state: "unknown", strike: "strike" })]);
    }
    const suspect = manualRun(bench, { jobId: "job-a", version: 1, readyAt: START - SECOND });
    await ledger.enqueue([suspect, manualRun(bench)]);

    const busy = await ledger.pass(passRequest(bench, { liveRuns: 1, capacity: 1 }));
    const alone = await ledger.pass(passRequest(bench, { liveRuns: 0 }));

    expect(busy.claimed.map(({ run }) => run.jobId)).toEqual([undefined]);
    expect(alone.claimed.map(({ run }) => [run.id, run.isSuspect])).toEqual([[suspect.id, true]]);
    const { claim } = alone.claimed[0]!;
    await ledger.startRuns([{ claim, startedAt: bench.now() }]);
    await ledger.closeRuns([succeed(bench, claim, { strike: "clear" })]);
    expect((await ledger.job("job-a"))?.cursor.strikes).toBe(0);
  });
}

/** What a start changes in a row. */
function pickStart({ startedAt, lastActivityAt, scriptSha256 }: Run) {
  return { startedAt, lastActivityAt, scriptSha256 };
}
