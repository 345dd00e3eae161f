// What metrics learn of a model call: a row from a small, closed set of words and numbers (law 7).
//
// I1. A word that is not known beforehand becomes `other`: no prompt, reply, path, key or error text can pass, and the
//     number of different rows is bounded by the config.

import { HOUR, type Instant } from "../../kernel/time.ts";
import type { ModelCallRecord } from "../../records/model.ts";
import { PROVIDERS } from "../../records/models-config.ts";

export interface CallMetrics {
  /** Beginning of the hour the call began in. */
  hour: Instant;
  /** A configured name, else `other`. */
  model: string;
  provider: string;
  role: string;
  end: string;
  /** `none` for a call that was done. */
  errorClass: string;
  isStreaming: boolean;
  calls: 1;
  attempts: number;
  inputTokens: number;
  outputTokens: number;
  cachedInputTokens: number;
  reasoningTokens: number;
  microUsd: number;
  durationMs: number;
  /** −1 = no content came. */
  firstTokenMs: number;
}

const ROLES = ["primary", "auxiliary"];
const ENDS = ["done", "failed", "cancelled"];
const ERROR_CLASSES = [
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

/** The row of one call. `modelNames` are the names in the config. Pure; never throws. */
export function projectCall(record: ModelCallRecord, modelNames: Iterable<string>): CallMetrics {
  const { usage } = record;
  return {
    hour: Math.floor(count(record.startedAt) / HOUR) * HOUR,
    model: known(record.model, [...modelNames]),
    provider: known(record.provider, PROVIDERS),
    role: known(record.role, ROLES),
    end: known(record.end, ENDS),
    errorClass: record.errorClass === undefined ? "none" : known(record.errorClass, ERROR_CLASSES),
    isStreaming: record.isStreaming === true,
    calls: 1,
    attempts: count(record.attempts),
    inputTokens: count(usage.inputTokens),
    outputTokens: count(usage.outputTokens),
    cachedInputTokens: count(usage.cachedInputTokens),
    reasoningTokens: count(usage.reasoningTokens),
    microUsd: count((record.costUsd ?? 0) * 1_000_000),
    durationMs: count(record.durationMs),
    firstTokenMs: record.firstTokenMs === undefined ? -1 : count(record.firstTokenMs),
  };
}

function known(word: string, words: readonly string[]): string {
  return words.includes(word) ? word : "other";
}

/** A whole number of at least 0, whatever it was. */
function count(value: number): number {
  const whole = Math.round(Number(value));
  return Number.isSafeInteger(whole) && whole > 0 ? whole : 0;
}
