// Rules of definitions and of the states a person gives a job (D1, D3, D4).

import { expect, test } from "vitest";
import { MINUTE } from "../../../src/kernel/time.ts";
import {
  type Bench,
  claimOne,
  define,
  keep,
  manualRun,
  missEveryMinute,
  passRequest,
  START,
  succeed,
  whenFree,
} from "./fixtures.ts";

export function definitionRules(open: () => Promise<Bench>): void {
  test("D1: a change accounts for what was due under the old version, in the same transaction", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a", { slot: START - MINUTE });

    const changed = await ledger.changeJob({
      jobId: "job-a",
      now: bench.now(),
      expectVersion: 1,
      change: {
        kind: "define",
        document: "{}",
        digest: "d2",
        zone: "UTC",
        anchor: START,
        source: "s",
        by: "me",
      },
      settle: missEveryMinute,
      isComplete: () => false,
      next: (view, now) => {
        expect(view.definition.version).toBe(2);
        return { slot: now + 5 * MINUTE, dueAt: now + 5 * MINUTE };
      },
      digest: () => [],
    });

    expect(changed).toMatchObject({ kind: "changed", previous: { version: 1 } });
    expect(await ledger.definitions("job-a")).toMatchObject([
      { version: 1, inForceTo: START, endedBy: "me" },
      { version: 2, inForceFrom: START, inForceTo: undefined },
    ]);
    const [row] = await ledger.runs({ jobId: "job-a" });
    expect(row).toMatchObject({ state: "missed", version: 1, slotCount: 2 });
    expect((await ledger.job("job-a"))?.cursor).toMatchObject({ version: 2, nextSlot: START + 5 * MINUTE });
  });

  test("D3: of two editors who read the same version one wins, the other is told and changes nothing", async () => {
    const bench = await open();
    const [a, b] = [await bench.open(), await bench.open()];
    await define(a, bench, "job-a");

    const answers = await Promise.all([
      whenFree(() => define(a, bench, "job-a", { digest: "from a", expectVersion: 1 })),
      whenFree(() => define(b, bench, "job-a", { digest: "from b", expectVersion: 1 })),
    ]);

    expect(answers.map(({ kind }) => kind).toSorted()).toEqual(["changed", "conflict"]);
    expect(await a.definitions("job-a")).toHaveLength(2);
  });

  test("D3: two nodes see a new file at once: the job is recorded once", async () => {
    const bench = await open();
    const [a, b] = [await bench.open(), await bench.open()];

    const answers = await Promise.all([a, b].map((ledger) => whenFree(() => define(ledger, bench, "job-a"))));

    expect(answers.map(({ kind }) => kind).toSorted()).toEqual(["changed", "unchanged"]);
    expect(await a.definitions("job-a")).toHaveLength(1);
  });

  test.each(["paused", "quarantined"] as const)(
    "D4: while %s, queued slots stay queued and a run by hand still runs",
    async (suspension) => {
      const bench = await open();
      const ledger = await bench.open();
      await define(ledger, bench, "job-a");
      await ledger.pass(passRequest(bench, { capacity: 0 }));
      await suspend(ledger, bench, suspension);
      const [byHand] = await ledger.enqueue([manualRun(bench, { jobId: "job-a", version: 1 })]);

      const { claimed } = await ledger.pass(passRequest(bench));
      expect(claimed.map(({ run }) => run.id)).toEqual([byHand!.id]);
      await ledger.closeRuns(claimed.map(({ claim }) => succeed(bench, claim)));

      await resume(ledger, bench, suspension);
      expect((await claimOne(ledger, bench)).run.slot).toBe(START);
      expect((await ledger.auditView("job-a", { since: 0, until: START }))?.suspensions).toMatchObject([
        { kind: suspension, from: START, to: START, by: "me", reason: "test" },
      ]);
    },
  );

  test("D4: a disabled job's queued slots wait until a person enables it again", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a");
    await ledger.pass(passRequest(bench, { capacity: 0 }));
    await define(ledger, bench, "job-a", { digest: "off", document: { enabled: false }, slot: undefined });
    expect((await ledger.pass(passRequest(bench))).claimed).toEqual([]);

    await define(ledger, bench, "job-a", { digest: "on", document: { enabled: true }, slot: START + MINUTE });
    expect((await claimOne(ledger, bench)).run.slot).toBe(START);
  });

  test("D4: a pause with an end wakes the pass at that instant and is over then", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a", { slot: START + 10 * MINUTE });
    await suspend(ledger, bench, "paused", START + 5 * MINUTE);
    expect((await ledger.pass(passRequest(bench))).nextWakeAt).toBe(START + 5 * MINUTE);

    await bench.advance(5 * MINUTE);
    await ledger.pass(passRequest(bench));
    expect((await ledger.job("job-a"))?.cursor.suspensions).toEqual([]);
  });

  test("D3: removing a job ends what only waited, lets the live run go on, and keeps the slot for a re-add", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a", { slot: START - MINUTE });
    const { claimed } = await ledger.pass(passRequest(bench));
    const live = claimed[0]!;
    expect(claimed).toHaveLength(1);

    await change(ledger, bench, { kind: "remove", by: "me" });

    const states = (await ledger.runs({ jobId: "job-a" })).map(({ state, reason }) => [state, reason]);
    expect(states).toEqual([
      ["cancelled", "removed"],
      ["claimed", undefined],
    ]);
    expect(await ledger.closeRuns([succeed(bench, live.claim)])).toEqual(["closed"]);
    expect(await ledger.jobs()).toEqual([]);
    expect(await ledger.jobs({ includeRemoved: true })).toHaveLength(1);
    let seen: number | undefined;
    await ledger.changeJob({
      jobId: "job-a",
      now: bench.now(),
      expectVersion: 0,
      change: {
        kind: "define",
        document: "{}",
        digest: "d",
        zone: "UTC",
        anchor: START,
        source: "s",
        by: "me",
      },
      settle: () => expect.fail("a removed job has nothing due"),
      isComplete: () => false,
      next: ({ cursor }) => {
        seen = cursor.nextSlot;
        return undefined;
      },
      digest: () => [],
    });
    expect(seen).toBe(START + MINUTE);
  });
}

type Ledger = Awaited<ReturnType<Bench["open"]>>;
type Change = Parameters<Ledger["changeJob"]>[0]["change"];

function change(ledger: Ledger, bench: Bench, change: Change) {
  return ledger.changeJob({
    jobId: "job-a",
    now: bench.now(),
    change,
    settle: keep,
    isComplete: () => false,
    next: ({ cursor }) =>
      cursor.nextSlot === undefined ? undefined : { slot: cursor.nextSlot, dueAt: cursor.nextSlot },
    digest: () => [],
  });
}

function suspend(ledger: Ledger, bench: Bench, suspension: "paused" | "quarantined", until?: number) {
  const more = until === undefined ? {} : { until };
  return change(ledger, bench, { kind: "suspend", suspension, by: "me", reason: "test", ...more });
}

function resume(ledger: Ledger, bench: Bench, suspension: "paused" | "quarantined") {
  return change(ledger, bench, { kind: "resume", suspension, by: "me" });
}
