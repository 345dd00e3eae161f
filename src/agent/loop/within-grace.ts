// Waits for work that was told to stop, but not for ever.

import { whenAborted } from "../../kernel/abort.ts";
import type { Clock } from "../../kernel/time.ts";

export interface GraceOptions {
  /** The work has been told by it. */
  signal: AbortSignal;
  /** Asked when `signal` has aborted. */
  graceMs(): number;
  clock: Pick<Clock, "sleep">;
}

/** What `work` resolves with; undefined when it has not, `graceMs` after the signal aborted. Rejects as `work` does. */
export async function withinGrace<T>(work: Promise<T>, options: GraceOptions): Promise<T | undefined> {
  const over = new AbortController();
  const aborted = whenAborted(options.signal);
  const late = aborted.promise
    .then(() => options.clock.sleep(options.graceMs(), over.signal))
    .then(
      () => undefined,
      () => undefined,
    );
  try {
    return await Promise.race([work, late]);
  } finally {
    aborted.release();
    over.abort("done");
  }
}
