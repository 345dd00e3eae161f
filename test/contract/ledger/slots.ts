// Rules of WHEN: passes and cursors (D5, L2, T7, T8, T9).

import { expect, test } from "vitest";
import { MINUTE, SECOND } from "../../../src/kernel/time.ts";
import type { DecideJob, RewindRules } from "../../../src/records/ledger/slots.ts";
import {
  type Bench,
  claimOne,
  decision,
  define,
  delivery,
  keep,
  manualRun,
  missEveryMinute,
  passRequest,
  rowOf,
  START,
  startOne,
  succeed,
  whenFree,
} from "./fixtures.ts";

export function slotRules(open: () => Promise<Bench>): void {
  test("L2: a due slot becomes one run, claimed in the same pass, and the cursor moves past it", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a");

    const result = await ledger.pass(passRequest(bench));

    expect(result.claimed.map(({ run }) => [run.dedupeKey, run.state, run.owner, run.token])).toEqual([
      ["job/job-a/2026-11-29T06:00:00Z", "claimed", "node-a", 1],
    ]);
    expect(result.claimed[0]?.definition?.version).toBe(1);
    expect(result).toMatchObject({ decidedJobs: 1, hasMore: false, nextWakeAt: START + MINUTE });
    expect(await rowOf(ledger, result.claimed[0]!.run.id)).toEqual(result.claimed[0]?.run);
    expect((await ledger.job("job-a"))?.cursor).toMatchObject({ nextSlot: START + MINUTE, startedSlots: 0 });
  });

  test("L2: two nodes race through 100 due jobs: every slot has one row and one owner", async () => {
    const bench = await open();
    const [a, b] = [await bench.open(), await bench.open()];
    for (let n = 0; n < 100; n++) await define(a, bench, `job-${String(n).padStart(3, "0")}`);

    const claims: string[] = [];
    const race = async (ledger: typeof a, nodeId: string) => {
      for (let tries = 0; tries < 200 && claims.length < 100; tries++) {
        const { claimed } = await whenFree(() =>
          ledger.pass(passRequest(bench, { nodeId, capacity: 7, maxJobs: 10 })),
        );
        claims.push(...claimed.map(({ run }) => run.dedupeKey));
      }
    };
    await Promise.all([race(a, "node-a"), race(b, "node-b")]);

    expect(claims.toSorted()).toEqual([...new Set(claims)].toSorted());
    expect(claims).toHaveLength(100);
    expect(await bench.sql(`SELECT count(*) AS "n" FROM "runs"`)).toEqual([{ n: expect.toSatisfy(is(100)) }]);
  });

  test("L2: a stretch that did not run is one row with first, last and count, and goes into the digest", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a", { slot: START - 10 * MINUTE });

    const result = await ledger.pass(
      passRequest(bench, {
        decide: missEveryMinute,
        digest: (closed) =>
          closed.map(({ dedupeKey, runId }) => delivery({ key: `${dedupeKey}/missed`, runId })),
      }),
    );

    expect(result.closedSlots).toMatchObject([{ jobId: "job-a", slots: { count: 11, state: "missed" } }]);
    const [range] = await ledger.runs({ jobId: "job-a" });
    expect(range).toMatchObject({
      state: "missed",
      reason: "pastGrace",
      slot: START - 10 * MINUTE,
      slotTo: START,
      slotCount: 11,
    });
    expect(await ledger.deliveries({})).toHaveLength(1);
  });

  test("D5: a pass decides with the version in force; an edit between two passes is seen by the second", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a");
    const first = await claimOne(ledger, bench);
    await ledger.closeRuns([succeed(bench, first.claim)]);
    await define(ledger, bench, "job-a", { digest: "edited", document: { name: "new" } });

    const second = await claimOne(ledger, bench, { decide: decideOnceAt(START + 1) });

    expect([first.run.version, second.run.version]).toEqual([1, 2]);
    expect(second.definition?.document).toContain('"new"');
  });

  test("T7: an exclusive run waits while its job has a live run, also one by hand", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a");
    await ledger.enqueue([manualRun(bench, { jobId: "job-a", version: 1, readyAt: START - SECOND })]);
    const byHand = await startOne(ledger, bench, { decide: keep });

    expect((await ledger.pass(passRequest(bench))).claimed).toEqual([]);
    await ledger.closeRuns([succeed(bench, byHand.claim)]);
    expect((await ledger.pass(passRequest(bench))).claimed).toHaveLength(1);
  });

  test("T7: one exclusive run per job in a batch, and the database refuses a second live one", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a", { slot: START - 2 * MINUTE });
    const { claimed } = await ledger.pass(passRequest(bench));
    expect(claimed.map(({ run }) => run.slot)).toEqual([START - 2 * MINUTE]);

    const force = `UPDATE "runs" SET "state" = 'claimed', "owner" = 'x' WHERE "state" = 'queued'`;
    await expect(bench.sql(force)).rejects.toThrow(/unique|UNIQUE/);
  });

  test("T7: a run that had to start by an instant is skipped after it, and its waiters can be ended by a decision", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a");
    const { claimed } = await ledger.pass(passRequest(bench));
    await bench.advance(MINUTE);
    const replace: DecideJob = (view) =>
      decision({
        slots: [
          {
            kind: "run",
            slot: START + MINUTE,
            readyAt: START + MINUTE,
            startBy: START + MINUTE + 30 * SECOND,
            effects: "external",
            isExclusive: true,
          },
        ],
        cancelRuns: view.openRuns.map(({ id }) => ({ runId: id, by: "replace" })),
        next: { slot: START + 10 * MINUTE, dueAt: START + 10 * MINUTE },
      });

    const second = await ledger.pass(passRequest(bench, { decide: replace }));
    expect(second.cancelRuns).toEqual([claimed[0]!.run.id]);
    expect(second.nextWakeAt).toBe(START + MINUTE + 30 * SECOND);
    await bench.advance(30 * SECOND);
    const third = await ledger.pass(passRequest(bench));

    expect(third.endedRuns).toMatchObject([{ jobId: "job-a", state: "skipped", reason: "overlap" }]);
    expect(await rowOf(ledger, claimed[0]!.run.id)).toMatchObject({
      state: "cancelling",
      cancelledBy: "replace",
    });
  });

  test("T7: a decision ends waiters and overtaken retries, and nothing that is live", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a", { slot: START - MINUTE });
    const { claimed } = await ledger.pass(passRequest(bench));
    await bench.advance(MINUTE);
    const supersede: DecideJob = (view) =>
      decision({
        endOpenRuns: view.openRuns.map(({ id }) => ({ runId: id, state: "skipped", reason: "superseded" })),
      });

    const { endedRuns } = await ledger.pass(passRequest(bench, { decide: supersede }));

    expect(endedRuns).toMatchObject([{ state: "skipped", reason: "superseded" }]);
    expect(endedRuns[0]?.runId).not.toBe(claimed[0]?.run.id);
    expect((await rowOf(ledger, claimed[0]!.run.id)).state).toBe("claimed");
    expect((await ledger.job("job-a"))?.cursor.nextSlot).toBeUndefined();
  });

  test("T9: only first attempts of scheduled slots count as started, once each", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a");
    const { claim } = await startOne(ledger, bench);
    await ledger.startRuns([{ claim, startedAt: bench.now() }]);
    const retry = { id: bench.id(), readyAt: START, trigger: "retry", idempotencyKey: "k" } as const;
    await ledger.closeRuns([succeed(bench, claim, { state: "failed", next: retry })]);
    await startOne(ledger, bench);

    expect((await ledger.job("job-a"))?.cursor.startedSlots).toBe(1);
  });

  test("T9: a decision that completes the job closes its book", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a");
    await ledger.pass(passRequest(bench, { decide: () => decision({ completed: "once" }) }));

    expect((await ledger.job("job-a"))?.cursor).toMatchObject({
      nextSlot: undefined,
      dueAt: undefined,
      suspensions: [{ kind: "completed", reason: "once" }],
    });
  });

  test("T9: a version that can go on ends a completion although its job may have no slot yet", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a");
    await ledger.pass(passRequest(bench, { decide: () => decision({ completed: "until" }) }));
    const kinds = async () =>
      (await ledger.job("job-a"))?.cursor.suspensions.map(({ kind }) => kind).toSorted();
    const next = () => undefined;
    const at = { jobId: "job-a", now: bench.now(), settle: keep, next, digest: () => [] };
    const quarantine = { kind: "suspend", suspension: "quarantined", by: "me", reason: "r" } as const;
    await ledger.changeJob({ ...at, isComplete: () => false, change: quarantine });
    expect(await kinds(), "no new version: it stays").toEqual(["completed", "quarantined"]);

    const version = {
      kind: "define",
      document: "{}",
      zone: "UTC",
      anchor: START,
      source: "s",
      by: "me",
    } as const;
    await ledger.changeJob({ ...at, isComplete: () => true, change: { ...version, digest: "two" } });
    expect(await kinds(), "still complete").toEqual(["completed", "quarantined"]);
    await ledger.changeJob({ ...at, isComplete: () => false, change: { ...version, digest: "three" } });
    expect(await kinds()).toEqual(["quarantined"]);

    const isShown: string[][] = [];
    await ledger.changeJob({
      ...at,
      isComplete: () => false,
      change: { kind: "resume", suspension: "quarantined", by: "me" },
      next: ({ cursor }) => {
        isShown.push(cursor.suspensions.map(({ kind }) => kind));
        return { slot: START + MINUTE, dueAt: START + MINUTE };
      },
    });
    expect(isShown).toEqual([[]]);
    expect((await ledger.job("job-a"))?.cursor).toMatchObject({ nextSlot: START + MINUTE, suspensions: [] });
  });

  test("T8: after a backward step what was closed too early is decided again, and what started early is named", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "ran");
    await define(ledger, bench, "missed", { slot: START });
    const decide: DecideJob = (view, now) =>
      view.cursor.jobId === "missed"
        ? missEveryMinute(view, now)
        : decision({
            slots: [{ kind: "run", slot: START, readyAt: START, effects: "external", isExclusive: true }],
          });
    const early = await startOne(ledger, bench, { decide });
    await ledger.closeRuns([succeed(bench, early.claim)]);

    const now = START - 10 * MINUTE;
    const touched = await ledger.rewind(now, rewindEveryMinute(START));

    expect(touched).toEqual(["missed", "ran"]);
    expect(await ledger.runs({ jobId: "missed" })).toEqual([]);
    expect((await ledger.job("missed"))?.cursor.nextSlot).toBe(START);
    expect((await ledger.job("ran"))?.cursor.nextSlot).toBe(START + MINUTE);
    expect((await ledger.auditView("ran", { since: 0, until: START }))?.early).toEqual([early.run.id]);
    await ledger.pass(passRequest(bench, { decide: missEveryMinute, capacity: 0 }));
    expect(await ledger.runs({ jobId: "missed" })).toHaveLength(1);
  });

  test("a pass says when to look again, and whether more was due than it looked at", async () => {
    const bench = await open();
    const ledger = await bench.open();
    for (const id of ["a", "b", "c"]) await define(ledger, bench, id);
    const first = await ledger.pass(passRequest(bench, { maxJobs: 2 }));
    const second = await ledger.pass(passRequest(bench, { maxJobs: 2 }));

    expect([first.hasMore, second.hasMore]).toEqual([true, false]);
    expect([first.nextWakeAt, second.nextWakeAt]).toEqual([START, START + MINUTE]);
  });
}

const is = (expected: number) => (value: unknown) => Number(value) === expected;

/** The first minute from `first` on that has no row. */
function rewindEveryMinute(first: number): RewindRules {
  return {
    isComplete: () => false,
    next: ({ accountedAhead = [] }) => {
      let slot = first;
      while (accountedAhead.includes(slot)) slot += MINUTE;
      return { slot, dueAt: slot };
    },
    pastPart: () => ({ last: first, count: 1, isCountAtLeast: false }),
  };
}

function decideOnceAt(slot: number): DecideJob {
  return () =>
    decision({ slots: [{ kind: "run", slot, readyAt: START, effects: "external", isExclusive: true }] });
}
