// The ledger's port for WHEN: jobs' definitions and cursors, and the one transaction that accounts for due slots.
//
// I1. Deciding is pure and belongs to `schedule/`; the ledger calls the decision inside its transaction, with a view
//     read under the same locks, and applies the answer by compare-and-set (D5, L2). No window lies between.
// I2. A slot is accounted for by its first attempt or by one range row, written together with the cursor (L2).

import type { Instant } from "../../kernel/time.ts";
import type { Cursor, Definition, Suspension, SuspensionKind } from "../definition.ts";
import type { NewDelivery } from "../delivery.ts";
import type { Effects } from "../job.ts";
import type { NodeRecord } from "../node.ts";
import type { Claim, NewRunEvent, Run, RunState } from "../run.ts";
import type { AdmitTasks } from "./workflows.ts";

/** A run of a job that matters to a decision: live, queued or waiting. */
export interface OpenRun {
  id: string;
  state: RunState;
  reason: string | undefined;
  slot: Instant | undefined;
  attempt: number;
  trigger: Run["trigger"];
  createdAt: Instant;
  /** Of a `queued` run: a workflow between two nodes, that goes on with what it began. */
  startedAt?: Instant | undefined;
}

/** What is known of one job at one moment, read under lock. */
export interface JobView {
  definition: Definition;
  cursor: Cursor;
  /** Claimed, running, cancelling, queued and waiting runs of the job, oldest first. */
  openRuns: readonly OpenRun[];
  /**
   * Slots at or after the cursor's that have a row already, because the clock was set back after they began (T8): the
   * decision accounts around them. Absent = none, nearly always.
   */
  accountedAhead?: readonly Instant[];
}

/** A slot that runs: becomes a `queued` run with attempt 1. */
export interface RunSlot {
  kind: "run";
  slot: Instant;
  readyAt: Instant;
  /** `late` or `catchUp`; absent = on time. */
  reason?: string;
  startBy?: Instant;
  effects: Effects;
  isExclusive: boolean;
  /** Default: a job's run without a queue. */
  traits?: RunTraits;
}

/** What the kind of work means for a run's row. A `workflow` may be given back after it has begun. */
export type RunTraits = { kind: "job" | "workflow" } & Pick<Run, "queue" | "admission">;

/** One slot (`first` = `last`) or a stretch of slots that did not run: becomes one row. */
export interface CloseSlots {
  kind: "close";
  state: "skipped" | "missed";
  /** `superseded`, `overlap`, `edited`, `held`, `pastGrace`, `overLimit`, `repeatReached`, … */
  reason: string;
  first: Instant;
  last: Instant;
  count: number;
  isCountAtLeast: boolean;
}

export interface JobDecision {
  /** Accounts for every slot from the cursor's up to, not including, `next`. In order. */
  slots: readonly (RunSlot | CloseSlots)[];
  /** Open, not live, runs that end now: waiters replaced by newer slots, retries overtaken (T7). */
  endOpenRuns: readonly { runId: string; state: "skipped" | "cancelled"; reason: string }[];
  /** Live runs to cancel (`replace`). */
  cancelRuns: readonly { runId: string; by: string }[];
  /** The cursor afterwards; undefined = no further slot. */
  next: { slot: Instant; dueAt: Instant } | undefined;
  /** Why the job is completed, if this decision completes it (`until`, `repeat`, once-job). */
  completed?: string;
}

/** Pure: accounts for the job's slots due at `now`. Must be deterministic; may be called again after a lost race. */
export type DecideJob = (view: JobView, now: Instant) => JobDecision;

/** Pure: one digest per target for what a pass closed as missed (O1). */
export type DigestMissed = (
  closed: readonly { view: JobView; runId: string; dedupeKey: string; slots: CloseSlots }[],
  now: Instant,
) => readonly NewDelivery[];

/**
 * A run that is meant for the process that queued it becomes ready for others only after this time: should that process
 * die at once, a node takes it.
 */
export const HEAD_START_MS = 60_000;

export interface PassRequest {
  nodeId: string;
  /** Slots up to here are decided: the trusted wall time (T8). */
  now: Instant;
  /** How many runs this node may claim now; 0 = decide only. */
  capacity: number;
  /** Whether this node has live runs (a suspect runs alone, L7). */
  liveRuns: number;
  leaseMs: number;
  /** Jobs decided in one pass; the rest follow in the next. Default 1,000. */
  maxJobs?: number;
  /**
   * Claim this run and its tasks, and nothing else; decide nothing (`job run --here`): other jobs are none of its
   * business. It may be claimed up to `HEAD_START_MS` before its `readyAt`.
   */
  onlyRun?: string;
  decide: DecideJob;
  digest: DigestMissed;
  /** Undefined = this node can prepare the run; else what it lacks → `waiting: node` (L12). */
  cannotPrepare(run: Run, definition: Definition | undefined): string | undefined;
  /**
   * Whether a claimed run is `running` from the same transaction on (L3): for work that has nothing to prepare, which
   * begins as soon as the pass is committed. Default: none is.
   */
  startsAtOnce?(run: Run, definition: Definition | undefined): boolean;
  /** Which tasks of queues this node may start (W4); `rated` names the queues that have a rate. Default: none. */
  tasks?: { admit: AdmitTasks; rated: readonly string[] };
  /** What is known of the node, written to its row with the pass: a commit of its own would cost as much again. */
  node?: Partial<NodeRecord>;
}

/** `run` is `claimed`, or `running` where the pass has started it. */
export interface ClaimedRun {
  run: Run;
  claim: Claim;
  /** The version it was planned with; absent for work that is no job's. */
  definition: Definition | undefined;
}

export interface PassResult {
  claimed: readonly ClaimedRun[];
  /** Jobs whose cursor moved. */
  decidedJobs: number;
  /** Rows written for slots that did not run. */
  closedSlots: readonly { jobId: string; runId: string; slots: CloseSlots }[];
  /** Open runs ended by the pass (superseded, overlap after `startBy`). */
  endedRuns: readonly { jobId: string | undefined; runId: string; state: RunState; reason: string }[];
  /** Runs whose owner must be told to cancel. */
  cancelRuns: readonly string[];
  /** The next instant at which anything becomes due or ready; undefined = nothing known. */
  nextWakeAt: Instant | undefined;
  /** More was due than `maxJobs` or `capacity` allowed to look at. */
  hasMore: boolean;
  /** As `newestRecordAt`. */
  newestRecordAt: Instant | undefined;
}

/** A change of a job that is not a due slot. */
export type JobChange =
  | {
      kind: "define";
      document: string;
      digest: string;
      zone: string;
      anchor: Instant;
      source: string;
      by: string;
      /** Suspended from birth, in the same transaction: between two, a slot could fire. */
      suspended?: { suspension: SuspensionKind; reason: string; until?: Instant };
    }
  | { kind: "suspend"; suspension: SuspensionKind; by: string; reason: string; until?: Instant }
  | { kind: "resume"; suspension: SuspensionKind; by: string }
  | { kind: "remove"; by: string }
  /** A file moved without a change of content (D2). */
  | { kind: "move"; source: string };

export interface ChangeRequest {
  jobId: string;
  now: Instant;
  /** Refuse unless this version (0 = none, or removed) is in force (D3, D5). Absent = whatever is. */
  expectVersion?: number;
  change: JobChange;
  /** Accounts for what was due before the change, under the old state (D1). Not called for a new job. */
  settle: DecideJob;
  /**
   * Asked of a new version only: whether its job is complete, whatever suspends it (T9). If not, a `completed` on record
   * ends with the version, also where `next` gives no slot yet: the job may be paused, and nobody asks again at its end.
   */
  isComplete(view: JobView, now: Instant): boolean;
  /**
   * The cursor under the new state: the present slot where the change keeps it (D1: only schedule, zone or jitter start a
   * new cursor). Undefined = no due slots. It must be while `completed` is on record.
   */
  next(view: JobView, now: Instant): { slot: Instant; dueAt: Instant | undefined } | undefined;
  digest: DigestMissed;
}

export type ChangeResult =
  | { kind: "changed"; view: JobView; previous: Definition | undefined }
  | { kind: "conflict"; actual: Definition | undefined }
  | { kind: "unchanged"; view: JobView };

/** All that `audit` needs of one job, unaltered (L9). */
export interface AuditView {
  jobId: string;
  definitions: readonly Definition[];
  suspensions: readonly Suspension[];
  cursor: Cursor;
  /** First-attempt rows and range rows with a slot in the window, and those that began before a slot behind it; by slot. */
  rows: readonly AuditRow[];
  summaries: readonly { from: Instant; to: Instant; counts: Readonly<Record<string, number>> }[];
  /** Run ids marked `early` in `resolutions`. */
  early: readonly string[];
}

export interface AuditRow {
  runId: string;
  slot: Instant;
  slotTo: Instant | undefined;
  slotCount: number;
  isCountAtLeast: boolean;
  state: RunState;
  startedAt: Instant | undefined;
}

/** What `rewind` asks of whoever knows schedules. Pure. */
export interface RewindRules {
  /** Whether a completion that the schedule put on record still holds (T9). The view is that of `next`. */
  isComplete(view: JobView): boolean;
  /** The cursor afterwards; undefined = no further slot. `accountedAhead` holds the slots after now that began. */
  next(view: JobView): { slot: Instant; dueAt: Instant } | undefined;
  /** A stretch from `first` on, cut off at now: its last slot that is not ahead, and how many there are. */
  pastPart(definition: Definition, first: Instant): Pick<CloseSlots, "last" | "count" | "isCountAtLeast">;
}

export interface SlotLedger {
  /** One pass (T6–T8, L2, L11): decide what is due, expire `startBy`, claim what is ready. One transaction. */
  pass(request: PassRequest): Promise<PassResult>;
  /** One change of one job, with the settlement of its due slots, in one transaction (D1, D3, D4). */
  changeJob(request: ChangeRequest): Promise<ChangeResult>;
  /**
   * After a backward clock step (T8): voids rows of slots after `now` that never began, moves cursors back, marks runs
   * that started early, and re-dates to `now` what was recorded later than that. Returns the jobs touched. Repeating it
   * changes nothing.
   */
  rewind(now: Instant, rules: RewindRules): Promise<readonly string[]>;
  /** The latest instant at which a pass or a change was recorded: one that lies ahead says that the clock was set back. */
  newestRecordAt(): Promise<Instant | undefined>;
  /** The job's view, removed ones included. */
  job(jobId: string): Promise<JobView | undefined>;
  /** Of a job that is not removed, the definition in force: all that queueing a run needs to know. */
  definition(jobId: string): Promise<Definition | undefined>;
  /** Every job that is not removed, by id; `after` pages. */
  jobs(options?: { after?: string; limit?: number; includeRemoved?: boolean }): Promise<readonly JobView[]>;
  definitions(jobId: string): Promise<readonly Definition[]>;
  auditView(jobId: string, window: { since: Instant; until: Instant }): Promise<AuditView | undefined>;
  /** A step of the wall clock, or anything else worth an event of the whole ledger. */
  appendEvents(events: readonly NewRunEvent[]): Promise<void>;
}
