// When a job had due slots, from its definitions and suspensions on record: stretches of time with one schedule each.

import type { Instant } from "../kernel/time.ts";
import type { Suspension } from "../records/definition.ts";
import type { AuditView } from "../records/ledger/slots.ts";
import type { Schedule } from "../records/schedule.ts";
import type { ParseJob } from "./decide.ts";
import { nextSlot } from "./next-slot.ts";

/** Slots in (`after`, `until`] of one schedule were due. */
export interface Segment {
  schedule: Schedule;
  after: Instant;
  until: Instant;
}

/** In order, without overlaps, clipped to slots in [`since`, `until`]. */
export function dueSegments(
  view: AuditView,
  window: { since: Instant; until: Instant },
  parseJob: ParseJob,
): Segment[] {
  const segments: Segment[] = [];
  for (const definition of [...view.definitions].sort((a, b) => a.version - b.version)) {
    const job = parseJob(definition);
    if (!job.schedule || !job.enabled) continue;
    const after = Math.max(definition.inForceFrom, window.since - 1);
    const until = Math.min(definition.inForceTo ?? window.until, job.until ?? window.until, window.until);
    if (after < until) segments.push({ schedule: job.schedule, after, until });
  }
  return view.suspensions.filter(isQuiet).reduce(without, segments);
}

/** While held, slots are due and become `missed: held`; the other kinds leave none (D4). */
function isQuiet(suspension: Suspension): boolean {
  return suspension.kind !== "held";
}

function without(segments: readonly Segment[], suspension: Suspension): Segment[] {
  const from = suspension.from;
  const ends = [suspension.to, suspension.until].filter((end) => end !== undefined);
  const to = ends.length === 0 ? Number.POSITIVE_INFINITY : Math.min(...ends);
  return segments.flatMap((segment) => {
    const before = { ...segment, until: Math.min(segment.until, from) };
    const behind = { ...segment, after: Math.max(segment.after, to) };
    return [before, behind].filter(({ after, until }) => after < until);
  });
}

/** An audit of more slots than this is cut short and says so: some seconds of work. */
const MAX_VISITED_SLOTS = 2_000_000;

/** Visits the slots of all segments, oldest first; the visitor says after which instant to go on. True = cut short. */
export function visitSlots(segments: readonly Segment[], visit: (slot: Instant) => Instant): boolean {
  let visited = 0;
  for (const { schedule, after, until } of segments) {
    let slot = nextSlot(schedule, after);
    while (slot !== undefined && slot <= until) {
      if (visited === MAX_VISITED_SLOTS) return true;
      visited += 1;
      slot = nextSlot(schedule, visit(slot));
    }
  }
  return false;
}
