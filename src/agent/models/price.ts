// What calls cost and how much is set aside for one: tokens to US dollars, estimates to reservations. Pure.

import type { LanguageModelV3Usage } from "@ai-sdk/provider";
import { Fault } from "../../kernel/errors.ts";
import type { BudgetLimit } from "../../records/agent-work.ts";
import type { Budget, Reservation, Spending } from "../../records/ledger/budgets.ts";
import type { TokenUsage } from "../../records/model.ts";
import type { ModelChain, ResolvedModel } from "./choose-model.ts";
import { providerFacts } from "./providers.ts";

/** Tokens of `contextLength` where a model names none. */
export const DEFAULT_CONTEXT_TOKENS = 128_000;
/** Under a budget a call needs a ceiling: sent as the maximum output where neither call nor config names one. */
export const BUDGETED_OUTPUT_TOKENS = 8_192;

/** Names of the chain's models without a price. A money budget refuses them, at creation and before a call (S3). */
export function unpricedModels({ first, fallback }: ModelChain): string[] {
  return [first, ...fallback].filter(({ config }) => !config.price).map(({ name }) => name);
}

/** Throws Fault `model.unpriced` when money is limited and the model asked for has no price. */
export function requirePriced({ first }: ModelChain, limit: BudgetLimit): void {
  if (limit.usd !== undefined && !first.config.price) throw unpriced(first.name);
}

export function unpriced(model: string): Fault {
  return new Fault("model.unpriced", `The budget counts dollars, and model "${model}" has no price`, {
    hint: "Write `price: {input: …, output: …}` (dollars per million tokens; 0 for a model of your own), or limit tokens instead.",
    details: { model },
  });
}

/** What a provider counted, as ours; undefined when it counted nothing. */
export function usageOf({ inputTokens, outputTokens }: LanguageModelV3Usage): TokenUsage | undefined {
  const usage: TokenUsage = {
    inputTokens: inputTokens.total ?? 0,
    outputTokens: outputTokens.total ?? 0,
    cachedInputTokens: inputTokens.cacheRead ?? 0,
    reasoningTokens: outputTokens.reasoning ?? 0,
  };
  return usage.inputTokens + usage.outputTokens > 0 ? usage : undefined;
}

/** US dollars of a usage; undefined where the model has no price. `cacheWrites` is part of the input. */
export function costUsd(model: ResolvedModel, usage: TokenUsage, cacheWrites = 0): number | undefined {
  const { price, provider } = model.config;
  if (!price) return undefined;
  const plain = Math.max(0, usage.inputTokens - usage.cachedInputTokens - cacheWrites);
  const written = cacheWrites * providerFacts(provider).cacheWriteFactor;
  const cached = usage.cachedInputTokens * (price.cachedInput ?? price.input);
  return ((plain + written) * price.input + cached + usage.outputTokens * price.output) / 1_000_000;
}

/** Millionths of a dollar, rounded up: a budget is never undercounted. */
export function microUsd(usd: number | undefined): number {
  return Math.ceil((usd ?? 0) * 1_000_000 - 1e-6);
}

/** What a call may cost at most: estimated input and maximum output at list price (S3). */
export function reservationFor(
  model: ResolvedModel,
  call: { rootId: string; inputTokens: number; maxOutputTokens: number },
): Reservation {
  const usage = { inputTokens: call.inputTokens, outputTokens: call.maxOutputTokens };
  const most = costUsd(model, { ...usage, cachedInputTokens: 0, reasoningTokens: 0 }, call.inputTokens);
  return {
    rootId: call.rootId,
    tokens: call.inputTokens + call.maxOutputTokens,
    microUsd: microUsd(most),
  };
}

/** The most an answer can be: what call and config allow, what the window leaves, and thoughts on top. */
export function outputCeiling(
  { config }: ResolvedModel,
  wish: { inputTokens: number; maxOutputTokens: number | undefined },
): { asked: number; most: number } {
  const allowed = Math.min(
    wish.maxOutputTokens ?? Number.POSITIVE_INFINITY,
    config.maxOutputTokens ?? Number.POSITIVE_INFINITY,
  );
  const room = Math.max(1, (config.contextLength ?? DEFAULT_CONTEXT_TOKENS) - wish.inputTokens);
  const asked = Math.min(Number.isFinite(allowed) ? allowed : BUDGETED_OUTPUT_TOKENS, room);
  const { thinkingTokens } = providerFacts(config.provider);
  const thoughts = config.reasoningEffort ? (thinkingTokens?.(config.reasoningEffort) ?? 0) : 0;
  return { asked, most: asked + thoughts };
}

export function spendingOf(usage: TokenUsage, usd: number | undefined): Spending {
  const { inputTokens, outputTokens } = usage;
  return { inputTokens, outputTokens, microUsd: microUsd(usd), calls: 1 };
}

export const NOTHING_SPENT: Spending = { inputTokens: 0, outputTokens: 0, microUsd: 0, calls: 0 };

/** No room for a call. */
export function budgetSpent(budget: Budget, wanted: Reservation): Fault {
  const { maxTokens, maxMicroUsd, spent } = budget;
  const tokens = spent.inputTokens + spent.outputTokens;
  const isTokens = maxTokens !== undefined && tokens + budget.reservedTokens + wanted.tokens > maxTokens;
  const sentence = isTokens
    ? sentenceOf([tokens, budget.reservedTokens, maxTokens, wanted.tokens], (count) => `${count} tokens`)
    : sentenceOf(
        [spent.microUsd, budget.reservedMicroUsd, maxMicroUsd ?? 0, wanted.microUsd],
        (micro) => `$${(micro / 1_000_000).toFixed(micro < 10_000 ? 6 : 2)}`,
      );
  return new Fault("budget.spent", sentence, {
    hint: "Raise the job's `budget`, or set a smaller `maxOutputTokens` for the model.",
    details: { rootId: budget.rootId },
  });
}

function sentenceOf(
  [spent, reserved, limit, wanted]: readonly [number, number, number, number],
  show: (amount: number) => string,
): string {
  const held = reserved > 0 ? ` and ${show(reserved)} set aside for calls under way` : "";
  return `The budget of ${show(limit)} has no room for the next call: ${show(spent)} spent${held}, and the call may need ${show(wanted)}`;
}
