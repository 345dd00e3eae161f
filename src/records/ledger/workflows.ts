// The ledger's port for workflows: a journal for each run of one, and the rows of its tasks, written together (DESIGN §12).
//
// I1. Journal entries and the rows that they make, end or cancel are one transaction, fenced by the workflow's claim:
//     whoever lost it writes nothing (law 3).
// I2. A journal only grows. Its first entry holds the workflow itself, so that a run goes on although its file changed.
// I3. A queued task starts where `AdmitTasks` says so, asked inside the transaction with every live task of the ledger in
//     view: the nodes of one store share a queue's width exactly (W4).

import type { Instant } from "../../kernel/time.ts";
import type { NewDelivery } from "../delivery.ts";
import type { Outcome } from "../outcome.ts";
import type { Admission, Claim, Resolution, Run, TerminalState } from "../run.ts";
import type { NewRun } from "./new-run.ts";

/** A row of a task: waiting for a person or an instant, or over at once. Absent state = `queued`. */
export type NewTask = NewRun &
  (
    | { state?: undefined }
    | { state: "waiting"; reason: string }
    | {
        state: TerminalState;
        reason: string | undefined;
        outcome: Outcome | undefined;
        startedAt: Instant | undefined;
        finishedAt: Instant;
      }
  );

/** The end of a row that waits and that nobody claims (an approval, a pause). */
export interface TaskEnding {
  runId: string;
  state: TerminalState;
  reason: string | undefined;
  outcome: Outcome | undefined;
}

export interface ProgressRecord {
  /** Of the workflow's run. */
  claim: Claim;
  now: Instant;
  /** How many entries the journal holds so far. */
  from: number;
  /** JSON, in order. */
  entries: readonly string[];
  tasks?: readonly NewTask[];
  endings?: readonly TaskEnding[];
  /** Rows that shall end: waiting ones at once, live ones are asked. */
  cancels?: readonly { runId: string; by: string }[];
  /** Questions to people. */
  deliveries?: readonly NewDelivery[];
}

export interface TaskView {
  now: Instant;
  /** The first of each queue, by rank; those of others where one run fills the view. */
  waiting: readonly Run[];
  /** Every live row that was admitted, of all nodes. */
  running: readonly Run[];
  /** Starts of the last hour in queues that have a rate. */
  starts: readonly { queue: string; at: Instant }[];
}

export interface TaskAdmission {
  start: readonly string[];
  /** `skipped: concurrency`. */
  skip: readonly string[];
  cancel: readonly { runId: string; by: string }[];
  /** Waits for resources of this node: the sentence says which (`run explain`). */
  blocked: readonly { runId: string; lacks: string }[];
  /** Written to the rows of those that start: what they hold, by whom they are done. */
  admissions?: ReadonlyMap<string, Admission> | undefined;
}

/** Pure. Which of the waiting tasks this node starts now. */
export type AdmitTasks = (view: TaskView) => TaskAdmission;

export interface WorkflowLedger {
  /**
   * `lost` = the claim is not ours any more, or the journal has grown by somebody else: nothing was written. Idempotent: a
   * record whose answer was lost may be sent again.
   */
  recordProgress(record: ProgressRecord): Promise<"recorded" | "lost">;
  /** Entries in order; empty = it has not begun. */
  journal(runId: string): Promise<readonly string[]>;
  /** Rows of a workflow's own tasks (not of theirs), oldest first; `ids` = of these alone. */
  tasksOf(runId: string, ids?: readonly string[]): Promise<readonly Run[]>;
  /** People's words about them, oldest first. */
  resolutionsOf(runId: string): Promise<readonly Resolution[]>;
  /**
   * A workflow's run goes back to the queue as it is, with a higher token: its node stops, or its group is full.
   * `admission` = it waits its turn in a group from now on. False = the claim is not ours any more.
   */
  yieldRun(
    claim: Claim,
    options: { now: Instant; queue?: string; admission?: Run["admission"] },
  ): Promise<boolean>;
  /** How many tasks wait and run in each queue. */
  queueCounts(): Promise<readonly { queue: string; waiting: number; running: number }[]>;
}
