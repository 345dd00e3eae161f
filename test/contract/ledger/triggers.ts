// Rules of events from outside as far as the ledger keeps them (W7, L2, T7).

import { expect, test } from "vitest";
import { DAY, MINUTE } from "../../../src/kernel/time.ts";
import type { Ledger } from "../../../src/records/ledger/index.ts";
import type { DecideEvent } from "../../../src/records/ledger/triggers.ts";
import type { TriggerEvent } from "../../../src/records/trigger.ts";
import {
  type Bench,
  claimOne,
  define,
  fail,
  manualRun,
  rowOf,
  START,
  startOne,
  succeed,
  whenFree,
} from "./fixtures.ts";

export function triggerRules(open: () => Promise<Bench>): void {
  test("W7: an event is kept and each job that it concerns gets a run of it, in one transaction", async () => {
    const bench = await open();
    const ledger = await bench.open();
    for (const id of ["job-a", "job-b", "job-c"]) await define(ledger, bench, id, { slot: undefined });
    const decide: DecideEvent = ({ cursor }, now) =>
      ({ "job-a": RUN, "job-b": { kind: "skip", reason: "paused" } as const })[cursor.jobId] ??
      (now ? undefined : RUN);

    const answer = await fire(ledger, bench, { decide, jobIds: ["job-a", "job-b", "job-c"] });

    if (answer.kind !== "fired") throw new Error(answer.kind);
    expect(answer.runs.map(({ jobId, state, reason, trigger }) => [jobId, state, reason, trigger])).toEqual([
      ["job-a", "queued", undefined, "event"],
      ["job-b", "skipped", "paused", "event"],
    ]);
    expect(await rowOf(ledger, answer.runs[0]!.id)).toEqual(answer.runs[0]);
    expect(answer.runs[0]).toMatchObject({ dedupeKey: "event/webhook/deploy/k-1/job-a", eventId: "event-1" });
    expect(await ledger.triggerEvent("event-1")).toEqual(event());
    expect((await ledger.events({ jobId: "job-b" })).at(-1)).toMatchObject({
      kind: "run-skipped",
      data: { reason: "paused", eventId: "event-1" },
    });
    expect(await ledger.triggerEvent("event-2")).toBeUndefined();
  });

  test("W7: many keys are asked for at once; only those that are remembered come back", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a", { slot: undefined });
    await fire(ledger, bench, {});
    const many = Array.from({ length: 2_000 }, (_, index) => `watch/in/${index}`);

    expect(await ledger.knownEvents([...many, "webhook/deploy/k-1"])).toEqual(
      new Set(["webhook/deploy/k-1"]),
    );
    expect(await ledger.knownEvents([])).toEqual(new Set());
  });

  test("L2: a repeated event starts nothing, whatever jobs listen by then; the same key with other data is refused", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a", { slot: undefined });
    const first = await fire(ledger, bench, {});
    await define(ledger, bench, "job-b", { slot: undefined });

    const again = await fire(ledger, bench, {
      event: event({ id: "event-2", receivedAt: START + 1 }),
      jobIds: ["job-a", "job-b"],
    });
    const other = await fire(ledger, bench, { event: event({ id: "event-3", digest: "other" }) });

    expect(again).toEqual({ ...first, kind: "known" });
    expect(other).toMatchObject({ kind: "conflict", event: { id: "event-1" } });
    expect(await ledger.runs({})).toHaveLength(1);
  });

  test("L2: two nodes receive one event at once: it starts one run", async () => {
    const bench = await open();
    const [a, b] = [await bench.open(), await bench.open()];
    await define(a, bench, "job-a", { slot: undefined });

    const answers = await Promise.all(
      [a, b].map((node, n) => whenFree(() => fire(node, bench, { event: event({ id: `event-${n}` }) }))),
    );

    expect(answers.map(({ kind }) => kind).toSorted()).toEqual(["fired", "known"]);
    expect(await a.runs({})).toHaveLength(1);
  });

  test("T7: the decision sees the job's open runs under lock, ends waiters and cancels live ones", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a", { slot: undefined });
    await ledger.enqueue([manualRun(bench, { jobId: "job-a", version: 1, isExclusive: true })]);
    const live = await startOne(ledger, bench);
    const waiter = await fire(ledger, bench, {});
    const decide: DecideEvent = ({ openRuns }, now) => ({
      ...RUN,
      startBy: now + MINUTE,
      endOpenRuns: openRuns
        .filter(({ trigger }) => trigger === "event")
        .map(({ id }) => ({ runId: id, state: "skipped", reason: "superseded" })),
      cancelRuns: openRuns
        .filter(({ state }) => state === "running")
        .map(({ id }) => ({ runId: id, by: "replace" })),
    });

    await fire(ledger, bench, { decide, event: event({ id: "event-2", key: "webhook/deploy/k-2" }) });

    expect((await rowOf(ledger, live.run.id)).state).toBe("cancelling");
    if (waiter.kind !== "fired") throw new Error(waiter.kind);
    expect(await rowOf(ledger, waiter.runs[0]!.id)).toMatchObject({ state: "skipped", reason: "superseded" });
  });

  test("L6: a retry is of the same event", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a", { slot: undefined });
    await fire(ledger, bench, {});
    const { claim } = await startOne(ledger, bench);
    const next = { id: bench.id(), readyAt: START, trigger: "retry", idempotencyKey: "same" } as const;
    await ledger.closeRuns([fail(bench, claim, { next })]);

    expect((await claimOne(ledger, bench)).run).toMatchObject({ attempt: 2, eventId: "event-1" });
  });

  test("triggeredJobs are those whose document has an `on`; removed ones are left out", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a", { slot: undefined, document: { on: [{ webhook: "deploy" }] } });
    await define(ledger, bench, "job-b", { slot: undefined });
    expect((await ledger.triggeredJobs()).map(({ definition }) => definition.jobId)).toEqual(["job-a"]);
  });

  test("L8: an event whose runs were pruned is emptied, keeps its key, and is forgotten when its time is over", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a", { slot: undefined });
    await fire(ledger, bench, {});
    const { claim } = await startOne(ledger, bench);
    await ledger.closeRuns([succeed(bench, claim)]);
    const forget = (before: number) => ledger.forgetEvents({ before, limit: 10 });

    await forget(START + DAY);
    expect((await ledger.triggerEvent("event-1"))?.data).toBe('{"ref":"main"}');
    await bench.sql(`DELETE FROM "runs"`);
    await forget(START);
    expect(await ledger.triggerEvent("event-1")).toMatchObject({ data: "", key: "webhook/deploy/k-1" });
    expect((await fire(ledger, bench, {})).kind).toBe("known");
    await forget(START + DAY);
    expect(await ledger.triggerEvent("event-1")).toBeUndefined();
  });
}

const RUN = {
  kind: "run",
  effects: "external",
  isExclusive: true,
  startBy: undefined,
  endOpenRuns: [],
  cancelRuns: [],
} as const;

function event(parts: Partial<TriggerEvent> = {}): TriggerEvent {
  return {
    id: "event-1",
    key: "webhook/deploy/k-1",
    kind: "webhook",
    name: "deploy",
    receivedAt: START,
    contentType: "application/json",
    headers: { "x-github-event": "push" },
    data: '{"ref":"main"}',
    digest: "d1",
    ...parts,
  };
}

function fire(
  ledger: Ledger,
  bench: Bench,
  parts: { event?: TriggerEvent; jobIds?: string[]; decide?: DecideEvent },
) {
  return ledger.fireEvent({
    event: event(),
    jobIds: ["job-a"],
    now: bench.now(),
    decide: () => RUN,
    ...parts,
  });
}
