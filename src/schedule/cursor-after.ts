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
 * disabled, removed, suspended without an end, or complete (`repeat`, `until`, a past instant).
 */
export function makeCursorAfter(parseJob: ParseJob): CursorAfter {
  return (view, now, change) => {
    const job = parseJob(view.definition);
    if (!isScheduled(job, view.cursor)) return undefined;
    const { startedSlots, nextSlot: kept } = view.cursor;
    const suspension = suspensionAhead(view.cursor, now);
    const position =
      (suspension ? undefined : keptPosition(job, { slot: kept, now, ...change })) ??
      positionAfter(job, suspension ? suspension.until : now, now);
    if (!position) return undefined;
    return completionOf(job, { startedSlots, next: position.slot }) ? undefined : position;
  };
}

function positionAfter(
  job: ScheduledJob,
  after: Instant | undefined,
  now: Instant,
): CursorPosition | undefined {
  return after === undefined ? undefined : slotAfter(job, Math.max(after, now));
}

/** A slot whose instant has come but whose jitter has not is still to be decided: dropping it would lose it. */
function keptPosition(
  job: ScheduledJob,
  { slot, now, isScheduleChanged }: { slot: Instant | undefined; now: Instant; isScheduleChanged: boolean },
): CursorPosition | undefined {
  if (slot === undefined || slot > now) return undefined;
  if (isScheduleChanged && nextSlot(job.schedule, slot - 1) !== slot) return undefined;
  const dueAt = jitteredInstant(job, slot);
  return dueAt > now ? { slot, dueAt } : undefined;
}

export type RewindCursor = (
  view: JobView,
  now: Instant,
  isStarted: (slot: Instant) => boolean,
) => CursorPosition | undefined;

/**
 * T8: after a backward step the cursor returns to the first slot after `now` that neither started nor waits to start.
 * It never moves forward: a cursor at or before that slot stays.
 */
export function makeRewindCursor(parseJob: ParseJob): RewindCursor {
  return (view, now, isStarted) => {
    const job = parseJob(view.definition);
    if (!isScheduled(job, view.cursor)) return undefined;
    const present = view.cursor.nextSlot;
    const suspension = suspensionAhead(view.cursor, now);
    if (suspension) return suspension.until === undefined ? undefined : slotAfter(job, suspension.until);
    if (present !== undefined && present <= now)
      return { slot: present, dueAt: jitteredInstant(job, present) };
    const open = new Set(view.openRuns.map((run) => run.slot));
    let slot = nextSlot(job.schedule, now);
    while (slot !== undefined && slot !== present && (open.has(slot) || isStarted(slot))) {
      slot = nextSlot(job.schedule, slot);
    }
    if (completionOf(job, { startedSlots: view.cursor.startedSlots, next: slot })) return undefined;
    return slot === undefined ? undefined : slotAfter(job, slot - 1);
  };
}
