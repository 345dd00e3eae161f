// What a job's kind of work means for the rows of its runs: a workflow may be given back, a task waits in its queue (W4).

import { queueOf } from "../orchestrate/queues/admit.ts";
import type { Job } from "../records/job.ts";
import type { DecideJob, JobView, RunTraits } from "../records/ledger/slots.ts";
import type { DecideEvent } from "../records/ledger/triggers.ts";
import type { Context } from "./context.ts";
import { DEFAULT_QUEUE } from "./workflows/task-rows.ts";

type TraitDeps = Pick<Context, "config" | "executors" | "clock" | "work">;

/** A task whose executor is a function of this process starts with its slot, unless its job names a queue. */
export function traitsOf({ config, executors, clock, work: own }: TraitDeps, { work }: Job): RunTraits {
  if (work.kind === "workflow") return { kind: "workflow" };
  if (work.kind !== "task") return { kind: "job" };
  const isOurs = own.task !== undefined || executors.isInProcess(work.executor);
  if (work.queue === undefined && isOurs) return { kind: "job" };
  const { priority } = queueOf(config.queues, work.queue);
  const admission = { priority, enqueuedAt: clock.now(), executor: work.executor };
  return { kind: "job", queue: work.queue ?? DEFAULT_QUEUE, admission };
}

/** The decision with the traits of the runs that it makes. */
export function withTraits(decide: DecideJob, traits: (view: JobView) => RunTraits): DecideJob {
  return (view, now) => {
    const decision = decide(view, now);
    if (!decision.slots.some(({ kind }) => kind === "run")) return decision;
    const own = traits(view);
    return {
      ...decision,
      slots: decision.slots.map((slot) => (slot.kind === "run" ? { ...slot, traits: own } : slot)),
    };
  };
}

/** The same for an event's. */
export function withEventTraits(decide: DecideEvent, traits: (view: JobView) => RunTraits): DecideEvent {
  return (view, now) => {
    const decision = decide(view, now);
    return decision?.kind === "run" ? { ...decision, traits: traits(view) } : decision;
  };
}
