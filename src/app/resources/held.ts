// What live runs hold, by their rows.

import type { Held } from "../../orchestrate/resources/room.ts";
import { isLive, type Run } from "../../records/run.ts";

/** What the live ones among these hold of one host. */
export function heldBy(runs: readonly Run[], hostId: string): Held[] {
  return runs.flatMap(({ id, state, admission }) => {
    const holds = admission?.holds;
    if (!holds || holds.host !== hostId || !isLive(state)) return [];
    const { host: _, ...rest } = holds;
    return [{ ...rest, runId: id }];
  });
}
