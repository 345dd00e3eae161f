// Where a job stands: suspended, exhausted, complete. The questions that come before any slot is looked at (D4, T9).

import { type Instant, SECOND } from "../kernel/time.ts";
import type { Cursor, Suspension } from "../records/definition.ts";
import type { Job } from "../records/job.ts";
import type { JobView, OpenRun } from "../records/ledger/slots.ts";
import type { ScheduledJob } from "./open-slots.ts";

/** A job that can have due slots at all: scheduled, enabled, not removed. */
export function isScheduled(job: Job, cursor: Cursor): job is ScheduledJob {
  return job.schedule !== undefined && job.enabled && cursor.removedAt === undefined;
}

/**
 * The pause or quarantine that the cursor has yet to get past: its slots are not due (D4). A pause that has run out
 * still counts while the cursor stands before its end. One that began "later" than now still holds: the clock stepped
 * back, the person's word did not. `completed` is no such thing: a cursor with a next slot is open.
 */
export function suspensionAhead(cursor: Cursor, now: Instant): Suspension | undefined {
  const slot = cursor.nextSlot;
  return cursor.suspensions.find(
    ({ kind, to, until }) =>
      (kind === "paused" || kind === "quarantined") &&
      to === undefined &&
      (until === undefined || until > now || (slot !== undefined && slot <= until)),
  );
}

/** Whether its slots are due but become `missed: held` (D4). */
export function isHeld(cursor: Cursor): boolean {
  return cursor.suspensions.some(({ kind, to }) => kind === "held" && to === undefined);
}

/** T9: how many more slots may get a first attempt; pending ones are spoken for. */
export function repeatsLeft(job: Job, view: JobView): number {
  if (job.repeat === undefined) return Number.POSITIVE_INFINITY;
  return job.repeat - view.cursor.startedSlots - pendingFirstAttempts(view).length;
}

/** First attempts of slots that have not begun. */
export function pendingFirstAttempts(view: JobView): readonly OpenRun[] {
  return view.openRuns.filter(
    (run) =>
      run.slot !== undefined && run.attempt === 1 && ["queued", "claimed", "waiting"].includes(run.state),
  );
}

/** Why a job is complete as things stand; undefined = slots may still come. `once` = its one instant is behind. */
export function completionOf(
  job: Job,
  standing: { startedSlots: number; next: Instant | undefined },
): "once" | "repeat" | "until" | "ended" | undefined {
  if (job.schedule === undefined) return undefined;
  if (job.repeat !== undefined && standing.startedSlots >= job.repeat) return "repeat";
  if (standing.next === undefined) return job.schedule.kind === "at" ? "once" : "ended";
  return job.until !== undefined && standing.next > job.until ? "until" : undefined;
}

/**
 * When to look again at a job whose last repetition is queued but has not begun: soon after its slot, later and later
 * (1 s … 30 s). Starting completes the job; a run that ended unstarted gives the repetition back.
 */
export function lookAgainAt(view: JobView, now: Instant): Instant {
  const newest = Math.max(...pendingFirstAttempts(view).map((run) => run.slot ?? now), 0);
  const waited = newest === 0 ? 0 : (now - newest) / 2;
  return now + Math.round(Math.min(Math.max(waited, SECOND), 30 * SECOND));
}
