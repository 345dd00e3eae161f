// Following the ledger's events: every one after a sequence, once, in order, for as long as somebody reads.
//
// I1. The next batch is read only when the last one was taken, so a slow reader costs no memory.

import type { RunEvent } from "../records/run.ts";
import type { Context } from "./context.ts";
import { waitForChange } from "./wait-for-change.ts";

export interface FollowOptions {
  /** Events with a greater sequence are told. */
  after: number;
  runId?: string;
  jobId?: string;
  /** With nothing to tell for this long an empty batch is yielded, as a sign of life. */
  quietMs: number;
  signal: AbortSignal;
}

const BATCH = 200;
/** Live log lines wake nobody, so they are looked for this often. */
const LOOK_MS = 250;

/** Ends without an error when `signal` aborts. Throws `store.*`. */
export async function* followEvents(
  context: Pick<Context, "ledger" | "clock">,
  { after, quietMs, signal, ...filter }: FollowOptions,
): AsyncGenerator<readonly RunEvent[]> {
  let last = after;
  let quietSince = context.clock.monotonicMs();
  while (!signal.aborted) {
    const events = await context.ledger.events({ ...filter, after: last, limit: BATCH });
    last = events.at(-1)?.sequence ?? last;
    const isQuiet = context.clock.monotonicMs() - quietSince >= quietMs;
    if (events.length > 0 || isQuiet) {
      yield events;
      quietSince = context.clock.monotonicMs();
    } else await waitForChange(context, { atMostMs: LOOK_MS, signal });
  }
}
