// What one attempt at a model sets aside before it begins, and what it cost once it has ended (S3).
//
// I1. What a provider did not count is estimated: the input, and as much of an answer as had come.

import type { BudgetLedger, Reservation, Spending } from "../../records/ledger/budgets.ts";
import { NO_TOKENS, type TokenUsage } from "../../records/model.ts";
import type { AskEnd } from "./ask-once.ts";
import type { ResolvedModel } from "./choose-model.ts";
import { estimateTokens } from "./estimate-tokens.ts";
import { isFree } from "./model-error.ts";
import {
  budgetSpent,
  costUsd,
  NOTHING_SPENT,
  outputCeiling,
  reservationFor,
  spendingOf,
  usageOf,
} from "./price.ts";

/** The budget that a run's calls draw on. */
export interface BudgetUse {
  rootId: string;
  ledger: Pick<BudgetLedger, "reserve" | "settle">;
  /** Whether dollars are limited: then a model without a price is not asked. */
  hasMoneyLimit: boolean;
}

export interface AttemptCost {
  usage: TokenUsage;
  costUsd: number | undefined;
  spending: Spending;
}

/** Reserves for one attempt. Throws Fault `budget.spent` when there is no room. Without a budget, nothing is reserved. */
export async function setAside(
  budget: BudgetUse | undefined,
  model: ResolvedModel,
  wish: { inputTokens: number; maxOutputTokens: number | undefined },
): Promise<{ reservation: Reservation | undefined; maxOutputTokens: number | undefined }> {
  const allowed = [wish.maxOutputTokens, model.config.maxOutputTokens].filter(
    (tokens) => tokens !== undefined,
  );
  if (!budget)
    return { reservation: undefined, maxOutputTokens: allowed.length > 0 ? Math.min(...allowed) : undefined };
  const { asked, most } = outputCeiling(model, wish);
  const reservation = reservationFor(model, {
    rootId: budget.rootId,
    inputTokens: wish.inputTokens,
    maxOutputTokens: most,
  });
  const answer = await budget.ledger.reserve(reservation);
  if (answer.kind === "refused") throw budgetSpent(answer.budget, reservation);
  return { reservation, maxOutputTokens: asked };
}

/** What an attempt cost, by its provider's word or by estimate (I1). */
export function costOfAttempt(model: ResolvedModel, end: AskEnd, inputTokens: number): AttemptCost {
  const counted = end.kind === "answered" ? usageOf(end.reply.usage) : undefined;
  if (counted && end.kind === "answered")
    return costOf(model, counted, end.reply.usage.inputTokens.cacheWrite ?? 0);
  if (end.kind === "failed" && (!end.wasSent || isFree(end.error)))
    return { usage: NO_TOKENS, costUsd: costUsd(model, NO_TOKENS), spending: NOTHING_SPENT };
  const { text, reasoning, calls } =
    end.kind === "failed" ? end.soFar : { ...end.reply, calls: end.reply.toolCalls };
  const thoughts = estimateTokens(reasoning);
  const said =
    estimateTokens(text) + calls.reduce((sum, call) => sum + estimateTokens(call.arguments) + 8, 0);
  return costOf(model, {
    inputTokens,
    outputTokens: said + thoughts,
    cachedInputTokens: 0,
    reasoningTokens: thoughts,
  });
}

function costOf(model: ResolvedModel, usage: TokenUsage, cacheWrites = 0): AttemptCost {
  const usd = costUsd(model, usage, cacheWrites);
  return { usage, costUsd: usd, spending: spendingOf(usage, usd) };
}
