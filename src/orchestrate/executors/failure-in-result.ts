// `status: error` inside a result fails a task, whoever asked for it (@source peers.md §5.2, 12; seed 003 §3.3).

import type { Outcome } from "../../records/outcome.ts";

/** The failure that a result speaks of; undefined where it speaks of none. */
export function failureInResult(outcome: Outcome): Extract<Outcome, { state: "failed" }> | undefined {
  if (outcome.state !== "succeeded") return undefined;
  const message = errorIn(outcome.result);
  if (message === undefined) return undefined;
  const { output, isTruncated, usage } = outcome;
  return {
    state: "failed",
    error: { code: "status", message },
    ...(output !== "" && { output }),
    ...(isTruncated !== undefined && { isTruncated }),
    ...(usage && { usage }),
  };
}

function errorIn(result: unknown): string | undefined {
  if (typeof result !== "object" || result === null || !("status" in result) || result.status !== "error")
    return undefined;
  const { error, message } = result as Record<string, unknown>;
  const text = [error, message].find((part) => typeof part === "string");
  return String(text ?? "its result says status: error");
}
