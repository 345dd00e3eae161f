// The table of kinds of work. Every kind is one function `(job, ctx) => Promise<Outcome>`; a new kind is one line here.

import { linkAbort, whenAborted } from "../kernel/abort.ts";
import { messageOf } from "../kernel/errors.ts";
import { type Clock, SECOND } from "../kernel/time.ts";
import { outcomeOfAbort } from "../records/abort-outcome.ts";
import type { Definition } from "../records/definition.ts";
import type { Job, Work } from "../records/job.ts";
import type { Outcome } from "../records/outcome.ts";
import type { Admission } from "../records/run.ts";
import type { RunContext } from "../records/run-context.ts";
import { systemClock } from "./system.ts";

export interface WorkInput {
  job: Job;
  /** Undefined for work that is no job's. */
  definition: Definition | undefined;
}

/** Does the work. Calls `ctx.begin` before its first side effect, heeds `ctx.signal`, and never leaves anything running. */
export type DoWork = (input: WorkInput, ctx: RunContext) => Promise<WorkEnd>;

/** `yielded`: a workflow goes back to the queue as it is, since its node stops or its group is full. */
export type WorkEnd = Outcome | { state: "yielded"; queue?: string; admission?: Admission };

export type WorkTable = Partial<Record<Work["kind"], DoWork>>;

/** A function that runs in this process, by its executor name: `run: {task: {executor: NAME}}`. */
export type InProcessExecutor = (input: {
  params: Record<string, unknown>;
  ctx: RunContext;
}) => Promise<unknown> | unknown;

/** A function that was told to stop gets this long to do so. */
const HEED_MS = 10 * SECOND;

/**
 * Work by functions of the embedding program. A throw is a failure; the returned value is the result. One that does not
 * heed its signal is left behind: nobody can end it, so what became of it is `unknown` (law 4).
 */
export function inProcessWork(
  executors: Readonly<Record<string, InProcessExecutor>>,
  clock: Clock = systemClock,
): DoWork {
  return async ({ job }, ctx) => {
    const task = job.work.kind === "task" ? job.work : undefined;
    const executor = task && executors[task.executor];
    if (!executor)
      return preflightFailure(`no executor named "${task?.executor}" is registered in this node`);
    if (!(await ctx.begin())) return { state: "cancelled", by: "beforeStart" };
    const outcome = outcomeOf(() => executor({ params: task.params, ctx }), ctx);
    // Watching for a signal costs more than a short function does, and only a long one can fail to heed it.
    return (await isOverSoon(outcome)) ? outcome : unlessIgnored(outcome, ctx, clock);
  };
}

/** Turns of the microtask queue that a function without a wait of its own needs to end, with some to spare. */
const SOON_TURNS = 5;

async function isOverSoon(outcome: Promise<Outcome>): Promise<boolean> {
  let isOver = false;
  void outcome.then(() => {
    isOver = true;
  });
  for (let turn = 0; turn < SOON_TURNS && !isOver; turn++) await Promise.resolve();
  return isOver;
}

async function unlessIgnored(outcome: Promise<Outcome>, ctx: RunContext, clock: Clock): Promise<Outcome> {
  const patience = linkAbort();
  try {
    return await Promise.race([outcome, whenIgnored(ctx, clock, patience.signal)]);
  } finally {
    patience.abort("done");
  }
}

async function outcomeOf(call: () => unknown, ctx: RunContext): Promise<Outcome> {
  try {
    const result = await call();
    const output = typeof result === "string" ? result : result === undefined ? "" : JSON.stringify(result);
    return { state: "succeeded", output, isSilent: output.trim() === "", result };
  } catch (error) {
    const reason = ctx.abortReason();
    return reason
      ? outcomeOfAbort(reason)
      : { state: "failed", error: { code: "exception", message: messageOf(error) } };
  }
}

/** Resolves some time after the signal has aborted; never before. */
async function whenIgnored(ctx: RunContext, clock: Clock, done: AbortSignal): Promise<Outcome> {
  const aborted = whenAborted(ctx.signal);
  const over = whenAborted(done);
  await Promise.race([aborted.promise, over.promise]);
  aborted.release();
  over.release();
  const reason = ctx.abortReason();
  const graceMs = reason?.kind === "nodeStopped" ? (reason.graceMs ?? HEED_MS) : HEED_MS;
  await clock.sleep(graceMs, done).catch(() => {});
  return { state: "unknown", why: "its function did not heed the request to stop" };
}

/** A check that failed before anything began: the run becomes `blocked` (law 8). */
export function preflightFailure(message: string): Outcome {
  return { state: "failed", error: { code: "preflight", message } };
}

/** Whether this version can do such work at all; the sentence says why not. */
export function unsupportedWork(table: WorkTable, work: Work): string | undefined {
  if (work.kind !== "task" || table[work.kind]) return undefined;
  return `this version of Nightshift cannot run ${work.kind} jobs yet`;
}
