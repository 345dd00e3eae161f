// Rules of a wall clock that was set back, as the ledger keeps them (T8).

import { expect, test } from "vitest";
import { DAY, HOUR, MINUTE, SECOND } from "../../../src/kernel/time.ts";
import type { DecideJob, JobView, RewindRules } from "../../../src/records/ledger/slots.ts";
import {
  type Bench,
  claimOne,
  decision,
  define,
  keep,
  missEveryMinute,
  passRequest,
  rowOf,
  START,
  startOne,
  succeed,
} from "./fixtures.ts";

/** Every minute from `now` on, but what has a row. */
const everyMinute = (now: number): RewindRules => ({
  isComplete: () => false,
  next: ({ accountedAhead = [] }) => {
    let slot = Math.floor(now / MINUTE) * MINUTE + MINUTE;
    while (accountedAhead.includes(slot)) slot += MINUTE;
    return { slot, dueAt: slot };
  },
  pastPart: (_, first) => {
    const count = Math.floor((now - first) / MINUTE) + 1;
    return { last: first + (count - 1) * MINUTE, count, isCountAtLeast: false };
  },
});

/** Nothing comes due again. */
const nothingMore = (now: number): RewindRules => ({ ...everyMinute(now), next: () => undefined });

/** Runs the slot that the cursor stands at, and moves it to `next`. */
const runThenStandAt =
  (next: number): DecideJob =>
  ({ cursor: { nextSlot: slot = START } }) =>
    decision({
      slots: [{ kind: "run", slot, readyAt: START, effects: "external", isExclusive: false }],
      next: { slot: next, dueAt: next },
    });

export function stepBackRules(open: () => Promise<Bench>): void {
  test("T8: what began ahead of the cursor is known to every decision until the cursor has passed it", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a");
    const early = await startOne(ledger, bench, { decide: runThenStandAt(START + MINUTE) });
    await ledger.closeRuns([succeed(bench, early.claim)]);

    await ledger.rewind(START - 2 * MINUTE, everyMinute(START - 2 * MINUTE));
    expect(await ledger.job("job-a")).toMatchObject({
      cursor: { nextSlot: START - MINUTE },
      accountedAhead: [START],
    });

    const seen: JobView["accountedAhead"][] = [];
    const around: DecideJob = (view) => {
      seen.push(view.accountedAhead);
      const next = (view.cursor.nextSlot ?? 0) + 2 * MINUTE;
      return decision({ next: { slot: next, dueAt: next } });
    };
    await ledger.pass(passRequest(bench, { decide: around, capacity: 0 }));

    expect(seen).toEqual([[START]]);
    expect(await ledger.job("job-a")).not.toHaveProperty("accountedAhead");
  });

  test("T8: a change of the job knows what began ahead, and keeps it for the cursor that it places", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a");
    await startOne(ledger, bench, { decide: runThenStandAt(START + MINUTE) });
    await ledger.rewind(START - HOUR, everyMinute(START - HOUR));
    const asked: JobView["accountedAhead"][] = [];

    const edit = (slot: number) =>
      ledger.changeJob({
        ...{ jobId: "job-a", now: START - HOUR, settle: keep, isComplete: () => false, digest: () => [] },
        change: {
          ...{ kind: "define", document: "{}", digest: `to ${slot}`, zone: "UTC", anchor: START },
          ...{ source: "s", by: "me" },
        },
        next: (view) => {
          asked.push(view.accountedAhead);
          return { slot, dueAt: slot };
        },
      });
    await edit(START - MINUTE);
    await edit(START + MINUTE);

    expect(asked).toEqual([[START], [START]]);
    expect(await ledger.job("job-a")).not.toHaveProperty("accountedAhead");
  });

  test("T8, L3: what was only claimed has not begun: its slot comes due again, and its owner begins nothing", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a");
    const { claim, run } = await claimOne(ledger, bench, { decide: runThenStandAt(START + MINUTE) });

    await ledger.rewind(START - MINUTE, everyMinute(START - MINUTE));

    expect(await ledger.run(run.id)).toBeUndefined();
    expect(await ledger.startRuns([{ claim, startedAt: bench.now() }])).toEqual(["lost"]);
    expect(await ledger.closeRuns([succeed(bench, claim)])).toEqual(["lost"]);
    const again = await claimOne(ledger, bench);
    expect(again.run).toMatchObject({ slot: START, attempt: 1 });
    expect(again.run.id).not.toBe(run.id);
  });

  test("T8: a stretch that reaches behind now is decided again from its start by the version that wrote it", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a", { slot: START - 5 * MINUTE });
    await ledger.pass(passRequest(bench, { decide: missEveryMinute }));

    const now = START - 2 * MINUTE;
    await ledger.rewind(now, everyMinute(now));

    expect(await ledger.runs({ jobId: "job-a" })).toEqual([]);
    expect((await ledger.job("job-a"))?.cursor.nextSlot).toBe(START - 5 * MINUTE);
  });

  test("T8: where nothing decides it again, or another version would, the part of a stretch that is past stays", async () => {
    const bench = await open();
    const ledger = await bench.open();
    const now = START - 2 * MINUTE;
    for (const id of ["ended", "edited", "removed"])
      await define(ledger, bench, id, { slot: START - 5 * MINUTE });
    await ledger.pass(passRequest(bench, { decide: missEveryMinute }));
    await define(ledger, bench, "edited", { digest: "other", slot: START + MINUTE });
    await ledger.changeJob({
      ...{ jobId: "removed", now: bench.now(), change: { kind: "remove", by: "me" } },
      ...{ settle: keep, isComplete: () => false, next: () => undefined, digest: () => [] },
    });

    await ledger.rewind(now, {
      ...everyMinute(now),
      next: (view) => (view.cursor.jobId === "ended" ? nothingMore : everyMinute)(now).next(view),
    });

    for (const id of ["ended", "edited", "removed"]) {
      expect(await ledger.runs({ jobId: id }), id).toMatchObject([
        {
          ...{ state: "missed", reason: "pastGrace", version: 1, slotCount: 4 },
          ...{ slot: START - 5 * MINUTE, slotTo: now },
        },
      ]);
    }
    expect((await ledger.job("edited"))?.cursor.nextSlot).toBe(now + MINUTE);
  });

  test("T8: versions, pauses and ends of a time that was taken back hold from now on, without overlaps", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a");
    await bench.advance(DAY);
    const at = {
      jobId: "job-a",
      settle: keep,
      isComplete: () => false,
      next: () => undefined,
      digest: () => [],
    };
    const pause = { kind: "suspend", suspension: "paused", by: "me", reason: "r" } as const;
    await ledger.changeJob({ ...at, now: bench.now(), change: pause });
    await define(ledger, bench, "job-a", { digest: "second" });
    await ledger.changeJob({ ...at, now: bench.now() + HOUR, change: { kind: "remove", by: "me" } });

    const now = START + HOUR;
    await ledger.rewind(now, nothingMore(now));

    expect(await ledger.definitions("job-a")).toMatchObject([
      { inForceFrom: START, inForceTo: now },
      { inForceFrom: now, inForceTo: now },
    ]);
    const view = await ledger.auditView("job-a", { since: 0, until: now });
    expect(view?.suspensions).toMatchObject([{ kind: "paused", from: now, to: undefined }]);
    expect(view?.cursor.removedAt).toBe(now);
  });

  test("T8, D4: a pause that had run out by itself in a time that was taken back holds until its end", async () => {
    const bench = await open();
    const ledger = await bench.open();
    const until = START + HOUR;
    await define(ledger, bench, "job-a");
    await ledger.changeJob({
      ...{
        jobId: "job-a",
        now: START,
        settle: keep,
        isComplete: () => false,
        next: () => undefined,
        digest: () => [],
      },
      change: { kind: "suspend", suspension: "paused", by: "me", reason: "r", until },
    });
    await bench.advance(2 * HOUR);
    await ledger.pass(passRequest(bench));
    expect((await ledger.job("job-a"))?.cursor.suspensions).toEqual([]);

    await ledger.rewind(START + MINUTE, nothingMore(START + MINUTE));

    expect((await ledger.job("job-a"))?.cursor.suspensions).toMatchObject([{ from: START, until }]);
    expect(await bench.sql(`SELECT "isHalted" FROM "cursors"`)).toSatisfy(
      ([row]) => Number(row.isHalted) === 1,
    );
  });

  test("T8, T9: what the schedule completed in a time that was taken back goes on; what a person completed stays", async () => {
    const bench = await open();
    const ledger = await bench.open();
    for (const id of ["ended", "by-word", "paused"]) await define(ledger, bench, id);
    await ledger.pass(
      passRequest(bench, {
        decide: ({ cursor }) => decision(cursor.jobId === "by-word" ? {} : { completed: "until" }),
      }),
    );
    const at = {
      settle: keep,
      isComplete: () => true,
      next: () => undefined,
      digest: () => [],
      now: bench.now(),
    };
    const word = { kind: "suspend", by: "me", reason: "done elsewhere" } as const;
    await ledger.changeJob({ ...at, jobId: "by-word", change: { ...word, suspension: "completed" } });
    await ledger.changeJob({ ...at, jobId: "paused", change: { ...word, suspension: "paused" } });

    const now = START - HOUR;
    await ledger.rewind(now, {
      ...everyMinute(now),
      next: (view) => (view.cursor.suspensions.length > 0 ? nothingMore : everyMinute)(now).next(view),
    });

    const standing = async (id: string) => {
      const cursor = (await ledger.job(id))?.cursor;
      return [cursor?.suspensions.map(({ kind }) => kind), cursor?.nextSlot];
    };
    expect(await standing("ended")).toEqual([[], now + MINUTE]);
    expect(await standing("by-word")).toEqual([["completed"], undefined]);
    expect(await standing("paused"), "released later, it goes on").toEqual([["paused"], undefined]);
  });

  test("T8: the newest record tells of a pass or a change that lies ahead, until a rewind has taken it back", async () => {
    const bench = await open();
    const ledger = await bench.open();
    expect(await ledger.newestRecordAt()).toBeUndefined();
    await define(ledger, bench, "job-a");
    expect(await ledger.newestRecordAt()).toBe(START);
    await ledger.registerNode({
      ...{ id: "node-b", name: "b", hostId: "h", bootId: "b", pid: 1, startTime: "1", version: "0" },
      ...{ startedAt: START, lastSeenAt: START, lastPassAt: START + DAY, clockOffsetMs: 0 },
      ...{ stoppingAt: undefined, stoppedAt: undefined, maxParallelRuns: 1, liveRuns: 0 },
      ...{ url: undefined, lastError: undefined },
    });
    expect((await ledger.pass(passRequest(bench))).newestRecordAt).toBe(START + DAY);

    await ledger.rewind(START - MINUTE, everyMinute(START - MINUTE));

    expect(await ledger.newestRecordAt()).toBe(START - MINUTE);
  });

  test("T8, D1: under a clock that went back by seconds no state of a job begins before the one it replaces", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a");
    const at = {
      jobId: "job-a",
      settle: keep,
      isComplete: () => false,
      next: () => undefined,
      digest: () => [],
    };
    const paused = { suspension: "paused", by: "me" } as const;
    const now = START - 30 * SECOND;

    await ledger.changeJob({ ...at, now, change: { kind: "suspend", reason: "r", ...paused } });
    await ledger.changeJob({ ...at, now: now - SECOND, change: { kind: "resume", ...paused } });
    await ledger.changeJob({ ...at, now: now - SECOND, change: { kind: "remove", by: "me" } });

    const view = await ledger.auditView("job-a", { since: 0, until: START });
    expect(view?.suspensions).toMatchObject([{ from: START, to: START }]);
    expect(view?.definitions).toMatchObject([{ inForceFrom: START, inForceTo: START }]);
  });

  test("L9, T8: audit is told of runs that began before a slot that is still to come", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a");
    const early = await startOne(ledger, bench, { decide: runThenStandAt(START + MINUTE) });
    const now = START - HOUR;
    await ledger.rewind(now, everyMinute(now));

    const view = await ledger.auditView("job-a", { since: 0, until: now });

    expect(view?.early).toEqual([early.run.id]);
    expect(view?.rows.map(({ runId }) => runId)).toEqual([early.run.id]);
    expect((await rowOf(ledger, early.run.id)).state).toBe("running");
  });
}
