// What an event from outside means for a job (W7): the overlap rule of slots, told for something that has no slot. Pure.
//
// I1. Nothing that came is dropped without a word: what does not run is a `skipped` run with the reason.
// I2. Each event carries data of its own, so a retry of an earlier one is not superseded: only waiters of `queue` and
//     `replace` are.
// I3. Who waits to be claimed counts as busy: of two events that come at once the first runs, as it would a moment later.

import type { Job } from "../records/job.ts";
import type { JobView, OpenRun } from "../records/ledger/slots.ts";
import type { DecideEvent, EventDecision } from "../records/ledger/triggers.ts";
import type { Trigger } from "../records/trigger.ts";
import type { ParseJob } from "./decide.ts";
import { hasBegun, liveRuns, REPLACE_WAIT_MS, runsToCancel } from "./overlap.ts";

/** The decision for one event of this trigger. Throws what `parseJob` throws. */
export function makeDecideEvent(parseJob: ParseJob, trigger: Pick<Trigger, "kind" | "name">): DecideEvent {
  return (view, now) => {
    const job = parseJob(view.definition);
    const isMeant = job.on.some(({ kind, name }) => kind === trigger.kind && name === trigger.name);
    if (!isMeant || view.cursor.removedAt !== undefined) return undefined;
    const reason = whyNot(job, view, now);
    return reason === undefined ? decideOverlap(job, view, now) : { kind: "skip", reason };
  };
}

/** D4, as for slots; a completion of the schedule alone (`once`, `repeat`) does not end the trigger. */
function whyNot(job: Job, { cursor }: JobView, now: number): string | undefined {
  if (!job.enabled) return "disabled";
  const open = cursor.suspensions.find(
    ({ kind, to, until }) => kind !== "completed" && to === undefined && (until === undefined || until > now),
  );
  if (open) return open.kind;
  return job.until !== undefined && now > job.until ? "until" : undefined;
}

function decideOverlap(job: Job, view: JobView, now: number): EventDecision {
  const live = liveRuns(view);
  const waiters = view.openRuns.filter(isWaiter);
  if (job.overlap === "skip" && live.length + waiters.length > 0) return { kind: "skip", reason: "overlap" };
  const isBehindLive = live.length > 0;
  return {
    kind: "run",
    effects: job.effects,
    isExclusive: job.overlap !== "allow",
    startBy: job.overlap === "replace" && isBehindLive ? now + REPLACE_WAIT_MS : undefined,
    cancelRuns: runsToCancel(job, view),
    endOpenRuns: supersededBy(job, waiters, isBehindLive).map(({ id }) => ({
      runId: id,
      state: "skipped",
      reason: "superseded",
    })),
  };
}

/** First attempts of slots and events that have not begun; runs by hand are a person's. */
function isWaiter(run: OpenRun): boolean {
  return (
    run.state === "queued" &&
    !hasBegun(run) &&
    run.attempt === 1 &&
    ["event", "schedule"].includes(run.trigger)
  );
}

/** T7: `queue` keeps the newest waiter; with nothing live the oldest is as good as begun (I3). */
function supersededBy(job: Job, waiters: readonly OpenRun[], isBehindLive: boolean): readonly OpenRun[] {
  if (job.overlap === "replace") return waiters;
  if (job.overlap !== "queue") return [];
  return isBehindLive ? waiters : waiters.slice(1);
}
