// What the runner needs of the composition root.

import type { Random } from "../kernel/ids.ts";
import type { Log } from "../kernel/log.ts";
import type { Redact } from "../kernel/redact.ts";
import type { Clock, Instant } from "../kernel/time.ts";
import type { CloseAnswer, Closing } from "../records/ledger/claims.ts";
import type { Ledger } from "../records/ledger/index.ts";
import type { Outcome } from "../records/outcome.ts";
import type { JobParsers } from "./job-of-run.ts";
import type { LiveRun } from "./live-run.ts";
import type { Watch } from "./watch.ts";
import type { WorkTable } from "./work.ts";

/** What the runner asks of the composition root once a run has an outcome. */
export type CloseRun = (input: {
  live: LiveRun;
  outcome: Outcome;
  finishedAt: Instant;
}) => Promise<Omit<Closing, "claim" | "finishedAt" | "outcome"> & { outcome: Outcome }>;

export interface RunnerDeps extends JobParsers {
  ledger: Ledger;
  clock: Clock;
  random: Random;
  log: Log;
  redact: Redact;
  work: WorkTable;
  watch: Watch;
  /** Archives output and decides state, retry and deliveries. */
  planClose: CloseRun;
  /** Called whenever a run has ended: a place is free. */
  onFree(live: LiveRun, answer: CloseAnswer): void;
}
