// What the node's main thread and the watch say to each other. Plain data: it crosses a thread boundary.

import type { HostIdentity } from "../records/process.ts";
import type { Claim } from "../records/run.ts";

/** A live run under watch. Limits are in ms, 0 = off (L14). */
export interface WatchedRun {
  claim: Claim;
  idleTimeoutMs: number;
  totalTimeoutMs: number;
}

export type WatchCommand =
  | { kind: "add"; runs: readonly WatchedRun[] }
  | { kind: "limits"; runId: string; idleTimeoutMs: number; totalTimeoutMs: number }
  /** Limits count from the first; `processGroup` lets CPU time count as activity, that of the newest process. */
  | { kind: "began"; runId: string; processGroup: number | undefined }
  | { kind: "touch"; runId: string }
  | { kind: "remove"; runIds: readonly string[] }
  /** Beat now: somebody changed the ledger, maybe a cancel. */
  | { kind: "beat" }
  | { kind: "stop" };

export type WatchReport =
  /** The claim was taken over, or the store has been out of reach for five lease times (L5). */
  | { kind: "lost"; runId: string; why: "takenOver" | "noStore" }
  | { kind: "cancel"; runId: string; by: string }
  | { kind: "timeout"; runId: string; limit: "idle" | "total"; limitMs: number; idleForMs: number }
  | { kind: "failed"; error: string };

/** What the worker thread needs to open its own connection. */
export interface WatchWorkerData {
  storeUrl: string;
  host: HostIdentity;
  nodeId: string;
  leaseMs: number;
  beatMs: number;
}
