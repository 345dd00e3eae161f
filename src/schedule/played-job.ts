// One job as the simulator plays it: a cursor and open runs, moved by the real decision, and the fates that come of it.

import type { Instant } from "../kernel/time.ts";
import type { Definition } from "../records/definition.ts";
import type { Job } from "../records/job.ts";
import type { DecideJob, JobView, OpenRun, RunSlot } from "../records/ledger/slots.ts";
import { isLive } from "../records/run.ts";
import type { Schedule } from "../records/schedule.ts";
import { makeDecide, slotAfter } from "./decide.ts";
import { type Fates, makeFates, type SlotFate } from "./fates.ts";
import type { Stretch } from "./open-slots.ts";
import { isScheduled } from "./standing.ts";

export type { SlotFate } from "./fates.ts";

interface PlayedRun extends OpenRun {
  /** The slot whose fate it is; undefined = it was open before the stretch began. */
  run: RunSlot | undefined;
  readyAt: Instant;
  isExclusive: boolean;
  endsAt: Instant | undefined;
}

export interface PlayOptions {
  /** The first slot is the first at or after this. */
  from: Instant;
  durationMs: number;
  foldOver: number;
  /** Open runs from before, as the ledger has them. */
  carried: readonly (OpenRun & { endsAt: Instant | undefined })[];
}

export class PlayedJob {
  readonly #job: Job;
  readonly #durationMs: number;
  readonly #decide: DecideJob;
  readonly #fates: Fates;
  #view: JobView;
  #runs: PlayedRun[] = [];

  constructor(job: Job, options: PlayOptions) {
    this.#job = job;
    this.#durationMs = options.durationMs;
    this.#decide = makeDecide(() => job);
    this.#fates = makeFates(job, options.foldOver);
    this.#view = firstView(job, options.from);
    const isExclusive = job.overlap !== "allow";
    this.#runs = options.carried.map((run) => ({
      ...run,
      run: undefined,
      readyAt: options.from,
      isExclusive,
    }));
  }

  /** When anything happens next; undefined = nothing ever. */
  nextEventAt(): Instant | undefined {
    const ends = this.#runs.map((run) => run.endsAt ?? Number.POSITIVE_INFINITY);
    const at = Math.min(this.#view.cursor.dueAt ?? Number.POSITIVE_INFINITY, ...ends);
    return Number.isFinite(at) ? at : undefined;
  }

  /** Everything that is due at `now`: ends, decisions, starts. Live runs end at `downAt` at the latest. */
  pass(now: Instant, downAt: Instant): void {
    this.#endFinished(now);
    this.#applyDecision(now);
    while (this.#startNext(now, downAt)) this.#endFinished(now);
  }

  /** An outage ended whatever ran. */
  stopLiveRuns(): void {
    this.#runs = this.#runs.filter((run) => !isLive(run.state));
  }

  /** The next slot, where every slot from it on would be on time as long as a node is up. */
  steadyFrom(): { first: Instant; schedule: Schedule; jitterMs: number } | undefined {
    const first = this.#view.cursor.nextSlot;
    const isSteady = this.#runs.length === 0 && this.#durationMs === 0;
    if (first === undefined || !isSteady || !isScheduled(this.#job, this.#view.cursor)) return undefined;
    if (this.#job.repeat !== undefined || this.#job.until !== undefined) return undefined;
    return { first, schedule: this.#job.schedule, jitterMs: this.#job.jitterMs };
  }

  /** Takes a steady stretch as run on time; `next` is the first slot behind it. */
  passSteady(stretch: Stretch, next: Instant | undefined): void {
    this.#fates.steady(stretch);
    const isOpen = next !== undefined && isScheduled(this.#job, this.#view.cursor);
    this.#moveTo(isOpen ? slotAfter(this.#job, next - 1) : undefined);
  }

  /** Stops playing: what is left before `until` is not simulated. */
  giveUp(until: Instant): void {
    this.#fates.undecided("notSimulated", this.#view.cursor.nextSlot, until);
    this.#moveTo(undefined);
  }

  /** All fates; slots before `until` that were not decided are `pending`. */
  finish(until: Instant): readonly SlotFate[] {
    for (const { state, run } of this.#runs) if (state === "queued" && run) this.#fates.waiting(run);
    this.#fates.undecided("pending", this.#view.cursor.nextSlot, until);
    return this.#fates.all();
  }

  #applyDecision(now: Instant): void {
    if (this.#view.cursor.dueAt === undefined || this.#view.cursor.dueAt > now) return;
    const decision = this.#decide({ ...this.#view, openRuns: this.#runs }, now);
    for (const { runId, reason } of decision.endOpenRuns) this.#closeWaiter(runId, reason);
    // Cleanup takes no time here: what is replaced ends at once.
    this.#runs = this.#runs.filter((run) => !decision.cancelRuns.some(({ runId }) => runId === run.id));
    for (const slot of decision.slots) {
      if (slot.kind === "close") this.#fates.closed(slot);
      else this.#runs.push(queued(slot, now));
    }
    this.#moveTo(decision.next);
  }

  #closeWaiter(runId: string, reason: string): void {
    const waiter = this.#runs.find((candidate) => candidate.id === runId);
    if (!waiter) return;
    this.#runs = this.#runs.filter((other) => other !== waiter);
    if (!waiter.run) return;
    const { slot } = waiter.run;
    const stretch = { first: slot, last: slot, count: 1, isCountAtLeast: false };
    this.#fates.closed({ kind: "close", state: "skipped", reason, ...stretch });
  }

  #endFinished(now: Instant): void {
    this.#runs = this.#runs.filter((run) => run.endsAt === undefined || run.endsAt > now);
  }

  #startNext(now: Instant, downAt: Instant): boolean {
    const hasLive = this.#runs.some((run) => isLive(run.state));
    const run = this.#runs.find(
      ({ state, readyAt, isExclusive }) => state === "queued" && readyAt <= now && !(isExclusive && hasLive),
    );
    if (!run) return false;
    if (run.run) this.#fates.started(run.run, now);
    run.state = "running";
    run.endsAt = Math.min(now + this.#durationMs, downAt);
    const { cursor } = this.#view;
    this.#view = { ...this.#view, cursor: { ...cursor, startedSlots: cursor.startedSlots + 1 } };
    return true;
  }

  #moveTo(next: { slot: Instant; dueAt: Instant } | undefined): void {
    this.#view = {
      ...this.#view,
      cursor: { ...this.#view.cursor, nextSlot: next?.slot, dueAt: next?.dueAt },
    };
  }
}

function queued(slot: RunSlot, now: Instant): PlayedRun {
  const id = `played-${slot.slot}`;
  const open = {
    id,
    state: "queued",
    reason: slot.reason,
    attempt: 1,
    trigger: "schedule",
    createdAt: now,
  } as const;
  const { readyAt, isExclusive } = slot;
  return { ...open, slot: slot.slot, run: slot, readyAt, isExclusive, endsAt: undefined };
}

/** The view of a job that begins at `from` with nothing behind it. */
function firstView(job: Job, from: Instant): JobView {
  const definition: Definition = {
    ...{
      jobId: job.id,
      version: 1,
      digest: "",
      document: "",
      zone: job.timezone,
      anchor: from,
      source: "plan",
    },
    ...{ inForceFrom: from, inForceTo: undefined, endedBy: undefined },
  };
  const cursor: JobView["cursor"] = {
    ...{
      jobId: job.id,
      version: 1,
      revision: 1,
      nextSlot: undefined,
      dueAt: undefined,
      startedSlots: 0,
      strikes: 0,
    },
    ...{ streak: { failures: 0, cause: undefined, isAlerted: false }, suspensions: [], removedAt: undefined },
  };
  const next = isScheduled(job, cursor) ? slotAfter(job, from - 1) : undefined;
  return { definition, cursor: { ...cursor, nextSlot: next?.slot, dueAt: next?.dueAt }, openRuns: [] };
}
