// Waiting for a run's end, with its retries and reruns: for `--wait` and for agents that ask.

import { isTerminal, type Run } from "../records/run.ts";
import type { Context } from "./context.ts";
import { newestAttempt } from "./runs.ts";
import { waitForChange } from "./wait-for-change.ts";

export interface WaitOptions {
  /** Infinity = without an end. */
  atMostMs: number;
  signal: AbortSignal;
  /** Called at each look. */
  onLook?(run: Run): void;
}

/** The newest attempt that has ended; undefined when time ran out, or `signal` aborted, before. */
export async function waitForEnd(
  context: Context,
  runId: string,
  { atMostMs, signal, onLook }: WaitOptions,
): Promise<Run | undefined> {
  const endMs = context.clock.monotonicMs() + atMostMs;
  for (;;) {
    const run = await newestAttempt(context, runId);
    if (isTerminal(run.state)) return run;
    onLook?.(run);
    const leftMs = endMs - context.clock.monotonicMs();
    if (leftMs <= 0 || signal.aborted) return undefined;
    await waitForChange(context, { atMostMs: leftMs, signal });
  }
}
