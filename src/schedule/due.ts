// Which slots are due, folded: the newest one by one, a long stretch before them as first, last and count (T6).
//
// I1. Due slots are a prefix of the slots from the cursor on: none is left out between two that are in.
// I2. The work is bounded however long the gap was: nobody waits for a million slots to be listed.

import { HOUR, type Instant, SECOND } from "../kernel/time.ts";
import type { Job } from "../records/job.ts";
import type { Schedule } from "../records/schedule.ts";
import { jitteredInstant } from "./jitter.ts";
import { countSlots, nextSlot, periodAt, previousSlot } from "./next-slot.ts";

/** A job that has a schedule. */
export type ScheduledJob = Job & { schedule: Schedule };

/** Slots without their names: a range row in the making. */
export interface Stretch {
  first: Instant;
  last: Instant;
  count: number;
  isCountAtLeast: boolean;
}

export interface DueSlots {
  /** Due slots too old to be looked at one by one; all of them past their grace. */
  older: Stretch | undefined;
  /** The rest, oldest first. */
  listed: readonly Instant[];
  /** The first slot that is not due; undefined = none will come. */
  next: Instant | undefined;
}

export interface DueWindow {
  /** The first slot not accounted for. */
  first: Instant;
  now: Instant;
  /** Slots after this nominal instant are not due. */
  latest: Instant;
  /** Whether a slot is due only when its jitter has passed, too. Default true. */
  isJittered?: boolean;
}

/** More slots than this are folded. Above the 120 that a grace of 120 s can hold at one a second. */
const MAX_LISTED = 300;

export function dueSlots(job: ScheduledJob, window: DueWindow): DueSlots {
  const listed: Instant[] = [];
  let slot: Instant | undefined = window.first;
  while (slot !== undefined && isDue(job, slot, window)) {
    if (listed.length === MAX_LISTED) return foldedDueSlots(job, window);
    listed.push(slot);
    slot = nextSlot(job.schedule, slot);
  }
  return { older: undefined, listed, next: slot };
}

function isDue(job: ScheduledJob, slot: Instant, window: DueWindow): boolean {
  if (slot > window.latest) return false;
  return (window.isJittered === false ? slot : jitteredInstant(job, slot)) <= window.now;
}

function foldedDueSlots(job: ScheduledJob, window: DueWindow): DueSlots {
  const { schedule } = job;
  let slot = previousSlot(schedule, Math.min(window.now, window.latest) + 1);
  while (slot !== undefined && !isDue(job, slot, window)) slot = previousSlot(schedule, slot);
  const next = slot === undefined ? undefined : nextSlot(schedule, slot);
  const listed: Instant[] = [];
  while (slot !== undefined && slot >= window.first) {
    if (listed.length >= job.catchUpLimit && !isWithinGrace(job, slot, window.now)) break;
    listed.unshift(slot);
    slot = previousSlot(schedule, slot);
  }
  if (slot === undefined || slot < window.first) return { older: undefined, listed, next };
  const { count, isAtLeast } = countSlots(schedule, { after: window.first - 1, until: slot });
  return { older: { first: window.first, last: slot, count, isCountAtLeast: isAtLeast }, listed, next };
}

const SHORTEST_GRACE_MS = 120 * SECOND;
const LONGEST_GRACE_MS = 2 * HOUR;

/** T6: half the period, clamped to 120 s … 2 h; 120 s for a once-job. */
export function graceMs(schedule: Schedule, slot: Instant): number {
  if (schedule.kind === "at") return SHORTEST_GRACE_MS;
  const period = periodAt(schedule, slot) ?? 0;
  return Math.min(Math.max(period / 2, SHORTEST_GRACE_MS), LONGEST_GRACE_MS);
}

/** T6: lateness counts from the jittered instant. */
export function isWithinGrace(job: ScheduledJob, slot: Instant, now: Instant): boolean {
  return now - jitteredInstant(job, slot) <= graceMs(job.schedule, slot);
}
