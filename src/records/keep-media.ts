// Keeping a run's files: a port, so that the rooms that make files need not know where they are kept.

import type { MediaSource } from "./media.ts";
import type { Outcome } from "./outcome.ts";
import type { Run } from "./run.ts";

/** Keeps what an outcome names, while the place it was made in is still there. Never throws; others pass unchanged. */
export type KeepMedia = (
  outcome: Outcome,
  source: MediaSource,
  run: Pick<Run, "id" | "jobId">,
) => Promise<Outcome>;
