// What another machine said of a task, as the outcome of our attempt (peers.md §5.2, 11). Pure.

import type { Outcome } from "../../records/outcome.ts";
import type { ExecuteAnswer } from "../../records/remote.ts";

export interface Attempted {
  /** What the attempt was given. */
  limitMs: number;
  now: number;
  /** For people: `cv_inspect at 192.168.1.102:8002`. */
  at: string;
}

/** Of a task that is over there. */
export function outcomeOfAnswer(
  { state, reason, outcome }: ExecuteAnswer,
  { limitMs, now, at }: Attempted,
): Outcome {
  switch (state) {
    case "succeeded":
    case "partiallySucceeded":
      return outcome?.state === "succeeded"
        ? outcome
        : { state: "succeeded", output: "", isSilent: true, result: null };
    case "failed":
      return outcome?.state === "failed"
        ? outcome
        : failed(reason ?? "failed", `${at}: ${reason ?? "failed"}`);
    case "timedOut":
      return outcome?.state === "timedOut" ? outcome : timedOut(limitMs, now);
    case "cancelled":
      return cancelled(reason, { limitMs, now, at });
    case "unknown":
      return {
        state: "unknown",
        why: `${at}: ${outcome?.state === "unknown" ? outcome.why : (reason ?? "unknown")}`,
      };
    case "blocked":
      return failed(
        "preflight",
        `${at}: ${outcome?.state === "failed" ? outcome.error.message : (reason ?? "blocked")}`,
      );
    default:
      return failed("unavailable", `${at}: it was ${state} there${reason === null ? "" : ` (${reason})`}`);
  }
}

/** Words with which the other side ends a task of its own accord. */
export const DEADLINE = "deadline";
export const CALLER_GONE = "callerGone";

function cancelled(reason: string | null, { limitMs, now, at }: Attempted): Outcome {
  if (reason === DEADLINE) return timedOut(limitMs, now);
  if (reason === CALLER_GONE)
    return failed("unavailable", `${at}: it was cancelled there, as nobody had asked for it for too long`);
  if (reason === "nodeStopped") return failed("unavailable", `${at}: its node was stopped`);
  return failed("cancelled", `${at}: it was cancelled there by ${reason ?? "somebody"}`);
}

function timedOut(limitMs: number, now: number): Outcome {
  return {
    state: "timedOut",
    limit: "total",
    limitMs,
    lastActivity: "asked for its end",
    lastActivityAt: now,
  };
}

function failed(code: string, message: string): Outcome {
  return { state: "failed", error: { code, message } };
}
