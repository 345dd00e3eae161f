// Waits out a busy, full or unreachable store: what must not be lost stays in memory until it is written (L11).

import { isFault, messageOf } from "../kernel/errors.ts";
import type { Random } from "../kernel/ids.ts";
import type { Log } from "../kernel/log.ts";
import type { Clock } from "../kernel/time.ts";
import { fraction } from "./system.ts";

export interface StoreRetryDeps {
  clock: Clock;
  random: Random;
  log: Log;
}

/** L11: between two tries 50–500 ms, with jitter. */
export function busyDelayMs(random: Random): number {
  return 50 + Math.round(450 * fraction(random));
}

/** Whether trying the same call later can help. */
export function isWorthRetrying(error: unknown): boolean {
  return isFault(error) && error.retry === "later";
}

/**
 * Repeats `operation` while the store says "later". Rejects with the operation's own error when it is of another kind,
 * and with `signal.reason` when aborted between two tries. Says so in the log once, not at every try.
 */
export async function untilStored<T>(
  deps: StoreRetryDeps,
  what: string,
  operation: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  let hasWarned = false;
  for (;;) {
    try {
      return await operation();
    } catch (error) {
      if (!isWorthRetrying(error)) throw error;
      if (!hasWarned) deps.log.warn("store-waiting", { what, error: messageOf(error) });
      hasWarned = true;
      await deps.clock.sleep(busyDelayMs(deps.random), signal);
    }
  }
}
