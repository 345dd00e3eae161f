// The ledger's port for people: lists, trees, logs, counts; and housekeeping.

import type { Instant } from "../../kernel/time.ts";
import type { NodeRecord } from "../node.ts";
import type { ProcessRecord } from "../process.ts";
import type { Run, RunEvent, RunState } from "../run.ts";

export interface RunFilter {
  jobId?: string;
  state?: readonly RunState[];
  since?: Instant;
  /** Root runs only. Default false. */
  rootsOnly?: boolean;
  /** Page: runs older than this id. */
  before?: string;
  /** Default 50. */
  limit?: number;
}

export interface LedgerCounts {
  runs: Readonly<Partial<Record<RunState, number>>>;
  deliveries: Readonly<Record<string, number>>;
  /** Jobs whose `dueAt` lies before `now` by more than the given time: overdue. */
  overdueJobs: readonly { jobId: string; dueAt: Instant }[];
}

export interface ReadingLedger {
  /** By id or unique prefix (≥ 6 characters); `ambiguous` names the candidates. */
  run(idOrPrefix: string): Promise<Run | undefined | { ambiguous: readonly string[] }>;
  /** Newest first. A page of a million rows ≤ 50 ms. */
  runs(filter: RunFilter): Promise<readonly Run[]>;
  /** Every attempt with this dedupeKey, first to last. */
  attempts(dedupeKey: string): Promise<readonly Run[]>;
  /** The whole tree of a root, parents before children. */
  tree(rootId: string): Promise<readonly Run[]>;
  /** Newest started or closed run per job. */
  lastRuns(jobIds: readonly string[]): Promise<ReadonlyMap<string, Run>>;
  /** Events after `after`, oldest first. Never shows a sequence while a smaller one can still appear. */
  events(filter: {
    after?: number;
    runId?: string;
    jobId?: string;
    limit?: number;
  }): Promise<readonly RunEvent[]>;
  /** The newest event's sequence; 0 = none. */
  lastSequence(): Promise<number>;
  processes(runId: string): Promise<readonly ProcessRecord[]>;
  counts(now: Instant): Promise<LedgerCounts>;
  /** L8: folds what lies beyond `rootRunsPerJob` into `slotSummaries`, with delivery tombstones, in one transaction per job. Returns output files no row names any more. */
  prune(options: {
    rootRunsPerJob: number;
    /** Of workflows and tasks that are no job's: how many trees are kept. Default: as of one job. */
    joblessRoots?: number;
    eventsKept: number;
    now: Instant;
  }): Promise<{ prunedRuns: number; orphanedFiles: readonly string[] }>;
  /** Which of these output files a row still names (U2: others are swept after an hour). */
  knownOutputFiles(files: readonly string[]): Promise<ReadonlySet<string>>;
}

export interface NodeLedger {
  registerNode(node: NodeRecord): Promise<void>;
  /** One row write at each pass; also carries `stoppingAt`, `stoppedAt`, `lastError`, `url`. */
  updateNode(id: string, changes: Partial<NodeRecord>): Promise<void>;
  /** Newest start first. Rows of nodes that ended more than a day ago are dropped at registration. */
  nodes(): Promise<readonly NodeRecord[]>;
}
