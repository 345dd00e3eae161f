// A function of this process as an attempt: called without serialisation, its throw a failure, its silence watched.
//
// I1. One that does not heed its signal is left behind: nobody can end it, so what became of it is `unknown` (law 4).
// I2. Its result must be something that the ledger can keep: JSON.

import { linkAbort, whenAborted } from "../../kernel/abort.ts";
import { isFault, messageOf, sayFault } from "../../kernel/errors.ts";
import { type Clock, SECOND } from "../../kernel/time.ts";
import { outcomeOfAbort } from "../../records/abort-outcome.ts";
import type { Outcome } from "../../records/outcome.ts";
import type { RunContext } from "../../records/run-context.ts";

/** A function that was told to stop gets this long to do so. */
const HEED_MS = 10 * SECOND;

/** Begins the run, calls, and tells how it went. Never rejects. */
export async function runFunction(call: () => unknown, ctx: RunContext, clock: Clock): Promise<Outcome> {
  if (!(await ctx.begin())) return outcomeOfAbort(ctx.abortReason() ?? { kind: "cancel", by: "beforeStart" });
  const outcome = outcomeOf(call, ctx);
  // Watching for a signal costs more than a short function does, and only a long one can fail to heed it.
  return (await isOverSoon(outcome)) ? outcome : unlessIgnored(outcome, ctx, clock);
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
    return outcomeOfResult(await call());
  } catch (error) {
    const reason = ctx.abortReason();
    return reason ? outcomeOfAbort(reason) : { state: "failed", error: errorOf(error) };
  }
}

/** What a function handed back: text is its message, everything else is told as JSON. */
export function outcomeOfResult(result: unknown): Outcome {
  if (result === undefined) return { state: "succeeded", output: "", isSilent: true, result };
  let output: string | undefined;
  try {
    output = typeof result === "string" ? result : JSON.stringify(result);
  } catch (error) {
    output = undefined;
    return notJson(messageOf(error));
  }
  if (output === undefined) return notJson(`it is a ${typeof result}`);
  return { state: "succeeded", output, isSilent: output.trim() === "", result };
}

function notJson(why: string): Outcome {
  return { state: "failed", error: { code: "result", message: `the result cannot be kept as JSON: ${why}` } };
}

/** `unavailable` is a word of `retry.on` (L6): whoever throws may say it with `code`. */
function errorOf(error: unknown): { code: string; message: string } {
  if (isFault(error)) return { code: error.code, message: sayFault(error) };
  const isUnavailable =
    typeof error === "object" && error !== null && "code" in error && error.code === "unavailable";
  return { code: isUnavailable ? "unavailable" : "exception", message: messageOf(error) };
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
