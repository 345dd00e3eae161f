// What the ledger remembers of definitions (D1) and how far each job has been accounted for (its cursor).

import type { Instant } from "../kernel/time.ts";

/** One version of a job, append-only. In force from the moment it was recorded, never from when a file was saved. */
export interface Definition {
  jobId: string;
  version: number;
  /** sha256 of the source bytes. */
  digest: string;
  /** The job document as JSON text, as written by the person. */
  document: string;
  /** Zone and anchor fixed at first sight (T1, T2); an anchor that a clock set back left ahead is moved to that moment (T8). */
  zone: string;
  anchor: Instant;
  /** Where it came from: a path relative to the home, or a row. */
  source: string;
  inForceFrom: Instant;
  inForceTo: Instant | undefined;
  endedBy: string | undefined;
}

/** Why a job has no due slots (`paused`, `quarantined`, `completed`), or has them without running them (`held`, D4). */
export type SuspensionKind = "paused" | "held" | "quarantined" | "completed";

/** Whose word a completion is that follows from the job itself (T9). One by somebody else stands on that word alone. */
export const BY_SCHEDULE = "schedule";

/** An interval in which a job was suspended; open while `to` is undefined. */
export interface Suspension {
  jobId: string;
  kind: SuspensionKind;
  from: Instant;
  to: Instant | undefined;
  by: string;
  reason: string;
  /** A pause that ends by itself. */
  until: Instant | undefined;
}

/** Failures in a row, for alerting once, on change and on recovery (O1). */
export interface Streak {
  failures: number;
  /** Normalised cause of the newest failure; undefined after a success. */
  cause: string | undefined;
  /** Whether people were told about the present cause. */
  isAlerted: boolean;
}

/** How far a job is accounted for. Changed only by compare-and-set on `revision`. */
export interface Cursor {
  jobId: string;
  /** The definition version in force. */
  version: number;
  revision: number;
  /** The first slot that is not yet accounted for; undefined = none will come. */
  nextSlot: Instant | undefined;
  /** When to look at it: `nextSlot` plus jitter; undefined = nothing to decide (suspended, disabled, ended, removed). */
  dueAt: Instant | undefined;
  /** Slots whose first attempt started (T9). */
  startedSlots: number;
  streak: Streak;
  /** L7. */
  strikes: number;
  suspensions: readonly Suspension[];
  removedAt: Instant | undefined;
}
