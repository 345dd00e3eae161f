// Which of the due slots run, and what becomes of the others (T6, T9). No other run of the job is looked at here.

import { type Instant, SECOND } from "../kernel/time.ts";
import type { Fate } from "./accounting.ts";
import { type DueSlots, isWithinGrace } from "./due.ts";
import { jitteredInstant } from "./jitter.ts";
import type { ScheduledJob } from "./open-slots.ts";

export type Choice =
  | { slot: Instant; fate: Fate }
  | { slot: Instant; fate: "run"; reason: string | undefined };

export interface Choices {
  /** What becomes of the folded stretch. */
  older: Fate;
  /** One per listed slot, in order. */
  listed: readonly Choice[];
}

export const PAST_GRACE: Fate = { state: "missed", reason: "pastGrace" };
export const SUPERSEDED: Fate = { state: "skipped", reason: "superseded" };
export const OVER_LIMIT: Fate = { state: "missed", reason: "overLimit" };
export const REPEAT_REACHED: Fate = { state: "skipped", reason: "repeatReached" };

/** Up to here a start counts as on time: a node may be busy for a moment. */
export const ON_TIME_MS = 5 * SECOND;

/** `left` is how many slots may still run (T9); at least 1. */
export function chooseSlots(
  job: ScheduledJob,
  due: DueSlots,
  { now, left }: { now: Instant; left: number },
): Choices {
  switch (job.catchUp) {
    case "skip":
      return chooseFresh(job, due, now);
    case "latest":
      return chooseLatest(job, due, now);
    case "all":
      return chooseAll(job, due, { now, left });
  }
}

function runOf(job: ScheduledJob, slot: Instant, now: Instant): Choice {
  const lateMs = now - jitteredInstant(job, slot);
  const late = lateMs > ON_TIME_MS ? "late" : undefined;
  return { slot, fate: "run", reason: isWithinGrace(job, slot, now) ? late : "catchUp" };
}

function chooseFresh(job: ScheduledJob, due: DueSlots, now: Instant): Choices {
  const newest = due.listed.at(-1);
  const listed = due.listed.map((slot): Choice => {
    if (!isWithinGrace(job, slot, now)) return { slot, fate: PAST_GRACE };
    return slot === newest ? runOf(job, slot, now) : { slot, fate: SUPERSEDED };
  });
  return { older: PAST_GRACE, listed };
}

function chooseLatest(job: ScheduledJob, due: DueSlots, now: Instant): Choices {
  const newest = due.listed.at(-1);
  const listed = due.listed.map(
    (slot): Choice => (slot === newest ? runOf(job, slot, now) : { slot, fate: SUPERSEDED }),
  );
  return { older: SUPERSEDED, listed };
}

function chooseAll(job: ScheduledJob, due: DueSlots, { now, left }: { now: Instant; left: number }): Choices {
  const firstRun = due.listed.length - Math.max(1, job.catchUpLimit);
  const listed = due.listed.map((slot, index): Choice => {
    if (index < firstRun) return { slot, fate: OVER_LIMIT };
    return index - Math.max(0, firstRun) < left ? runOf(job, slot, now) : { slot, fate: REPEAT_REACHED };
  });
  return { older: OVER_LIMIT, listed };
}
