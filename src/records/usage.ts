// What a run used, told from the budget of its tree where nobody else can tell any more (S3). Pure.

import type { Budget } from "./ledger/budgets.ts";
import type { Usage } from "./outcome.ts";

const MICRO = 1_000_000;

/** Rounded up: what is counted never falls short of what was spent. */
export function microUsdOf(usd: number): number {
  // Binary fractions: 0.07 dollars are 70,000 millionths, not 70,000.00000000001.
  return Math.ceil(Number((usd * MICRO).toFixed(3)));
}

/** What the tree is known to have spent, with what its owner had reserved when it died: that counts as spent. */
export function usageFromBudget({ spent, reservedTokens, reservedMicroUsd }: Budget): Usage {
  const microUsd = spent.microUsd + reservedMicroUsd;
  return {
    tokensIn: spent.inputTokens,
    tokensOut: spent.outputTokens,
    ...(reservedTokens > 0 && { tokensReserved: reservedTokens }),
    ...(microUsd > 0 && { costUsd: microUsd / MICRO }),
  };
}
