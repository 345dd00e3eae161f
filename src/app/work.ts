// The table of kinds of work. Every kind is one function `(job, ctx) => Promise<Outcome>`; a new kind is one line here.

import type { Definition } from "../records/definition.ts";
import type { Job, Work } from "../records/job.ts";
import type { Outcome } from "../records/outcome.ts";
import type { Admission } from "../records/run.ts";
import type { RunContext } from "../records/run-context.ts";

export interface WorkInput {
  job: Job;
  /** Undefined for work that is no job's. */
  definition: Definition | undefined;
  /** The work says better than its document what its limits and retries are: the rest of the run goes by this job. */
  amend?(job: Job): void;
}

/** Does the work. Calls `ctx.begin` before its first side effect, heeds `ctx.signal`, and never leaves anything running. */
export type DoWork = (input: WorkInput, ctx: RunContext) => Promise<WorkEnd>;

/** `yielded`: a workflow goes back to the queue as it is, since its node stops or its group is full. */
export type WorkEnd = Outcome | { state: "yielded"; queue?: string; admission?: Admission };

export type WorkTable = Partial<Record<Work["kind"], DoWork>>;

/** A plain function of an embedding program, by its executor name: `run: {task: {executor: NAME}}`. */
export type InProcessExecutor = (input: {
  params: Record<string, unknown>;
  ctx: RunContext;
}) => Promise<unknown> | unknown;

/** A check that failed before anything began: the run becomes `blocked` (law 8). */
export function preflightFailure(message: string): Outcome {
  return { state: "failed", error: { code: "preflight", message } };
}
