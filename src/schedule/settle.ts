// Closing what was due before a change of a job, under its old state (D1, D3, D4).

import type { DecideJob, JobDecision, JobView } from "../records/ledger/slots.ts";
import { isLive } from "../records/run.ts";
import { makeAccounting } from "./accounting.ts";
import { PAST_GRACE } from "./choose.ts";
import { closeAll, closing, decideExhausted, decideSuspended, HELD, type ParseJob } from "./decide.ts";
import { dueSlots, isWithinGrace } from "./due.ts";
import { accountingAround, type ScheduledJob } from "./open-slots.ts";
import { isHeld, isScheduled, repeatsLeft, suspensionAhead } from "./standing.ts";

export interface SettleOptions {
  /** Why slots that could still have run do not: `edited`, `paused`, `removed`, `held`. */
  reason: "edited" | "paused" | "removed" | "held";
  /**
   * Whether the cursor goes on as it was (a change of neither schedule, zone nor jitter; a hold and its end). Then a
   * slot whose jitter has not passed stays due; otherwise the new cursor begins after now and it is closed here.
   */
  isCursorKept: boolean;
}

/** Slots past their grace become `missed`, later ones `skipped: <reason>`; while held, `missed: held`. Nothing runs. */
export function makeSettle(parseJob: ParseJob, options: SettleOptions): DecideJob {
  return (view, now) => {
    const job = accountingAround(parseJob(view.definition), view);
    const endOpenRuns = options.reason === "removed" ? waitingRuns(view) : [];
    const first = view.cursor.nextSlot;
    if (first === undefined || !isScheduled(job, view.cursor))
      return { slots: [], endOpenRuns, cancelRuns: [], next: undefined };
    const suspension = suspensionAhead(view.cursor, now);
    if (suspension) return { ...decideSuspended(job, first, suspension), endOpenRuns };
    return { ...settleDue(job, { view, now, options }), endOpenRuns };
  };
}

/** D1: the settlement for an edited definition. Without a word on it, the schedule counts as changed: nothing is lost then. */
export function settleForEdit(
  parseJob: ParseJob,
  options: { isScheduleChanged: boolean } = { isScheduleChanged: true },
): DecideJob {
  return makeSettle(parseJob, { reason: "edited", isCursorKept: !options.isScheduleChanged });
}

function settleDue(
  job: ScheduledJob,
  { view, now, options }: { view: JobView; now: number; options: SettleOptions },
): JobDecision {
  const first = view.cursor.nextSlot ?? now;
  const latest = Math.min(now, job.until ?? Number.POSITIVE_INFINITY);
  const window = { first, now, latest, isJittered: options.isCursorKept };
  if (repeatsLeft(job, view) <= 0) return decideExhausted(job, view, window);
  const due = dueSlots(job, window);
  if (isHeld(view.cursor)) return closing(job, view, closeAll(job, due, HELD), due.next);
  const accounting = makeAccounting(job);
  for (const stretch of due.older) accounting.close(PAST_GRACE, stretch);
  for (const slot of due.listed) {
    const fate = isWithinGrace(job, slot, now)
      ? { state: "skipped" as const, reason: options.reason }
      : PAST_GRACE;
    accounting.closeOne(fate, slot);
  }
  return closing(job, view, accounting.slots, due.next);
}

/** A removed job starts nothing any more; what is live goes on (D3). */
function waitingRuns(view: JobView): JobDecision["endOpenRuns"] {
  return view.openRuns
    .filter((run) => !isLive(run.state))
    .map((run) => ({ runId: run.id, state: "cancelled", reason: "removed" }));
}
