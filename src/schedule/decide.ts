// What becomes of a job's due slots: the decision that the ledger applies in one transaction (T6, T7, T9, D4).
//
// I1. Every slot from the cursor up to `next` is accounted for exactly once, in order (law 2).
// I2. Pure: the same view and `now` give the same decision, so a lost race is simply decided again (D5).

import type { Instant } from "../kernel/time.ts";
import type { Definition, Suspension } from "../records/definition.ts";
import type { Job } from "../records/job.ts";
import type { DecideJob, JobDecision, JobView, RunSlot } from "../records/ledger/slots.ts";
import { type Fate, makeAccounting } from "./accounting.ts";
import { chooseSlots, REPEAT_REACHED, SUPERSEDED } from "./choose.ts";
import { type DueSlots, type DueWindow, dueSlots } from "./due.ts";
import { jitteredInstant } from "./jitter.ts";
import { accountingAround, openSlotAfter, type ScheduledJob } from "./open-slots.ts";
import { liveRuns, OVERLAP, REPLACE_WAIT_MS, runsToCancel, runsToEnd } from "./overlap.ts";
import { completionOf, isHeld, isScheduled, lookAgainAt, repeatsLeft, suspensionAhead } from "./standing.ts";

/** A definition as the job it means. Should be cheap (cached by digest): it is called for every job of a pass. */
export type ParseJob = (definition: Definition) => Job;

const NOTHING: JobDecision = { slots: [], endOpenRuns: [], cancelRuns: [], next: undefined };
export const HELD: Fate = { state: "missed", reason: "held" };

/** The decision for due slots. Deterministic; throws only what `parseJob` throws. */
export function makeDecide(parseJob: ParseJob): DecideJob {
  return (view, now) => {
    const job = accountingAround(parseJob(view.definition), view);
    const first = view.cursor.nextSlot;
    if (first === undefined || !isScheduled(job, view.cursor)) return NOTHING;
    const suspension = suspensionAhead(view.cursor, now);
    if (suspension) return decideSuspended(job, first, suspension);
    const window = { first, now, latest: job.until ?? Number.POSITIVE_INFINITY };
    const left = repeatsLeft(job, view);
    if (left <= 0) return decideExhausted(job, view, window);
    const due = dueSlots(job, window);
    if (isHeld(view.cursor)) return closing(job, view, closeAll(job, due, HELD), due.next);
    return decideDue(job, { view, due, now, left });
  };
}

/** Slots from before the suspension that no pass came to see are closed; the others are not due (D4). */
export function decideSuspended(job: ScheduledJob, first: Instant, suspension: Suspension): JobDecision {
  const due = dueSlots(job, { first, now: suspension.from, latest: suspension.from, isJittered: false });
  const slots = closeAll(job, due, { state: "skipped", reason: suspension.kind });
  if (suspension.until === undefined) return { ...NOTHING, slots };
  return { ...NOTHING, slots, next: slotBehindPause(job, suspension.until, first) };
}

/**
 * The first open slot behind a pause that ends, from `first` on. One that the job's `until` rules out is looked at when the
 * pause ends: only then is the job complete for certain, and its completion put on record (T9).
 */
export function slotBehindPause(
  job: ScheduledJob,
  pauseUntil: Instant,
  first: Instant,
): { slot: Instant; dueAt: Instant } | undefined {
  const after = Math.max(pauseUntil, first - 1);
  const slot = openSlotAfter(job, after);
  return slot === undefined ? undefined : (slotAfter(job, after) ?? { slot, dueAt: pauseUntil });
}

/** The first open slot after an instant, with its due instant; undefined when none comes or `until` has passed. */
export function slotAfter(job: ScheduledJob, after: Instant): { slot: Instant; dueAt: Instant } | undefined {
  const slot = openSlotAfter(job, after);
  if (slot === undefined || (job.until !== undefined && slot > job.until)) return undefined;
  return { slot, dueAt: jitteredInstant(job, slot) };
}

/** All due slots with one fate. */
export function closeAll(job: ScheduledJob, due: DueSlots, fate: Fate): JobDecision["slots"] {
  const accounting = makeAccounting(job);
  for (const stretch of due.older) accounting.close(fate, stretch);
  for (const slot of due.listed) accounting.closeOne(fate, slot);
  return accounting.slots;
}

/** A decision that runs nothing: the cursor moves on, and the job may be complete. */
export function closing(
  job: ScheduledJob,
  view: JobView,
  slots: JobDecision["slots"],
  next: Instant | undefined,
): JobDecision {
  return { ...NOTHING, slots, ...following(job, view, next) };
}

function following(
  job: ScheduledJob,
  view: JobView,
  next: Instant | undefined,
): Pick<JobDecision, "next" | "completed"> {
  const completed = completionOf(job, { startedSlots: view.cursor.startedSlots, next });
  if (completed !== undefined || next === undefined)
    return { next: undefined, completed: completed ?? "ended" };
  return { next: { slot: next, dueAt: jitteredInstant(job, next) } };
}

/**
 * T9: nothing beyond the last repetition runs. Once that one has started the job is complete from now on, so slots that
 * only await their jitter are closed as well; until then the job is looked at again soon.
 */
export function decideExhausted(job: ScheduledJob, view: JobView, window: DueWindow): JobDecision {
  const isComplete = job.repeat !== undefined && view.cursor.startedSlots >= job.repeat;
  const due = dueSlots(job, isComplete ? { ...window, isJittered: false } : window);
  return lookingAgain(
    closing(job, view, closeAll(job, due, REPEAT_REACHED), due.next),
    lookAgainAt(view, window.now),
  );
}

function lookingAgain(decision: JobDecision, at: Instant): JobDecision {
  if (!decision.next) return decision;
  return { ...decision, next: { slot: decision.next.slot, dueAt: Math.min(decision.next.dueAt, at) } };
}

interface Due {
  view: JobView;
  due: DueSlots;
  now: Instant;
  left: number;
}

function decideDue(job: ScheduledJob, { view, due, now, left }: Due): JobDecision {
  const choices = chooseSlots(job, due, { now, left });
  const live = liveRuns(view);
  const isBlocked = job.overlap === "skip" && live.length > 0;
  const accounting = makeAccounting(job);
  const runs: RunSlot[] = [];
  const isMany = choices.listed.filter((choice) => choice.fate === "run").length > 1;
  // With `skip`, what the blocked slot would have superseded met the same live run.
  const fateOf = (fate: Fate) =>
    isBlocked && fate === SUPERSEDED && choices.listed.at(-1)?.fate === "run" ? OVERLAP : fate;
  for (const stretch of due.older) accounting.close(fateOf(choices.older), stretch);
  for (const choice of choices.listed) {
    if (choice.fate !== "run") accounting.closeOne(fateOf(choice.fate), choice.slot);
    else if (isBlocked) accounting.closeOne(OVERLAP, choice.slot);
    else {
      const isFirst = runs.length === 0;
      const run: RunSlot = {
        kind: "run",
        slot: choice.slot,
        readyAt: jitteredInstant(job, choice.slot),
        ...(choice.reason === undefined ? {} : { reason: choice.reason }),
        ...(job.overlap === "replace" && live.length > 0 && isFirst
          ? { startBy: now + REPLACE_WAIT_MS }
          : {}),
        effects: job.effects,
        // A backlog runs one at a time even where overlap is allowed (T6).
        isExclusive: job.overlap !== "allow" || isMany || choice.reason === "catchUp",
      };
      runs.push(run);
      accounting.run(run);
    }
  }
  return afterRuns(job, { view, due, now, left, runs }, accounting.slots);
}

function afterRuns(
  job: ScheduledJob,
  { view, due, now, left, runs }: Due & { runs: readonly RunSlot[] },
  slots: JobDecision["slots"],
): JobDecision {
  const decision: JobDecision = { ...closing(job, view, slots, due.next) };
  const newest = runs.at(-1)?.slot;
  if (newest === undefined) return decision;
  const withRuns: JobDecision = {
    ...decision,
    endOpenRuns: runsToEnd(job, view, newest),
    cancelRuns: runsToCancel(job, view),
  };
  return runs.length >= left ? lookingAgain(withRuns, lookAgainAt(view, now)) : withRuns;
}
