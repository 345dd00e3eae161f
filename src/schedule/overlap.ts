// What a new slot and the job's other open runs mean to each other (T7).
//
// I1. Only live runs overlap (claimed, running, cancelling; runs by hand too). A retry in back-off is not live.
// I2. Work that waits for an approval or an effect has begun, and so has a workflow that waits for its next node: no slot
//     supersedes it; `replace` cancels the workflow as it does a live run.

import { type Instant, SECOND } from "../kernel/time.ts";
import type { Job } from "../records/job.ts";
import type { JobDecision, JobView, OpenRun } from "../records/ledger/slots.ts";
import { isLive } from "../records/run.ts";
import type { Fate } from "./accounting.ts";

export const OVERLAP: Fate = { state: "skipped", reason: "overlap" };

/** T7 `replace`: how long the new run waits for the old one's cleanup. */
export const REPLACE_WAIT_MS = 30 * SECOND;

export function liveRuns(view: JobView): readonly OpenRun[] {
  return view.openRuns.filter((run) => isLive(run.state) || hasBegun(run));
}

/** Whether it waits for its turn with part of it done: a workflow whose node is gone (L13, law 4). */
export function hasBegun(run: Pick<OpenRun, "state" | "startedAt">): boolean {
  return run.state === "queued" && run.startedAt !== undefined;
}

/** Live runs that a replacing slot cancels; those already on their way out are left alone. */
export function runsToCancel(job: Job, view: JobView): JobDecision["cancelRuns"] {
  if (job.overlap !== "replace") return [];
  return liveRuns(view)
    .filter((run) => run.state !== "cancelling")
    .map((run) => ({ runId: run.id, by: "replace" }));
}

/** Runs that wait and end because the slot `newest` comes: older waiters, and retries it overtakes. */
export function runsToEnd(job: Job, view: JobView, newest: Instant): JobDecision["endOpenRuns"] {
  // `allow` keeps every slot apart; with `all` every slot is owed.
  const supersedes = job.overlap !== "allow" && job.catchUp !== "all";
  const ended: { runId: string; state: "skipped" | "cancelled"; reason: string }[] = [];
  for (const run of view.openRuns) {
    if (run.slot === undefined || run.slot >= newest || !isWaitingToStart(run)) continue;
    const state = run.attempt > 1 ? "cancelled" : "skipped";
    if (run.trigger === "retry" || supersedes) ended.push({ runId: run.id, state, reason: "superseded" });
  }
  return ended;
}

function isWaitingToStart(run: OpenRun): boolean {
  if (run.state === "queued") return !hasBegun(run);
  return run.state === "waiting" && run.reason !== "approval" && run.reason !== "effect";
}
