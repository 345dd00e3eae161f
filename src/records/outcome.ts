// How a run ended. The only thing a run hands on; delivery, retry and alerts are decided from it elsewhere.

import type { Instant } from "../kernel/time.ts";
import type { OutcomeMedia, WantedMedia } from "./media.ts";

/** Why work failed. `code` is for programs (`exit`, `signal`, `spawn`, `preflight`, `budget`, …), `message` for people. */
export interface OutcomeError {
  code: string;
  message: string;
  exitCode?: number;
  signal?: string;
  /** The end of what the command wrote to stderr, bounded and redacted. */
  stderrTail?: string;
}

/** Parts every outcome may carry. `output` is redacted and bounded; its tail is kept when it was cut. */
interface OutcomeBase {
  output?: string;
  isTruncated?: boolean;
  /** Files it wants sent, beside the `MEDIA:` lines of its output. Gone once they are kept. */
  attachments?: readonly WantedMedia[];
  /** What became of those files. */
  media?: OutcomeMedia;
  /** What it took. Goes into the row's own column, not into its outcome. */
  usage?: Usage;
}

export type Outcome =
  | (OutcomeBase & {
      state: "succeeded";
      output: string /** Nothing to say: kept, not delivered. */;
      isSilent: boolean;
      reason?: string;
      result?: unknown;
      /** A workflow whose failures were all handled: `partiallySucceeded`. */
      isPartial?: boolean;
    })
  | (OutcomeBase & { state: "failed"; error: OutcomeError })
  | (OutcomeBase & { state: "cancelled"; by: string })
  | (OutcomeBase & {
      state: "timedOut";
      limit: "idle" | "total";
      limitMs: number;
      lastActivity: string;
      lastActivityAt: Instant;
    })
  | (OutcomeBase & { state: "unknown"; why: string });

/** Counts of a run, for history and budgets. */
export interface Usage {
  cpuMs?: number;
  maxRssBytes?: number;
  outputBytes?: number;
  tokensIn?: number;
  tokensOut?: number;
  /** Reserved for a call whose end nobody saw: input and output together, counted as spent (S3). */
  tokensReserved?: number;
  costUsd?: number;
  /** Logical calls of a model. */
  modelCalls?: number;
  turns?: number;
}
