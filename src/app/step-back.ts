// A wall clock that was set back, seen from the ledger: some node's last pass lies ahead of now (T8).
//
// I1. Whoever is about to account for slots rewinds first: under a cursor that lies in a future that has been taken
//     back, a change of the job would leave what comes due again to nobody.

import { type Instant, MINUTE } from "../kernel/time.ts";
import type { Ledger } from "../records/ledger/index.ts";
import { makeRewindCursor } from "../schedule/cursor-after.ts";
import type { Context } from "./context.ts";

/** How far the clock was set back while nobody looked, as a negative number; undefined = it was not, or by less than a minute. */
export async function stepBackMs(ledger: Pick<Ledger, "nodes">, wall: Instant): Promise<number | undefined> {
  const passes = (await ledger.nodes()).map((node) => node.lastPassAt ?? 0);
  const newest = Math.max(0, ...passes);
  return newest - wall > MINUTE ? wall - newest : undefined;
}

/** Moves cursors back when the clock was; repeating it changes nothing. */
export async function rewindAfterStepBack(
  context: Pick<Context, "ledger" | "parseJob">,
  wall: Instant,
): Promise<void> {
  if ((await stepBackMs(context.ledger, wall)) === undefined) return;
  const rewindCursor = makeRewindCursor(context.parseJob);
  await context.ledger.rewind(wall, (view, isStarted) => rewindCursor(view, wall, isStarted));
}
