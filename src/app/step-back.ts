// A wall clock that was set back, seen from the ledger: something was recorded at an instant that lies ahead of now (T8).
//
// I1. Whoever is about to account for slots rewinds first: under a cursor that lies in a future that has been taken
//     back, a change of the job would leave what comes due again to nobody.

import { type Instant, MINUTE } from "../kernel/time.ts";
import { makeRewindRules } from "../schedule/cursor-after.ts";
import type { Context } from "./context.ts";

/** How far the clock was set back, as a negative number; undefined = it was not, or by no more than a minute. */
export function stepBackMs(newestRecordAt: Instant | undefined, wall: Instant): number | undefined {
  return newestRecordAt !== undefined && newestRecordAt - wall > MINUTE ? wall - newestRecordAt : undefined;
}

/** Moves cursors back when the clock was; repeating it changes nothing. */
export async function rewindAfterStepBack(
  { ledger, parseJob }: Pick<Context, "ledger" | "parseJob">,
  wall: Instant,
): Promise<void> {
  if (stepBackMs(await ledger.newestRecordAt(), wall) === undefined) return;
  await ledger.rewind(wall, makeRewindRules(parseJob)(wall));
}
