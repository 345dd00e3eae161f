// Which slots are due, folded: the newest one by one, a long stretch before them as first, last and count (T6).
//
// I1. Due slots are a prefix of the open slots from the cursor on: none is left out between two that are in.
// I2. The work is bounded however long the gap was: nobody waits for a million slots to be listed.

import { HOUR, type Instant, SECOND } from "../kernel/time.ts";
import type { Schedule } from "../records/schedule.ts";
import { jitteredInstant } from "./jitter.ts";
import { periodAt } from "./next-slot.ts";
import {
  openSlotAfter,
  openSlotBefore,
  openStretches,
  type ScheduledJob,
  type Stretch,
} from "./open-slots.ts";

export interface DueSlots {
  /** Due slots too old to be looked at one by one; all of them past their grace. Empty = none. */
  older: readonly Stretch[];
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
  let slot: Instant | undefined = firstOpen(job, window.first);
  while (slot !== undefined && isDue(job, slot, window)) {
    if (listed.length === MAX_LISTED) return foldedDueSlots(job, window);
    listed.push(slot);
    slot = openSlotAfter(job, slot);
  }
  return { older: [], listed, next: slot };
}

function firstOpen(job: ScheduledJob, first: Instant): Instant | undefined {
  return job.accounted?.has(first) ? openSlotAfter(job, first) : first;
}

function isDue(job: ScheduledJob, slot: Instant, window: DueWindow): boolean {
  if (slot > window.latest) return false;
  return (window.isJittered === false ? slot : jitteredInstant(job, slot)) <= window.now;
}

function foldedDueSlots(job: ScheduledJob, window: DueWindow): DueSlots {
  const first = firstOpen(job, window.first) ?? window.first;
  let slot = openSlotBefore(job, Math.min(window.now, window.latest) + 1);
  while (slot !== undefined && !isDue(job, slot, window)) slot = openSlotBefore(job, slot);
  const next = slot === undefined ? undefined : openSlotAfter(job, slot);
  const listed: Instant[] = [];
  while (slot !== undefined && slot >= first) {
    if (listed.length >= job.catchUpLimit && !isWithinGrace(job, slot, window.now)) break;
    listed.unshift(slot);
    slot = openSlotBefore(job, slot);
  }
  if (slot === undefined || slot < first) return { older: [], listed, next };
  return { older: openStretches(job, { first, last: slot }), listed, next };
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
