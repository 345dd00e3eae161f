// Writes the ends of many runs: one transaction for all; if that is refused for a reason of its own, one by one, so that
// one bad row harms no other (runner.ts I3).

import { messageOf } from "../kernel/errors.ts";
import type { CloseAnswer, Closing } from "../records/ledger/claims.ts";
import type { Ledger } from "../records/ledger/index.ts";

export interface CloseTogetherDeps {
  ledger: Pick<Ledger, "closeRuns">;
  /** Waits out a store that says "later". */
  stored<T>(what: string, call: () => Promise<T>): Promise<T>;
  /** Whether waiting for the store has ended: then its refusal is no row's fault. */
  givesUp(): boolean;
}

/** One answer a closing, in their order; an error where its row alone is refused. */
export async function closeTogether(
  deps: CloseTogetherDeps,
  closings: readonly Closing[],
): Promise<(CloseAnswer | Error)[]> {
  try {
    return [...(await deps.stored("close runs", () => deps.ledger.closeRuns(closings)))];
  } catch (error) {
    if (deps.givesUp() || closings.length === 1) throw error;
    return closeOneByOne(deps, closings);
  }
}

async function closeOneByOne(
  { ledger, stored }: CloseTogetherDeps,
  closings: readonly Closing[],
): Promise<(CloseAnswer | Error)[]> {
  const answers: (CloseAnswer | Error)[] = [];
  for (const closing of closings) {
    try {
      const [answer] = await stored("close run", () => ledger.closeRuns([closing]));
      answers.push(answer ?? "lost");
    } catch (error) {
      answers.push(error instanceof Error ? error : new Error(messageOf(error)));
    }
  }
  return answers;
}
