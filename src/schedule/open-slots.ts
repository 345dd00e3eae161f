// The slots of a job that are still to be accounted for: all of its schedule but those that have a row already (L2).
//
// I1. Such rows lie ahead of the cursor only after the clock was set back (T8); without them nothing here costs anything.
// I2. Grace, period and jitter are the schedule's own: a slot that is left out does not make its neighbours' longer.

import type { Instant } from "../kernel/time.ts";
import type { Job } from "../records/job.ts";
import type { JobView } from "../records/ledger/slots.ts";
import type { Schedule } from "../records/schedule.ts";
import { countSlots, nextSlot, previousSlot } from "./next-slot.ts";

/** A job that has a schedule. */
export type ScheduledJob = Job & {
  schedule: Schedule;
  /** Slots that have a row already, whichever version wrote it; absent = none. */
  accounted?: ReadonlySet<Instant>;
};

/** Slots without their names: a range row in the making. */
export interface Stretch {
  first: Instant;
  last: Instant;
  count: number;
  isCountAtLeast: boolean;
}

/** The job, with what the view knows to be accounted for ahead of its cursor. */
export function accountingAround<Known extends Job>(
  job: Known,
  { accountedAhead }: Pick<JobView, "accountedAhead">,
): Known & { accounted?: ReadonlySet<Instant> } {
  return accountedAhead === undefined ? job : { ...job, accounted: new Set(accountedAhead) };
}

/** The first open slot strictly after an instant. */
export function openSlotAfter(job: ScheduledJob, after: Instant): Instant | undefined {
  let slot = nextSlot(job.schedule, after);
  while (slot !== undefined && job.accounted?.has(slot)) slot = nextSlot(job.schedule, slot);
  return slot;
}

/** The last open slot strictly before an instant. */
export function openSlotBefore(job: ScheduledJob, before: Instant): Instant | undefined {
  let slot = previousSlot(job.schedule, before);
  while (slot !== undefined && job.accounted?.has(slot)) slot = previousSlot(job.schedule, slot);
  return slot;
}

/** The open slots from `first` to `last` (both open), as stretches with nothing accounted for inside them, in order. */
export function openStretches(
  job: ScheduledJob,
  { first, last }: { first: Instant; last: Instant },
): Stretch[] {
  const breaks = [...(job.accounted ?? [])]
    .filter((slot) => slot > first && slot < last)
    .sort((a, b) => a - b);
  const stretches: Stretch[] = [];
  let from = first;
  for (const end of [...breaks, last + 1]) {
    const until = previousSlot(job.schedule, end) ?? from;
    const { count, isAtLeast } = countSlots(job.schedule, { after: from - 1, until });
    // Before the first slot of a schedule that an edit brought, only `first` itself may lie outside of it.
    if (until >= from && count > 0)
      stretches.push({ first: from, last: until, count, isCountAtLeast: isAtLeast });
    const next = nextSlot(job.schedule, end);
    if (next === undefined) break;
    from = next;
  }
  return stretches;
}
