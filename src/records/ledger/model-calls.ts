// The ledger's port for how models did: sums by the hour over a few bounded words. No content, no run, no key (law 7).

import type { Instant } from "../../kernel/time.ts";
import type { CallEnd, CallRole, ModelErrorClass } from "../model.ts";

/** What calls are counted by. */
export interface ModelCallGroup {
  /** The first instant of the hour in which the calls began. */
  hour: Instant;
  /** Configured names. */
  model: string;
  provider: string;
  role: CallRole;
  end: CallEnd;
  errorClass: ModelErrorClass | undefined;
}

export interface ModelCallSum extends ModelCallGroup {
  calls: number;
  attempts: number;
  inputTokens: number;
  outputTokens: number;
  /** Part of `inputTokens`. */
  cachedInputTokens: number;
  /** Of the calls that have a price. */
  microUsd: number;
  unpricedCalls: number;
  totalMs: number;
  /** Summed over the `firstTokens` calls that got a first token. */
  firstTokenMs: number;
  firstTokens: number;
}

export interface ModelCallLedger {
  /** Adds to what is there, in one statement; the same group may come several times. */
  countModelCalls(sums: readonly ModelCallSum[]): Promise<void>;
  /** The hours that begin at or after `since`, oldest first. Kept for 400 days. */
  modelCallSums(filter: { since: Instant }): Promise<readonly ModelCallSum[]>;
}
