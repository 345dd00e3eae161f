// The table of kinds of work. Every kind is one function `(job, ctx) => Promise<Outcome>`; a new kind is one line here.

import { outcomeOfAbort } from "../execute/script-outcome.ts";
import type { Definition } from "../records/definition.ts";
import type { Job, Work } from "../records/job.ts";
import type { Outcome } from "../records/outcome.ts";
import type { RunContext } from "../records/run-context.ts";

export interface WorkInput {
  job: Job;
  definition: Definition;
}

/** Does the work. Calls `ctx.begin` before its first side effect, heeds `ctx.signal`, and never leaves anything running. */
export type DoWork = (input: WorkInput, ctx: RunContext) => Promise<Outcome>;

export type WorkTable = Partial<Record<Work["kind"], DoWork>>;

/** A function that runs in this process, by its executor name: `run: {task: {executor: NAME}}`. */
export type InProcessExecutor = (input: {
  params: Record<string, unknown>;
  ctx: RunContext;
}) => Promise<unknown> | unknown;

/** Work by functions of the embedding program. A throw is a failure; the returned value is the result. */
export function inProcessWork(executors: Readonly<Record<string, InProcessExecutor>>): DoWork {
  return async ({ job }, ctx) => {
    const task = job.work.kind === "task" ? job.work : undefined;
    const executor = task && executors[task.executor];
    if (!executor)
      return preflightFailure(`no executor named "${task?.executor}" is registered in this node`);
    if (!(await ctx.begin())) return { state: "cancelled", by: "beforeStart" };
    try {
      const result = await executor({ params: task.params, ctx });
      const output = typeof result === "string" ? result : result === undefined ? "" : JSON.stringify(result);
      return { state: "succeeded", output, isSilent: output.trim() === "", result };
    } catch (error) {
      if (ctx.signal.aborted) return outcomeOfAbort(ctx.abortReason() ?? { kind: "claimLost" });
      return {
        state: "failed",
        error: { code: "exception", message: error instanceof Error ? error.message : String(error) },
      };
    }
  };
}

/** A check that failed before anything began: the run becomes `blocked` (law 8). */
export function preflightFailure(message: string): Outcome {
  return { state: "failed", error: { code: "preflight", message } };
}

/** Whether this version can do such work at all; the sentence says why not. */
export function unsupportedWork(table: WorkTable, work: Work): string | undefined {
  if (work.kind === "script" || table[work.kind]) return undefined;
  return `this version of Nightshift cannot run ${work.kind} jobs yet`;
}
