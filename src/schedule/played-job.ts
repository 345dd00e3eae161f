// One job as the simulator plays it: a cursor and open runs, moved by the real decision, and the fates that come of it.

import type { Instant } from "../kernel/time.ts";
import type { Definition } from "../records/definition.ts";
import type { Job } from "../records/job.ts";
import type { CloseSlots, JobView, OpenRun, RunSlot } from "../records/ledger/slots.ts";
import { isLive } from "../records/run.ts";
import type { Schedule } from "../records/schedule.ts";
import { makeDecide, slotAfter } from "./decide.ts";
import type { Stretch } from "./due.ts";
import { makeFates, type SlotFate } from "./fates.ts";
import { isScheduled } from "./standing.ts";

export type { SlotFate } from "./fates.ts";

interface PlayedRun extends OpenRun {
  slot: Instant;
  run: RunSlot;
  endsAt: Instant | undefined;
}

export interface PlayedJob {
  /** When anything happens next; undefined = nothing ever. */
  nextEventAt(): Instant | undefined;
  /** Everything that is due at `now`: ends, decisions, starts. Live runs end at `downAt` at the latest. */
  pass(now: Instant, downAt: Instant): void;
  /** An outage ended whatever ran. */
  stopLiveRuns(): void;
  /** The next slot, where every slot from it on would be on time as long as a node is up. */
  steadyFrom(): { first: Instant; schedule: Schedule; jitterMs: number } | undefined;
  passSteady(stretch: Stretch, next: Instant | undefined): void;
  giveUp(until: Instant): void;
  /** All fates; slots before `until` that were not decided are `pending`. */
  finish(until: Instant): readonly SlotFate[];
}

export function makePlayedJob(
  job: Job,
  options: { from: Instant; durationMs: number; foldOver: number },
): PlayedJob {
  const decide = makeDecide(() => job);
  const fates = makeFates(job, options.foldOver);
  let view = firstView(job, options.from);
  let runs: PlayedRun[] = [];

  const setNext = (next: { slot: Instant; dueAt: Instant } | undefined) => {
    view = { ...view, cursor: { ...view.cursor, nextSlot: next?.slot, dueAt: next?.dueAt } };
  };
  const close = (run: PlayedRun, fate: Pick<CloseSlots, "state" | "reason">) => {
    runs = runs.filter((other) => other !== run);
    fates.closed({
      ...fate,
      kind: "close",
      first: run.slot,
      last: run.slot,
      count: 1,
      isCountAtLeast: false,
    });
  };
  const endFinished = (now: Instant) => {
    runs = runs.filter((run) => run.endsAt === undefined || run.endsAt > now);
  };

  function applyDecision(now: Instant): void {
    if (view.cursor.dueAt === undefined || view.cursor.dueAt > now) return;
    const decision = decide({ ...view, openRuns: runs }, now);
    for (const { runId, reason } of decision.endOpenRuns) {
      const run = runs.find((candidate) => candidate.id === runId);
      if (run) close(run, { state: "skipped", reason });
    }
    // Cleanup takes no time here: what is replaced ends at once.
    runs = runs.filter((run) => !decision.cancelRuns.some(({ runId }) => runId === run.id));
    for (const slot of decision.slots) {
      if (slot.kind === "close") fates.closed(slot);
      else runs.push(queued(slot, now));
    }
    setNext(decision.next);
  }

  function startReady(now: Instant, downAt: Instant): boolean {
    for (const run of runs) {
      if (run.state !== "queued" || run.run.readyAt > now) continue;
      if (run.run.isExclusive && runs.some((other) => isLive(other.state))) continue;
      fates.started(run.run, now);
      run.state = "running";
      run.endsAt = Math.min(now + options.durationMs, downAt);
      view = { ...view, cursor: { ...view.cursor, startedSlots: view.cursor.startedSlots + 1 } };
      return true;
    }
    return false;
  }

  return {
    nextEventAt() {
      const ends = runs.map((run) => run.endsAt ?? Number.POSITIVE_INFINITY);
      const at = Math.min(view.cursor.dueAt ?? Number.POSITIVE_INFINITY, ...ends);
      return Number.isFinite(at) ? at : undefined;
    },
    pass(now, downAt) {
      endFinished(now);
      applyDecision(now);
      while (startReady(now, downAt)) endFinished(now);
    },
    stopLiveRuns() {
      runs = runs.filter((run) => !isLive(run.state));
    },
    steadyFrom() {
      const first = view.cursor.nextSlot;
      const isSteady = runs.length === 0 && options.durationMs === 0;
      if (first === undefined || !isSteady || !isScheduled(job, view.cursor)) return undefined;
      if (job.repeat !== undefined || job.until !== undefined || view.cursor.dueAt === undefined)
        return undefined;
      return { first, schedule: job.schedule, jitterMs: job.jitterMs };
    },
    passSteady(stretch, next) {
      fates.steady(stretch);
      setNext(next === undefined || !isScheduled(job, view.cursor) ? undefined : slotAfter(job, next - 1));
    },
    giveUp(until) {
      fates.undecided("notSimulated", view.cursor.nextSlot, until);
      setNext(undefined);
    },
    finish(until) {
      for (const run of runs) if (run.state === "queued") fates.waiting(run.run);
      fates.undecided("pending", view.cursor.nextSlot, until);
      return fates.all();
    },
  };
}

function queued(slot: RunSlot, now: Instant): PlayedRun {
  const id = `played-${slot.slot}`;
  const open = {
    id,
    state: "queued",
    reason: slot.reason,
    attempt: 1,
    trigger: "schedule",
    createdAt: now,
  } as const;
  return { ...open, slot: slot.slot, run: slot, endsAt: undefined };
}

/** The view of a job that begins at `from` with nothing behind it. */
function firstView(job: Job, from: Instant): JobView {
  const definition: Definition = {
    ...{
      jobId: job.id,
      version: 1,
      digest: "",
      document: "",
      zone: job.timezone,
      anchor: from,
      source: "plan",
    },
    ...{ inForceFrom: from, inForceTo: undefined, endedBy: undefined },
  };
  const cursor: JobView["cursor"] = {
    ...{
      jobId: job.id,
      version: 1,
      revision: 1,
      nextSlot: undefined,
      dueAt: undefined,
      startedSlots: 0,
      strikes: 0,
    },
    ...{ streak: { failures: 0, cause: undefined, isAlerted: false }, suspensions: [], removedAt: undefined },
  };
  const next = isScheduled(job, cursor) ? slotAfter(job, from - 1) : undefined;
  return { definition, cursor: { ...cursor, nextSlot: next?.slot, dueAt: next?.dueAt }, openRuns: [] };
}
