// What a run used, told from its log and from the budget of its tree where nobody else can tell any more (S3). Pure.

import * as z from "zod/mini";
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

const callFinished = z.object({
  usage: z.object({ inputTokens: z.number(), outputTokens: z.number() }),
  costUsd: z.optional(z.nullable(z.number())),
});

/**
 * What the lines of a run's log tell: every call that ended, and how many turns began. Undefined where they tell of no
 * turn. A call whose end nobody saw is not in it; nor is any while the relay is off, as it is the relay that tells.
 */
export function usageFromEvents(
  lines: readonly { kind: string; data: Record<string, unknown> }[],
): Usage | undefined {
  const turns = lines.filter(({ kind }) => kind === "turn-started").length;
  if (turns === 0) return undefined;
  const calls = lines
    .filter(({ kind }) => kind === "call-finished")
    .flatMap(({ data }) => callFinished.safeParse(data).data ?? []);
  if (calls.length === 0) return { turns };
  const priced = calls.flatMap(({ costUsd }) => costUsd ?? []);
  return {
    tokensIn: sum(calls.map(({ usage }) => usage.inputTokens)),
    tokensOut: sum(calls.map(({ usage }) => usage.outputTokens)),
    ...(priced.length > 0 && { costUsd: sum(priced.map(microUsdOf)) / MICRO }),
    modelCalls: calls.length,
    turns,
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
