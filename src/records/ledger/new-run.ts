// A run as it is handed to the ledger.

import type { Run } from "../run.ts";

/** A run that is not a slot's: by hand, by event, a person's retry. Inserted `queued`; a known dedupeKey+attempt changes nothing. */
export type NewRun = Pick<
  Run,
  | "id"
  | "dedupeKey"
  | "attempt"
  | "kind"
  | "jobId"
  | "version"
  | "parentId"
  | "rootId"
  | "slot"
  | "trigger"
  | "effects"
  | "isExclusive"
  | "idempotencyKey"
  | "readyAt"
  | "createdAt"
> &
  Pick<Run, "queue" | "admission"> & {
    /** The JSON of a JobDocument, for a run that has no job. */
    input?: string | undefined;
    /** The event that set it off (W7). */
    eventId?: string | undefined;
  };
