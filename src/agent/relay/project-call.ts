// What metrics learn of a model call: a row from a small, closed set of words and numbers (law 7).
//
// I1. A word that is not known beforehand becomes `other`, or the last of its kind: no prompt, reply, path, key or error
//     text can pass, and the number of different rows is bounded by the config.

import { HOUR } from "../../kernel/time.ts";
import type { ModelCallSum } from "../../records/ledger/model-calls.ts";
import type { CallEnd, CallRole, ModelCallRecord, ModelErrorClass } from "../../records/model.ts";
import { PROVIDERS } from "../../records/models-config.ts";
import { microUsdOf } from "../../records/usage.ts";

const ROLES: readonly CallRole[] = ["primary", "auxiliary"];
const ENDS: readonly CallEnd[] = ["done", "cancelled", "failed"];
const ERROR_CLASSES: readonly ModelErrorClass[] = [
  "auth",
  "quota",
  "rateLimit",
  "network",
  "timeout",
  "server",
  "invalidRequest",
  "contextLength",
  "badReply",
  "budget",
  "cancelled",
  "other",
];

/** The row of one call, to be merged with others of its group. `modelNames` are those of the config. Pure; never throws. */
export function projectCall(record: ModelCallRecord, modelNames: Iterable<string>): ModelCallSum {
  const { usage, costUsd, firstTokenMs, errorClass } = record;
  return {
    hour: Math.floor(count(record.startedAt) / HOUR) * HOUR,
    model: known(record.model, [...modelNames, "other"]),
    provider: known(record.provider, [...PROVIDERS, "other"]),
    role: known(record.role, ROLES),
    end: known(record.end, ENDS),
    errorClass: errorClass === undefined ? undefined : known(errorClass, ERROR_CLASSES),
    calls: 1,
    attempts: count(record.attempts),
    inputTokens: count(usage.inputTokens),
    outputTokens: count(usage.outputTokens),
    cachedInputTokens: count(usage.cachedInputTokens),
    microUsd: count(microUsdOf(count(costUsd ?? 0, { isWhole: false }))),
    unpricedCalls: costUsd === undefined ? 1 : 0,
    totalMs: count(record.durationMs),
    firstTokenMs: count(firstTokenMs ?? 0),
    firstTokens: firstTokenMs === undefined ? 0 : 1,
  };
}

/** The word itself if it is one of these, else the last of them. */
function known<Word extends string>(word: string, words: readonly Word[]): Word {
  return words.find((one) => one === word) ?? (words.at(-1) as Word);
}

/** A number of at least 0, whatever it was; whole unless asked otherwise. */
function count(value: number, { isWhole = true }: { isWhole?: boolean } = {}): number {
  const number = isWhole ? Math.round(Number(value)) : Number(value);
  return Number.isFinite(number) && number > 0 && number <= Number.MAX_SAFE_INTEGER ? number : 0;
}
