// The next slot of a schedule: the one function that says when (T2, T4). No library decides here.
//
// Fixed expressions name wall times, and each wall time has one instant; both are non-decreasing, so the search needs
// no backtracking. Wildcard expressions name instants, found stretch by stretch of constant offset.
// I1. Slots strictly increase: equal instants are one slot.

import type { Instant } from "../kernel/time.ts";
import type { CronSchedule, EverySchedule, Schedule } from "../records/schedule.ts";
import { nextWall, smallestWallGap } from "./cron-walk.ts";
import { firstInstantOf, openZone } from "./zone.ts";

/** The last instant a slot may have: 9999-12-31T23:59:59Z, the last that ISO-8601 writes with four digits. */
export const LAST_INSTANT: Instant = Date.UTC(9999, 11, 31, 23, 59, 59);

/** The first slot strictly after `after`; undefined = none will come. Throws `schedule.zone` for a zone this machine lacks. */
export function nextSlot(schedule: Schedule, after: Instant): Instant | undefined {
  const slot = nextOf(schedule, after);
  return slot !== undefined && slot <= LAST_INSTANT ? slot : undefined;
}

function nextOf(schedule: Schedule, after: Instant): Instant | undefined {
  switch (schedule.kind) {
    case "at":
      return schedule.at > after ? schedule.at : undefined;
    case "every":
      return nextElapsed(schedule, after);
    case "cron":
      return schedule.fields.isFixed ? nextFixed(schedule, after) : nextWildcard(schedule, after);
  }
}

function nextElapsed(schedule: EverySchedule, after: Instant): Instant {
  const passed = Math.floor((after - schedule.anchor) / schedule.everyMs);
  return schedule.anchor + Math.max(1, passed + 1) * schedule.everyMs;
}

/** Every wall time up to the present one has its instant at or before `after`: the search starts right behind it. */
function nextFixed(schedule: CronSchedule, after: Instant): Instant | undefined {
  const zone = openZone(schedule.zone);
  let wall = nextWall(schedule.fields, after + zone.offsetAt(after));
  while (wall !== undefined) {
    const instant = firstInstantOf(zone, wall);
    if (instant > after) return instant;
    // In the second pass of a repeated hour: these wall times had their slot in the first.
    wall = nextWall(schedule.fields, wall);
  }
  return undefined;
}

function nextWildcard(schedule: CronSchedule, after: Instant): Instant | undefined {
  const zone = openZone(schedule.zone);
  let offset = zone.offsetAt(after);
  let from = after;
  let seen = after;
  for (;;) {
    const wall = nextWall(schedule.fields, from + offset);
    if (wall === undefined || wall - offset > LAST_INSTANT) return undefined;
    const transition = zone.nextTransition(seen, wall - offset);
    if (!transition) return wall - offset;
    // The clock changes first: look again from there, its first instant included.
    seen = transition.at;
    from = transition.at - 1;
    offset = transition.offsetAfter;
  }
}

/** Slots in (`after`, `until`], oldest first, at most `max`. */
export function slotsBetween(
  schedule: Schedule,
  window: { after: Instant; until: Instant; max: number },
): Instant[] {
  const slots: Instant[] = [];
  let slot = nextSlot(schedule, window.after);
  while (slot !== undefined && slot <= window.until && slots.length < window.max) {
    slots.push(slot);
    slot = nextSlot(schedule, slot);
  }
  return slots;
}

/** T6: counting stops here, and the row says "at least". */
export const MAX_COUNTED_SLOTS = 100_000;

/** How many slots lie in (`after`, `until`]; counted up to 100,000, then `isAtLeast`. */
export function countSlots(
  schedule: Schedule,
  window: { after: Instant; until: Instant },
): { count: number; isAtLeast: boolean } {
  if (schedule.kind === "every") {
    const first = nextElapsed(schedule, window.after);
    const count = Math.max(0, Math.floor((window.until - first) / schedule.everyMs) + 1);
    return { count: Math.min(count, MAX_COUNTED_SLOTS), isAtLeast: count > MAX_COUNTED_SLOTS };
  }
  let count = 0;
  let slot = nextSlot(schedule, window.after);
  while (slot !== undefined && slot <= window.until) {
    if (count === MAX_COUNTED_SLOTS) return { count, isAtLeast: true };
    count += 1;
    slot = nextSlot(schedule, slot);
  }
  return { count, isAtLeast: false };
}

/** How far back is looked for a previous slot: the longest wait of an expression is 40 years (29 February on a weekday). */
const LONGEST_LOOK_BACK_MS = 50 * 366 * 86_400_000;

/** The last slot strictly before `before`; undefined = none (an interval has none before its anchor). */
export function previousSlot(schedule: Schedule, before: Instant): Instant | undefined {
  if (schedule.kind === "at") return schedule.at < before ? schedule.at : undefined;
  if (schedule.kind === "every") {
    const steps = Math.ceil((before - schedule.anchor) / schedule.everyMs) - 1;
    return steps >= 1 ? schedule.anchor + steps * schedule.everyMs : undefined;
  }
  let high = before - 1;
  let span = smallestGap(schedule) ?? LONGEST_LOOK_BACK_MS;
  let found = nextSlot(schedule, before - 1 - span);
  while (found === undefined || found >= before) {
    if (span >= LONGEST_LOOK_BACK_MS) return undefined;
    high = before - 1 - span;
    span *= 2;
    found = nextSlot(schedule, before - 1 - span);
  }
  return lastBefore(schedule, { found, high, before });
}

/** `nextSlot` never decreases: halve the stretch between a slot known to lie before and an instant whose next does not. */
function lastBefore(schedule: Schedule, search: { found: Instant; high: Instant; before: Instant }): Instant {
  let { found, high } = search;
  for (;;) {
    const following = nextSlot(schedule, found);
    if (following === undefined || following >= search.before) return found;
    found = following;
    const middle = Math.floor((found + high) / 2);
    if (middle <= found) continue;
    const beyond = nextSlot(schedule, middle);
    if (beyond !== undefined && beyond < search.before) found = beyond;
    else high = middle;
  }
}

/**
 * The smallest nominal distance between two slots in ms (T5); undefined = at most one slot. A clock change may bring two
 * slots of a fixed expression closer for one day; that is not counted, as jitter never reorders slots.
 */
export function smallestGap(schedule: Schedule): number | undefined {
  switch (schedule.kind) {
    case "at":
      return undefined;
    case "every":
      return schedule.everyMs;
    case "cron":
      return smallestWallGap(schedule.fields);
  }
}

/** T6: the period of a slot is the time to the next one; undefined = there is none. */
export function periodAt(schedule: Schedule, slot: Instant): number | undefined {
  const next = nextSlot(schedule, slot);
  return next === undefined ? undefined : next - slot;
}
