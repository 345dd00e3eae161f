// From calls to sums: the bounded projection of what the relay saw. Pure.

import { HOUR } from "../kernel/time.ts";
import type { ModelCallGroup, ModelCallSum } from "./ledger/model-calls.ts";
import type { ModelCallRecord } from "./model.ts";
import { microUsdOf } from "./usage.ts";

/** One sum for each group, in order of their first call. */
export function sumModelCalls(records: readonly ModelCallRecord[]): ModelCallSum[] {
  return mergeModelCalls(records.map(sumOf));
}

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

function sumOf(record: ModelCallRecord): ModelCallSum {
  const { model, provider, role, end, errorClass, usage, costUsd, firstTokenMs } = record;
  return {
    hour: record.startedAt - (record.startedAt % HOUR),
    ...{ model, provider, role, end, errorClass },
    calls: 1,
    attempts: record.attempts,
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    cachedInputTokens: usage.cachedInputTokens,
    microUsd: microUsdOf(costUsd ?? 0),
    unpricedCalls: costUsd === undefined ? 1 : 0,
    totalMs: record.durationMs,
    firstTokenMs: firstTokenMs ?? 0,
    firstTokens: firstTokenMs === undefined ? 0 : 1,
  };
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
