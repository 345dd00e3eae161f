// The smallest thing that keeps a ledger's promises for one job, in memory: compare-and-set cursor, unique first
// attempts, versions and suspensions. Random histories are played on it, and it can be audited like a real one.

import { expect } from "vitest";
import type { Instant } from "../../src/kernel/time.ts";
import type { Cursor, Definition, Suspension, SuspensionKind } from "../../src/records/definition.ts";
import type { Job } from "../../src/records/job.ts";
import type {
  AuditRow,
  AuditView,
  CloseSlots,
  DecideJob,
  JobDecision,
  JobView,
  OpenRun,
} from "../../src/records/ledger/slots.ts";
import { isLive } from "../../src/records/run.ts";
import { makeCursorAfter, makeIsComplete } from "../../src/schedule/cursor-after.ts";
import { makeDecide } from "../../src/schedule/decide.ts";
import { slotsBetween } from "../../src/schedule/next-slot.ts";
import { makeSettle, settleForEdit } from "../../src/schedule/settle.ts";
import { cursorOf, definitionOf, suspensionOf } from "./views.ts";

interface PlayedRun extends OpenRun {
  slot: Instant;
  readyAt: Instant;
  isExclusive: boolean;
}

export interface PlayedLedger {
  readonly rows: AuditRow[];
  /** Every slot that a row stands for, by name, in the order in which they were accounted for. */
  readonly accounted: readonly Instant[];
  readonly cursor: Cursor;
  readonly openRuns: readonly PlayedRun[];
  parseJob(definition: Definition): Job;
  pass(now: Instant): JobDecision | undefined;
  /** Starts what may start; returns how many did. */
  start(now: Instant): number;
  /** Ends the oldest live run; `retry` leaves a further attempt waiting. */
  end(how: "done" | "retry"): void;
  edit(now: Instant, job: Job, isScheduleChanged: boolean): void;
  suspend(now: Instant, kind: SuspensionKind, until?: Instant): void;
  resume(now: Instant, kind: SuspensionKind): void;
  auditView(): AuditView;
}

export function makePlayedLedger(firstJob: Job, start: Instant): PlayedLedger {
  const jobs = new Map<number, Job>([[1, firstJob]]);
  const definitions: Definition[] = [definitionOf({ inForceFrom: start })];
  const history: Suspension[] = [];
  const rows: AuditRow[] = [];
  const accounted: Instant[] = [];
  let cursor = cursorOf(undefined);
  let runs: PlayedRun[] = [];

  const parseJob = (definition: Definition) => jobs.get(definition.version)!;
  const view = (): JobView => ({
    definition: definitions.at(-1)!,
    cursor: { ...cursor, suspensions: history.filter(({ to }) => to === undefined) },
    openRuns: runs,
  });
  const place = (position: { slot: Instant; dueAt: Instant | undefined } | undefined) => {
    const isCompleted = history.some(({ kind, to }) => kind === "completed" && to === undefined);
    expect(isCompleted && position, "a completed job has no next slot").toBeFalsy();
    cursor = { ...cursor, nextSlot: position?.slot, dueAt: position?.dueAt, revision: cursor.revision + 1 };
  };
  const row = (parts: Partial<AuditRow> & { slot: Instant }): AuditRow => ({
    ...{
      runId: `run-${parts.slot}`,
      slotTo: undefined,
      slotCount: 1,
      isCountAtLeast: false,
      state: "queued",
    },
    ...{ startedAt: undefined, ...parts },
  });

  /** The slots of a closed stretch under the schedule in force; its count must be theirs. */
  function namesOf({ first, last, count }: CloseSlots): Instant[] {
    const { schedule } = parseJob(definitions.at(-1)!);
    const names = slotsBetween(schedule!, { after: first - 1, until: last, max: 100_000 });
    expect([names[0], names.at(-1), names.length]).toEqual([first, last, count]);
    return names;
  }

  function apply(decision: JobDecision, now: Instant): JobDecision {
    for (const { runId } of decision.endOpenRuns) {
      const run = runs.find(({ id }) => id === runId);
      expect(run && !isLive(run.state), "only waiting runs are ended").toBe(true);
      runs = runs.filter((other) => other !== run);
    }
    for (const { runId } of decision.cancelRuns) runs = runs.filter(({ id }) => id !== runId);
    for (const entry of decision.slots) {
      if (entry.kind === "close") {
        rows.push(row({ slot: entry.first, slotTo: entry.last, slotCount: entry.count, state: entry.state }));
        accounted.push(...namesOf(entry));
        continue;
      }
      expect(
        rows.some(({ slot }) => slot === entry.slot),
        "a first attempt is unique",
      ).toBe(false);
      rows.push(row({ slot: entry.slot }));
      accounted.push(entry.slot);
      const { slot, readyAt, isExclusive } = entry;
      runs.push({
        ...{ id: `run-${slot}-1`, state: "queued", reason: undefined, slot, attempt: 1, trigger: "schedule" },
        ...{ createdAt: now, readyAt, isExclusive },
      });
    }
    place(decision.next);
    if (decision.completed) history.push(suspensionOf("completed", now, { reason: decision.completed }));
    return decision;
  }

  const change = (now: Instant, settle: DecideJob, isScheduleChanged: boolean, alter: () => void) => {
    apply(settle(view(), now), now);
    alter();
    place(makeCursorAfter(parseJob)(view(), now, { isScheduleChanged }));
  };

  place(makeCursorAfter(parseJob)(view(), start, { isScheduleChanged: true }));
  return {
    rows,
    accounted,
    get cursor() {
      return cursor;
    },
    get openRuns() {
      return runs;
    },
    parseJob,
    pass(now) {
      if (cursor.dueAt === undefined || cursor.dueAt > now) return undefined;
      return apply(makeDecide(parseJob)(view(), now), now);
    },
    start(now) {
      let started = 0;
      for (const run of [...runs].sort((a, b) => a.slot - b.slot)) {
        const hasLive = runs.some((other) => isLive(other.state));
        if (run.state !== "queued" || run.readyAt > now || (run.isExclusive && hasLive)) continue;
        run.state = "running";
        started += 1;
        if (run.attempt > 1) continue;
        cursor = { ...cursor, startedSlots: cursor.startedSlots + 1 };
        const own = rows.find(({ slot, slotTo }) => slot === run.slot && slotTo === undefined);
        if (own) own.startedAt = now;
      }
      return started;
    },
    end(how) {
      const live = runs.find((run) => isLive(run.state));
      if (!live) return;
      runs = runs.filter((run) => run !== live);
      if (how === "done") return;
      const next = { id: `run-${live.slot}-${live.attempt + 1}`, attempt: live.attempt + 1 };
      runs.push({ ...live, ...next, state: "waiting", reason: "retry", trigger: "retry" });
    },
    edit(now, job, isScheduleChanged) {
      change(now, settleForEdit(parseJob, { isScheduleChanged }), isScheduleChanged, () => {
        const present = definitions.pop()!;
        definitions.push(
          { ...present, inForceTo: now },
          { ...present, version: present.version + 1, inForceFrom: now },
        );
        jobs.set(present.version + 1, job);
        // A completed job is reopened by a version under which slots come again (T9), and only by such a one.
        if (makeIsComplete(parseJob)(view(), now)) return;
        for (const open of history) if (open.kind === "completed") open.to ??= now;
      });
    },
    suspend(now, kind, until) {
      const isCursorKept = kind === "held";
      const settle = makeSettle(parseJob, { reason: isCursorKept ? "held" : "paused", isCursorKept });
      change(now, settle, !isCursorKept, () => history.push(suspensionOf(kind, now, { until })));
    },
    resume(now, kind) {
      change(now, makeDecide(parseJob), kind !== "held", () => {
        for (const open of history) if (open.kind === kind) open.to ??= now;
      });
    },
    auditView: () => ({
      ...{
        jobId: "job",
        definitions,
        suspensions: history,
        cursor: view().cursor,
        rows,
        summaries: [],
        early: [],
      },
    }),
  };
}
