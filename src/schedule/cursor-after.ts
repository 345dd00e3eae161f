// Where a cursor stands after a change (D1, D4, T9), and where it returns to when the clock stepped back (T8).

import type { Instant } from "../kernel/time.ts";
import type { JobView } from "../records/ledger/slots.ts";
import { type ParseJob, slotAfter } from "./decide.ts";
import type { ScheduledJob } from "./due.ts";
import { jitteredInstant } from "./jitter.ts";
import { nextSlot } from "./next-slot.ts";
import { completionOf, isScheduled, suspensionAhead } from "./standing.ts";

export type CursorPosition = { slot: Instant; dueAt: Instant };

export type CursorAfter = (
  view: JobView,
  now: Instant,
  change: { isScheduleChanged: boolean },
) => CursorPosition | undefined;

/**
 * The cursor under the new state, for a view that has been settled: the first slot after now, or the one that came
 * before now and only awaits its jitter. `isScheduleChanged` (schedule, zone or jitter, or a pause that began or ended)
 * keeps that one only where the schedule still names it. Undefined = no slot is due from here on: not scheduled,
 * disabled, removed, suspended without an end, on record as completed and still so, or a past instant.
 *
 * A job that the change makes complete (`repeat` reached, `until` behind) is due for a look at once: the next decision
 * puts its completion on record. A `completed` on record ends when, and only when, a position is returned (T9).
 */
export function makeCursorAfter(parseJob: ParseJob): CursorAfter {
  return (view, now, change) => {
    const job = parseJob(view.definition);
    if (!isScheduled(job, view.cursor)) return undefined;
    const suspension = suspensionAhead(view.cursor, now);
    const kept = suspension ? undefined : keptSlot(job, { slot: view.cursor.nextSlot, now, ...change });
    const slot = kept ?? firstSlot(job, suspension ? suspension.until : now, now);
    if (slot === undefined) return undefined;
    const isComplete =
      completionOf(job, { startedSlots: view.cursor.startedSlots, next: slot }) !== undefined;
    if (!isComplete) return { slot, dueAt: jitteredInstant(job, slot) };
    return isOnRecordAsCompleted(view) ? undefined : { slot, dueAt: now };
  };
}

function firstSlot(job: ScheduledJob, after: Instant | undefined, now: Instant): Instant | undefined {
  return after === undefined ? undefined : nextSlot(job.schedule, Math.max(after, now));
}

/** A slot whose instant has come but whose jitter has not is still to be decided: dropping it would lose it. */
function keptSlot(
  job: ScheduledJob,
  { slot, now, isScheduleChanged }: { slot: Instant | undefined; now: Instant; isScheduleChanged: boolean },
): Instant | undefined {
  if (slot === undefined || slot > now || jitteredInstant(job, slot) <= now) return undefined;
  return isScheduleChanged && nextSlot(job.schedule, slot - 1) !== slot ? undefined : slot;
}

function isOnRecordAsCompleted(view: JobView): boolean {
  return view.cursor.suspensions.some(({ kind, to }) => kind === "completed" && to === undefined);
}

export type RewindCursor = (
  view: JobView,
  now: Instant,
  isStarted: (slot: Instant) => boolean,
) => CursorPosition | undefined;

/**
 * T8: after a backward step the cursor returns to the first slot after `now` that neither started nor waits to start.
 * It never moves forward: a cursor at or before that slot stays. A job that is suspended gets no slot beyond its
 * suspension's beginning; those before it are due for a look at once, which closes them again.
 */
export function makeRewindCursor(parseJob: ParseJob): RewindCursor {
  return (view, now, isStarted) => {
    const job = parseJob(view.definition);
    if (!isScheduled(job, view.cursor)) return undefined;
    const present = view.cursor.nextSlot;
    if (present !== undefined && present <= now)
      return { slot: present, dueAt: jitteredInstant(job, present) };
    const slot = firstUnstarted(job, { view, now, isStarted });
    if (slot === undefined) return undefined;
    // Complete, but not on record: a look at once puts it there, else its slots would come due for nobody.
    if (completionOf(job, { startedSlots: view.cursor.startedSlots, next: slot }))
      return isOnRecordAsCompleted(view) ? undefined : { slot, dueAt: now };
    const suspension = suspensionAhead(view.cursor, now);
    if (!suspension) return { slot, dueAt: jitteredInstant(job, slot) };
    if (slot <= suspension.from) return { slot, dueAt: now };
    return suspension.until === undefined ? undefined : slotAfter(job, Math.max(suspension.until, slot - 1));
  };
}

function firstUnstarted(
  job: ScheduledJob,
  { view, now, isStarted }: { view: JobView; now: Instant; isStarted: (slot: Instant) => boolean },
): Instant | undefined {
  const open = new Set(view.openRuns.map((run) => run.slot));
  let slot = nextSlot(job.schedule, now);
  while (slot !== undefined && slot !== view.cursor.nextSlot && (open.has(slot) || isStarted(slot))) {
    slot = nextSlot(job.schedule, slot);
  }
  return slot;
}
