// The downtime simulator: what would become of every slot in a stretch of time, with outages, under each job's policies.
//
// I1. There is no second truth: the decisions are `decide.ts`'s own. Only the ledger and the clock are played here.
// I2. Each job is played by itself: capacity of a node is not simulated. A run that an outage meets ends with it.

import type { Instant } from "../kernel/time.ts";
import type { Job } from "../records/job.ts";
import type { OpenRun } from "../records/ledger/slots.ts";
import { countSlots, nextSlot, previousSlot } from "./next-slot.ts";
import { PlayedJob, type SlotFate } from "./played-job.ts";

export type { SlotFate } from "./played-job.ts";

export interface Outage {
  from: Instant;
  to: Instant;
}

export interface PlanRequest {
  jobs: readonly Job[];
  /** Slots in [`from`, `until`) are looked at. */
  from: Instant;
  until: Instant;
  /** When no node is up. */
  down: readonly Outage[];
  /** How long a run of the job takes. Default 0: runs never overlap. */
  durationMsOf?: (job: Job) => number;
  /** Runs of the job that are open at `from`, with when the live ones will end. Default: none. */
  openRunsOf?: (job: Job) => readonly CarriedRun[];
  /** More slots than this in a row with one fate become one entry. Default 48. */
  foldOver?: number;
}

/** A run from before the stretch: it is played, its own fate is not told. */
export interface CarriedRun extends OpenRun {
  /** When it ends; undefined = it has not begun. */
  endsAt: Instant | undefined;
}

/** Passes played for one job before the rest is reported as `notSimulated`. */
const MAX_STEPS = 200_000;

/** Every slot's fate, by slot then job. Times are instants; an entry may stand for many slots (`count`). */
export function simulate(request: PlanRequest): SlotFate[] {
  const down = request.down.filter(({ from, to }) => from < to).sort((a, b) => a.from - b.from);
  const fates = request.jobs.flatMap((job) => simulateJob(job, { ...request, down }));
  return fates.sort((a, b) => a.first - b.first || (a.jobId < b.jobId ? -1 : 1));
}

function simulateJob(job: Job, request: PlanRequest): readonly SlotFate[] {
  const played = new PlayedJob(job, {
    from: request.from,
    durationMs: request.durationMsOf?.(job) ?? 0,
    foldOver: request.foldOver ?? 48,
    carried: request.openRunsOf?.(job) ?? [],
  });
  let steps = 0;
  for (let at = played.nextEventAt(); at !== undefined; at = played.nextEventAt()) {
    const up = upAt(at, request.down);
    if (up >= request.until) break;
    if (at !== up) played.stopLiveRuns();
    if (steps === MAX_STEPS) {
      played.giveUp(request.until);
      break;
    }
    steps += 1;
    const outage = request.down.find(({ from }) => from > up);
    const steadyUntil = Math.min(request.until, outage?.from ?? request.until);
    // Right after an outage there is a backlog: that is for the decision, never for the shortcut.
    if (at === up && skipSteadyStretch(played, steadyUntil)) continue;
    played.pass(up, outage?.from ?? Number.POSITIVE_INFINITY);
  }
  return played.finish(request.until);
}

/** The first instant at or after `at` at which a node is up. */
function upAt(at: Instant, down: readonly Outage[]): Instant {
  let up = at;
  for (const { from, to } of down) if (up >= from && up < to) up = to;
  return up;
}

/** Fewer slots than this are played one by one. */
const MIN_STEADY_SLOTS = 1_000;

/** While nothing runs long and nothing is late, every slot is on time: long stretches are counted, not played. */
function skipSteadyStretch(played: PlayedJob, end: Instant): boolean {
  const stretch = played.steadyFrom();
  if (!stretch) return false;
  const last = previousSlot(stretch.schedule, end - stretch.jitterMs);
  if (last === undefined || last <= stretch.first) return false;
  const { count, isAtLeast } = countSlots(stretch.schedule, { after: stretch.first - 1, until: last });
  if (count < MIN_STEADY_SLOTS) return false;
  played.passSteady(
    { first: stretch.first, last, count, isCountAtLeast: isAtLeast },
    nextSlot(stretch.schedule, last),
  );
  return true;
}
