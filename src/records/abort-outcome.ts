// What an abort means for a run: cancelled, timed out, or unknown. Pure; every kind of work says it in the same way.

import { assertNever } from "../kernel/errors.ts";
import type { Outcome } from "./outcome.ts";
import type { AbortReason } from "./run-context.ts";

/** What was kept of a command's output, already redacted. */
export interface KeptOutput {
  stdout: string;
  stderr: string;
  isTruncated: boolean;
}

const NOTHING: KeptOutput = { stdout: "", stderr: "", isTruncated: false };

/** An aborted run, with the output it had. A reason we do not know is a bug of the caller, told as `unknown`. */
export function outcomeOfAbort(reason: AbortReason, kept: KeptOutput = NOTHING): Outcome {
  const part = partOf(kept);
  switch (reason.kind) {
    case "cancel":
      return { state: "cancelled", ...part, by: reason.by };
    case "nodeStopped":
      return { state: "cancelled", ...part, by: "nodeStopped" };
    case "claimLost":
      return { state: "unknown", ...part, why: "claim lost" };
    case "idleTimeout":
    case "totalTimeout":
      return {
        state: "timedOut",
        ...part,
        limit: reason.kind === "idleTimeout" ? "idle" : "total",
        limitMs: reason.limitMs,
        lastActivity: reason.lastActivity,
        lastActivityAt: reason.lastActivityAt,
      };
    default:
      return assertNever(reason);
  }
}

/** The parts of an outcome that tell of output. */
export function partOf(kept: KeptOutput): { output?: string; isTruncated?: boolean } {
  return { ...(kept.stdout && { output: kept.stdout }), ...(kept.isTruncated && { isTruncated: true }) };
}
