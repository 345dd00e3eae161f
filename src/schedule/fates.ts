// The simulator's answer: what became of each slot, neighbours with one fate folded when they are many.

import type { Instant } from "../kernel/time.ts";
import type { Job } from "../records/job.ts";
import type { CloseSlots, RunSlot } from "../records/ledger/slots.ts";
import { ON_TIME_MS } from "./choose.ts";
import { jitteredInstant } from "./jitter.ts";
import { countSlots, previousSlot } from "./next-slot.ts";
import type { Stretch } from "./open-slots.ts";

/**
 * `onTime`, `late` and `catchUp` ran; `superseded` and `overlap` were skipped; `skipped` for another reason; `missed`;
 * `waiting` was still queued at the end; `pending` was not decided by the end; `notSimulated` is beyond what is played.
 */
export type FateName =
  | "onTime"
  | "late"
  | "catchUp"
  | "superseded"
  | "overlap"
  | "skipped"
  | "missed"
  | "waiting"
  | "pending"
  | "notSimulated";

/** One slot (`first` = `last`), or a stretch of slots with one fate. */
export interface SlotFate extends Stretch {
  jobId: string;
  fate: FateName;
  /** Why it was skipped or missed. */
  reason: string | undefined;
  /** When it starts, and how long after its jittered instant; of a stretch, the first's start and the largest delay. */
  startsAt: Instant | undefined;
  lateMs: number | undefined;
}

export interface Fates {
  started(run: RunSlot, at: Instant): void;
  waiting(run: RunSlot): void;
  closed(slots: CloseSlots): void;
  steady(stretch: Stretch): void;
  undecided(fate: "pending" | "notSimulated", first: Instant | undefined, until: Instant): void;
  all(): readonly SlotFate[];
}

export function makeFates(job: Job, foldOver: number): Fates {
  const fates: SlotFate[] = [];
  // Where the present row of like fates begins, and how many slots it holds.
  let groupStart = 0;
  let groupCount = 0;

  function add(fate: SlotFate): void {
    const previous = fates.at(-1);
    if (previous?.fate !== fate.fate || previous.reason !== fate.reason) {
      groupStart = fates.length;
      groupCount = 0;
    }
    fates.push(fate);
    groupCount += fate.count;
    if (groupCount > foldOver) fates.push(fates.splice(groupStart).reduce(joined));
  }
  const plain = {
    jobId: job.id,
    reason: undefined,
    startsAt: undefined,
    lateMs: undefined,
    isCountAtLeast: false,
  };

  return {
    started(run, at) {
      const lateMs = at - jitteredInstant(job, run.slot);
      const fate = run.reason === "catchUp" ? "catchUp" : lateMs > ON_TIME_MS ? "late" : "onTime";
      add({ ...plain, first: run.slot, last: run.slot, count: 1, fate, startsAt: at, lateMs });
    },
    waiting: (run) => add({ ...plain, first: run.slot, last: run.slot, count: 1, fate: "waiting" }),
    closed({ state, reason, first, last, count, isCountAtLeast }) {
      const isNamed = reason === "superseded" || reason === "overlap";
      const fate = isNamed ? reason : state;
      add({ ...plain, first, last, count, isCountAtLeast, fate, reason });
    },
    steady: (stretch) =>
      add({ ...plain, ...stretch, fate: "onTime", startsAt: jitteredInstant(job, stretch.first), lateMs: 0 }),
    undecided(fate, first, until) {
      if (first === undefined || first >= until || !job.schedule) return;
      const end = Math.min(until - 1, job.until ?? until);
      const { count, isAtLeast } = countSlots(job.schedule, { after: first - 1, until: end });
      const last = previousSlot(job.schedule, end + 1);
      if (count > 0 && last !== undefined)
        add({ ...plain, first, last, count, isCountAtLeast: isAtLeast, fate });
    },
    all: () => fates,
  };
}

function joined(a: SlotFate, b: SlotFate): SlotFate {
  return {
    ...a,
    first: Math.min(a.first, b.first),
    last: Math.max(a.last, b.last),
    count: a.count + b.count,
    isCountAtLeast: a.isCountAtLeast || b.isCountAtLeast,
    lateMs: a.lateMs === undefined ? b.lateMs : Math.max(a.lateMs, b.lateMs ?? 0),
  };
}
