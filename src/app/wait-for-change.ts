// Waiting for the ledger to change, for surfaces that follow something.

import { linkAbort } from "../kernel/abort.ts";
import { SECOND } from "../kernel/time.ts";
import type { Context } from "./context.ts";

/** Also looked at without a wake-up, in case one was lost. */
const LOOK_MS = SECOND;

/** Resolves at the ledger's next change, after a second, after `atMostMs`, or when aborted; never rejects. */
export async function waitForChange(
  context: Pick<Context, "ledger" | "clock">,
  { atMostMs = LOOK_MS, signal }: { atMostMs?: number; signal: AbortSignal },
): Promise<void> {
  const nap = linkAbort(signal);
  const unsubscribe = context.ledger.onChange(() => nap.abort("changed"));
  try {
    await context.clock.sleep(Math.min(LOOK_MS, atMostMs), nap.signal);
  } catch {
    // Woken by a change, or aborted: the caller looks which.
  } finally {
    unsubscribe();
    nap.release();
  }
}
