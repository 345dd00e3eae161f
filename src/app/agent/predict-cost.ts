// Cost preflight: what a run will take, told from the job's own history; refused if it cannot fit its budget (law 8). Pure
// but for reading that history.

import type { BudgetLimit } from "../../records/agent-work.ts";
import type { Usage } from "../../records/outcome.ts";
import type { Context } from "../context.ts";

/** Fewer runs than this say nothing. */
const LEAST_RUNS = 3;
const RUNS_LOOKED_AT = 20;

/** A sentence, if the cheapest quarter of the job's successful runs already took more than the budget allows. */
export async function whyUnaffordable(
  context: Pick<Context, "ledger">,
  jobId: string | undefined,
  budget: BudgetLimit,
): Promise<string | undefined> {
  if (jobId === undefined || (budget.usd === undefined && budget.tokens === undefined)) return undefined;
  const runs = await context.ledger.runs({ jobId, state: ["succeeded"], limit: RUNS_LOOKED_AT });
  return refusal(
    runs.map(({ usage }) => usage).filter((usage): usage is Usage => (usage?.modelCalls ?? 0) > 0),
    budget,
  );
}

/** Refuses only where hardly any earlier run would have fitted: a prediction must not stop what may well succeed. */
export function refusal(history: readonly Usage[], budget: BudgetLimit): string | undefined {
  if (history.length < LEAST_RUNS) return undefined;
  const tokens = quarterOf(history.map(({ tokensIn = 0, tokensOut = 0 }) => tokensIn + tokensOut));
  if (budget.tokens !== undefined && tokens > budget.tokens)
    return `its last ${history.length} runs took at least ${tokens} tokens, the budget is ${budget.tokens}`;
  const usd = quarterOf(history.map(({ costUsd = 0 }) => costUsd));
  if (budget.usd !== undefined && usd > budget.usd)
    return `its last ${history.length} runs cost at least $${usd.toFixed(4)}, the budget is $${budget.usd}`;
  return undefined;
}

/** The value that a quarter of them do not exceed. */
function quarterOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 4)] ?? 0;
}
