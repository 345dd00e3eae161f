// The ledger's port for running: claims, starts, heartbeats, endings and take-overs (law 3, L3–L6).

import type { Instant } from "../../kernel/time.ts";
import type { Streak } from "../definition.ts";
import type { NewDelivery } from "../delivery.ts";
import type { Incident, IncidentFacts } from "../incident.ts";
import type { Outcome, Usage } from "../outcome.ts";
import type { ProcessRecord } from "../process.ts";
import type { Claim, NewRunEvent, Resolution, Run, TerminalState } from "../run.ts";
import type { NewRun } from "./new-run.ts";
import type { ClaimedRun } from "./slots.ts";

export type { NewRun } from "./new-run.ts";

export interface StartRun {
  claim: Claim;
  startedAt: Instant;
  process?: ProcessRecord;
  scriptSha256?: string;
}

/** `cancelled` = a cancel request came before the start: nothing may begin; the owner closes it as cancelled. */
export type StartAnswer = "started" | "cancelled" | "lost";

export interface RenewAnswer {
  claim: Claim;
  /** `lost` = the token is old or the row is terminal (L5: the owner aborts). */
  state: "held" | "lost";
  cancelledBy: string | undefined;
}

/** The further attempt of a failed, timed-out or safely repeatable unknown run, inserted with the closing (L6). */
export interface NextAttempt {
  id: string;
  readyAt: Instant;
  /** `retry` waits for its back-off; `rerun` follows an `unknown`. */
  trigger: "retry" | "rerun";
  idempotencyKey: string;
}

/** What a closing means for the job's streak and for people; computed inside the transaction from the streak it finds. */
export interface Settlement {
  streak: Streak;
  deliveries: readonly NewDelivery[];
  /** Incidents that changed, whole. */
  incidents?: readonly Incident[];
  /** The job fails too often: it is paused in the same transaction, with this reason (D4). */
  pause?: { reason: string };
}

export interface Closing {
  claim: Claim;
  state: TerminalState;
  reason: string | undefined;
  outcome: Outcome;
  finishedAt: Instant;
  lastActivityAt?: Instant;
  usage?: Usage;
  outputFile?: string;
  next?: NextAttempt | undefined;
  /** The claimed row as its owner knows it, which spares reading it; a cancel request of others need not be in it. */
  known?: Run;
  /**
   * Pure. `run` is the row as it will stand (made from `known`, if given). `incidents` is read only where it can matter: the
   * run did not succeed, or the job failed before. Absent = neither streak nor deliveries.
   */
  settle?(streak: Streak, run: Run, incidents?: IncidentFacts): Settlement;
  /** The processes of the run that are known to have ended. */
  endedProcesses?: readonly { id: string; exitCode: number | undefined }[];
  /** L7: `strike` = the owner died young without being asked to stop; `clear` = the run survived. */
  strike?: "strike" | "clear";
  /** Lines for the run's log, written in the same transaction (recovery says what it ended, L10). */
  events?: readonly NewRunEvent[];
}

/** `lost` = the claim was taken over, or the row is terminal: nothing changed (law 3). */
export type CloseAnswer = "closed" | "lost";

/** A run whose owner is gone, now claimed by the caller with a higher token. */
export interface TakenRun extends ClaimedRun {
  previousOwner: string | undefined;
  /** Processes recorded for it that have not been seen to end. */
  processes: readonly ProcessRecord[];
}

export interface TakeOverRequest {
  nodeId: string;
  now: Instant;
  leaseMs: number;
  /** Nodes proved dead by pid and start time on our host (L4); their claims are taken at once. */
  deadNodes: readonly string[];
  limit?: number;
}

export interface TakeOverResult {
  /** `claimed` rows of dead owners: back to `queued`, token raised (L3). */
  requeued: readonly string[];
  /** `running` or `cancelling` rows: ours now, still not terminal. The caller ends what is left of them, then closes them. */
  taken: readonly TakenRun[];
}

export type CancelAnswer =
  | { kind: "cancelled"; run: Run }
  | { kind: "requested"; run: Run }
  | { kind: "finished"; run: Run }
  | { kind: "notFound" };

export interface ClaimLedger {
  /** Inserts runs by hand or by event. Returns the row that holds each dedupeKey+attempt, new or old. */
  enqueue(runs: readonly NewRun[]): Promise<readonly Run[]>;
  /** claimed → running, grouped (L3). The slot's first start counts for `repeat` (T9). Answers in order. */
  startRuns(starts: readonly StartRun[]): Promise<readonly StartAnswer[]>;
  /** Extends leases; an expired claim nobody took is renewed with its token (L5). Answers in order. */
  renewClaims(claims: readonly Claim[], leaseMs: number): Promise<readonly RenewAnswer[]>;
  /** Ends runs with outcome, outbox rows, streak and next attempt in one transaction (law 5). Answers in order. */
  closeRuns(closings: readonly Closing[]): Promise<readonly CloseAnswer[]>;
  /** claimed → queued with a higher token, for runs that did not begin (stop, lost preparation). */
  releaseClaims(claims: readonly Claim[]): Promise<void>;
  takeOver(request: TakeOverRequest): Promise<TakeOverResult>;
  /** Not live = ended at once; live = `cancelling`, the owner reads it on waking and at each beat (L11). */
  requestCancel(runId: string, by: string, now: Instant): Promise<CancelAnswer>;
  /** Those of `claims` with a cancel request or whose claim is lost. One cheap read for the owner on waking. */
  cancelRequests(nodeId: string): Promise<readonly { runId: string; by: string }[]>;
  /** Records processes started after `running` (none for script jobs). */
  recordProcesses(processes: readonly ProcessRecord[]): Promise<void>;
  /** L1: adds a row; the run stays as it is. */
  resolve(resolution: Resolution): Promise<void>;
  resolutions(runId: string): Promise<readonly Resolution[]>;
}
