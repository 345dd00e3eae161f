// What every kind of work receives: one function `(deps, work, ctx) => Promise<Outcome>`.

import type { Log } from "../kernel/log.ts";
import type { Lineage } from "./lineage.ts";
import type { ProcessRecord } from "./process.ts";
import type { Run } from "./run.ts";

export interface RunContext {
  run: Run;
  lineage: Lineage;
  /** Aborts on cancel, time-out, lost claim and stop; its reason is an `AbortReason`. */
  signal: AbortSignal;
  /** Why `signal` aborted; undefined while it has not. */
  abortReason(): AbortReason | undefined;
  /**
   * Commits `running` before the first side effect (L3), with the process that waits to be released.
   * Resolves true when committed; false when the claim was lost or a cancel came first: then nothing may begin.
   * `scriptSha256` is the script that is about to run (D5).
   */
  begin(process?: ProcessRecord, scriptSha256?: string): Promise<boolean>;
  /**
   * Records a further process of a run that has begun, before it is released (L10): the watch counts its CPU time.
   * Resolves false when the run was aborted meanwhile: then it may not be released.
   */
  addProcess(process: ProcessRecord): Promise<boolean>;
  /** Resets the idle watch (L14). Cheap; call it for every token, line or tool event. */
  touch(activity: string): void;
  /** A line of the run's bounded live log. */
  emit(kind: string, data: Record<string, unknown>): void;
  log: Log;
}

/** Why a run's signal aborted. */
export type AbortReason =
  | { kind: "cancel"; by: string }
  | { kind: "idleTimeout" | "totalTimeout"; limitMs: number; lastActivity: string; lastActivityAt: number }
  | { kind: "claimLost" }
  /** `graceMs` = time between TERM and KILL, where somebody is in a hurry. */
  | { kind: "nodeStopped"; graceMs?: number };
