// A rollout: how the tasks of one executor are shared between two of its versions (DESIGN §12).
//
// I1. One row for each executor, changed by compare-and-set of its revision: of two deciders one decides.
// I2. A task keeps the version that was chosen for it, over retries and resumes: a change is for tasks that begin after it.

import type { Instant } from "../kernel/time.ts";

/**
 * `running`: shared by `traffic`. `stopped` (by a person) and `rolledBack` (by itself): everything goes to the baseline.
 * `finished`: everything goes to the version.
 */
export const ROLLOUT_STATES = ["running", "stopped", "rolledBack", "finished"] as const;

export type RolloutState = (typeof ROLLOUT_STATES)[number];

/** When the version counts as worse than the baseline. */
export interface RolloutBounds {
  /** Attempts of the version that must have ended before it is judged. */
  minSamples: number;
  /** In percentage points: its failure rate may lie this far above the baseline's. */
  maxMoreFailures: number;
  /** Its median duration may be this many times the baseline's. */
  maxSlowdown: number;
}

/** What comes after a task did not fail of it is no reason: cancelled and skipped attempts are not counted. */
export const DEFAULT_BOUNDS: RolloutBounds = { minSamples: 20, maxMoreFailures: 10, maxSlowdown: 1.5 };

export interface Rollout {
  executor: string;
  /** Grows by one with every change, from 1. */
  revision: number;
  version: string;
  /** What is in use beside it, and after a stop instead of it. */
  baseline: string;
  /** Of 100 tasks, so many go to the version. A whole number from 0 to 100. */
  traffic: number;
  state: RolloutState;
  bounds: RolloutBounds;
  /** Attempts that ended since then are compared. */
  startedAt: Instant;
  startedBy: string;
  changedAt: Instant;
  changedBy: string;
  /** Why it was stopped or rolled back. */
  reason: string | undefined;
}

/** An attempt of a task that has ended. */
export interface VersionAttempt {
  version: string;
  hasFailed: boolean;
  /** Start to end, ms; undefined = it never began. */
  durationMs: number | undefined;
}
