// The ledger's port for what is measured: how executors did, and how large the store is. No content (law 7).

import type { Instant } from "../../kernel/time.ts";

/** Attempts of tasks that ended alike. */
export interface ExecutorSum {
  executor: string;
  /** Undefined = the preferred one; only rollouts and callers name one. */
  version: string | undefined;
  state: string;
  attempts: number;
  /** Start to end of those that began, ms. */
  totalMs: number;
  longestMs: number;
}

export interface TableSize {
  table: string;
  rows: number;
  /** With its indexes; undefined where the engine cannot say. */
  bytes: number | undefined;
}

export interface MetricsLedger {
  /** Attempts that waited in a queue and ended at `since` or later, by executor, version and state. */
  executorSums(filter: { since: Instant }): Promise<readonly ExecutorSum[]>;
  /** Reads every page of the store: for a person's question, not for a node's own thread. */
  storeSizes(): Promise<{ totalBytes: number; tables: readonly TableSize[] }>;
}
