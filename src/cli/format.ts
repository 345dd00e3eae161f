// How values look to a person in a terminal.

import type { RunDocument } from "../app/documents.ts";
import { formatDuration } from "../kernel/time.ts";
import type { Outcome } from "../records/outcome.ts";

export function instant(text: string | null): string {
  return text === null ? "–" : text.replace(/\.\d+Z$/, "Z");
}

/** `12 ms`, `3.2 s`, `4m10s`. */
export function duration(ms: number | null): string {
  if (ms === null) return "–";
  if (ms < 1_000) return `${ms} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return formatDuration(Math.round(ms / 1_000) * 1_000);
}

/** How late a run began after it was due. */
export function latenessOf(run: Pick<RunDocument, "latenessMs">): string {
  if (run.latenessMs === null) return "–";
  return run.latenessMs < 1_000 ? `+${Math.max(0, run.latenessMs)} ms` : `${duration(run.latenessMs)} late`;
}

export function describeOutcome(outcome: Outcome): string {
  switch (outcome.state) {
    case "succeeded":
      return outcome.isSilent ? "succeeded, with nothing to say" : `succeeded: ${firstLine(outcome.output)}`;
    case "failed":
      return `failed: ${outcome.error.message}`;
    case "cancelled":
      return `cancelled by ${outcome.by}`;
    case "timedOut":
      return `timed out (${outcome.limit} limit of ${formatDuration(outcome.limitMs)}); last activity: ${outcome.lastActivity}`;
    case "unknown":
      return `unknown: ${outcome.why}`;
  }
}

/** The first line, cut at 100 characters. */
export function firstLine(text: string): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return line.length > 100 ? `${line.slice(0, 99)}…` : line;
}
