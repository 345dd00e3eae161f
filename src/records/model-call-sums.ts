// Sums of model calls, put together. Pure.

import type { ModelCallGroup, ModelCallSum } from "./ledger/model-calls.ts";

/** The same group once. */
export function mergeModelCalls(sums: readonly ModelCallSum[]): ModelCallSum[] {
  const merged = new Map<string, ModelCallSum>();
  for (const sum of sums) {
    const key = groupKey(sum);
    const known = merged.get(key);
    merged.set(key, known ? added(known, sum) : sum);
  }
  return [...merged.values()];
}

function groupKey({ hour, model, provider, role, end, errorClass }: ModelCallGroup): string {
  return JSON.stringify([hour, model, provider, role, end, errorClass]);
}

function added(a: ModelCallSum, b: ModelCallSum): ModelCallSum {
  return {
    ...a,
    calls: a.calls + b.calls,
    attempts: a.attempts + b.attempts,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    microUsd: a.microUsd + b.microUsd,
    unpricedCalls: a.unpricedCalls + b.unpricedCalls,
    totalMs: a.totalMs + b.totalMs,
    firstTokenMs: a.firstTokenMs + b.firstTokenMs,
    firstTokens: a.firstTokens + b.firstTokens,
  };
}
