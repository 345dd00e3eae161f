// Where a cursor stands after a change (D1, D4, T9), and where it returns to when the clock stepped back (T8).

import type { Instant } from "../kernel/time.ts";
import type { Definition } from "../records/definition.ts";
import type { Job } from "../records/job.ts";
import type { JobView, RewindRules } from "../records/ledger/slots.ts";
import { type ParseJob, slotBehindPause } from "./decide.ts";
import { jitteredInstant } from "./jitter.ts";
import { countSlots, nextSlot, previousSlot } from "./next-slot.ts";
import { accountingAround, openSlotAfter, type ScheduledJob } from "./open-slots.ts";
import { completionOf, isScheduled, suspensionAhead } from "./standing.ts";

export type CursorPosition = { slot: Instant; dueAt: Instant };

export type IsComplete = (view: JobView, now: Instant) => boolean;

/**
 * T9: whether no slot can come any more under the version in force, whatever suspends the job and whatever completion is on
 * record. A job by hand is never complete; a disabled one is not for being disabled.
 */
export function makeIsComplete(parseJob: ParseJob): IsComplete {
  return (view, now) => {
    const job = accountingAround(parseJob(view.definition), view);
    if (!hasSchedule(job)) return false;
    const next = openSlotAfter(job, now);
    return completionOf(job, { startedSlots: view.cursor.startedSlots, next }) !== undefined;
  };
}

function hasSchedule(job: Job): job is ScheduledJob {
  return job.schedule !== undefined;
}

export type CursorAfter = (
  view: JobView,
  now: Instant,
  change: { isScheduleChanged: boolean },
) => CursorPosition | undefined;

/**
 * The cursor under the new state, for a view that has been settled: the first slot after now, or the one that came
 * before now and only awaits its jitter. `isScheduleChanged` (schedule, zone or jitter, or a pause that began or ended)
 * keeps that one only where the schedule still names it. Undefined = no slot is due from here on: not scheduled,
 * disabled, removed, suspended without an end, on record as completed, or a past instant.
 *
 * A job that the change makes complete (`repeat` reached, `until` behind) is due for a look at once: the next decision
 * puts its completion on record.
 */
export function makeCursorAfter(parseJob: ParseJob): CursorAfter {
  return (view, now, change) => {
    const job = accountingAround(parseJob(view.definition), view);
    if (!isScheduled(job, view.cursor) || isOnRecordAsCompleted(view)) return undefined;
    const suspension = suspensionAhead(view.cursor, now);
    const kept = suspension ? undefined : keptSlot(job, { slot: view.cursor.nextSlot, now, ...change });
    const slot = kept ?? firstSlot(job, suspension ? suspension.until : now, now);
    if (slot === undefined) return undefined;
    const isComplete =
      completionOf(job, { startedSlots: view.cursor.startedSlots, next: slot }) !== undefined;
    return { slot, dueAt: isComplete ? now : jitteredInstant(job, slot) };
  };
}

function firstSlot(job: ScheduledJob, after: Instant | undefined, now: Instant): Instant | undefined {
  return after === undefined ? undefined : openSlotAfter(job, Math.max(after, now));
}

/** A slot whose instant has come but whose jitter has not is still to be decided: dropping it would lose it. */
function keptSlot(
  job: ScheduledJob,
  { slot, now, isScheduleChanged }: { slot: Instant | undefined; now: Instant; isScheduleChanged: boolean },
): Instant | undefined {
  if (slot === undefined || slot > now || jitteredInstant(job, slot) <= now) return undefined;
  if (job.accounted?.has(slot)) return undefined;
  return isScheduleChanged && nextSlot(job.schedule, slot - 1) !== slot ? undefined : slot;
}

function isOnRecordAsCompleted(view: JobView): boolean {
  return view.cursor.suspensions.some(({ kind, to }) => kind === "completed" && to === undefined);
}

export type RewindCursor = (view: JobView, now: Instant) => CursorPosition | undefined;

/**
 * T8: after a backward step the cursor returns to the first slot after `now` that has no row (`accountedAhead`). It never
 * moves forward: a cursor at or before `now` stays. A job that is suspended gets no slot before its suspension's end, one
 * that is on record as completed gets none.
 */
export function makeRewindCursor(parseJob: ParseJob): RewindCursor {
  return (view, now) => {
    const job = accountingAround(parseJob(view.definition), view);
    if (!isScheduled(job, view.cursor) || isOnRecordAsCompleted(view)) return undefined;
    const present = view.cursor.nextSlot;
    if (present !== undefined && present <= now)
      return { slot: present, dueAt: jitteredInstant(job, present) };
    const slot = openSlotAfter(job, now);
    if (slot === undefined) return undefined;
    // Complete, but not on record: a look at once puts it there, else its slots would come due for nobody.
    if (completionOf(job, { startedSlots: view.cursor.startedSlots, next: slot }))
      return { slot, dueAt: now };
    const suspension = suspensionAhead(view.cursor, now);
    if (!suspension) return { slot, dueAt: jitteredInstant(job, slot) };
    if (slot <= suspension.from) return { slot, dueAt: now };
    return suspension.until === undefined ? undefined : slotBehindPause(job, suspension.until, slot);
  };
}

/** All answers that the ledger asks for while it rewinds to `now`. */
export function makeRewindRules(parseJob: ParseJob): (now: Instant) => RewindRules {
  const rewindCursor = makeRewindCursor(parseJob);
  const isComplete = makeIsComplete(parseJob);
  return (now) => ({
    isComplete: (view) => isComplete(view, now),
    next: (view) => rewindCursor(view, now),
    pastPart: (definition, first) => pastPart(parseJob, { definition, first, now }),
  });
}

/** What a stretch of a version that begins at `first`, not after `now`, keeps when its later slots come due again. */
function pastPart(
  parseJob: ParseJob,
  { definition, first, now }: { definition: Definition; first: Instant; now: Instant },
): ReturnType<RewindRules["pastPart"]> {
  const { schedule } = parseJob(definition);
  if (!schedule) return { last: first, count: 1, isCountAtLeast: false };
  const last = Math.max(first, previousSlot(schedule, now + 1) ?? first);
  const { count, isAtLeast } = countSlots(schedule, { after: first - 1, until: last });
  return { last, count: Math.max(1, count), isCountAtLeast: isAtLeast };
}
