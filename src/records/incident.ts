// An incident: what is wrong with a job, as one thing with one cause, over runs and restarts, until the job works again.
//
// I1. One incident per job and cause. A cause that comes back opens its incident again; `openings` counts.
// I2. `told` is what people heard last. News is where that differs from the truth; `tellAt` says when news that was held
//     back (cool-down, flood) is due.

import type { Instant } from "../kernel/time.ts";

/** `acknowledged`: a person knows; nobody is told again until it is over. */
export const INCIDENT_STATES = ["open", "acknowledged", "resolved"] as const;
export type IncidentState = (typeof INCIDENT_STATES)[number];

export interface Incident {
  /** `<jobId>-<12 hex digits of the cause>`: the same over restarts and openings. */
  id: string;
  jobId: string;
  /** What equal failures have in common (deliver/cause.ts). */
  cause: string;
  state: IncidentState;
  /** At least 1. */
  openings: number;
  /** Failures since it opened last. */
  failures: number;
  /** The newest failure's sentence, at most 500 characters. */
  error: string;
  /** When the cause was seen for the first time ever. */
  firstAt: Instant;
  /** When it opened last. */
  openedAt: Instant;
  /** The newest failure. */
  lastAt: Instant;
  lastRunId: string;
  told: "failing" | "working" | undefined;
  toldAt: Instant | undefined;
  /** When people were told last that it fails. */
  alertedAt: Instant | undefined;
  tellAt: Instant | undefined;
  acknowledgedBy: string | undefined;
  acknowledgedAt: Instant | undefined;
  note: string | undefined;
  resolvedAt: Instant | undefined;
  /** `recovery`, `superseded` (too many at once), `removed` (its job was). */
  resolvedBy: string | undefined;
}

/** `deliver.alerts`: how often people hear of incidents. */
export interface AlertLimits {
  /** Single alerts and recoveries in an hour over all jobs; what comes beyond them goes out as one digest. */
  perHour: number;
  /** An incident that comes back within this time of its last alert is not told of before it has passed. 0 = no such time. */
  coolDownMs: number;
}

/** What a closing transaction finds of a job's incidents. */
export interface IncidentFacts {
  /** The job's: all that are not resolved, and the newest resolved ones. */
  incidents: readonly Incident[];
  /** Over all jobs: news told within the last hour. */
  toldLately: { count: number; firstAt: Instant | undefined };
}
