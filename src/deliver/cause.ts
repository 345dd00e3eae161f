// The cause of a failure, folded so that equal failures compare equal: numbers, ids, times and temporary paths vary.
//
// I1. An exit code, a signal and an error's code are part of the cause; a number inside a sentence is not.

import type { Outcome } from "../records/outcome.ts";
import type { Run } from "../records/run.ts";

const MAX_CAUSE = 300;

/** In order: longer shapes first, or a number inside an id would be folded alone. */
const FOLDS: readonly [RegExp, string][] = [
  [/\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2})?([.,]\d+)?(Z|[+-]\d{2}:?\d{2})?/gi, "<time>"],
  [/\d{4}-\d{2}-\d{2}/g, "<date>"],
  [/\b\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\b/g, "<time>"],
  [/(\/private)?(\/var)?\/(tmp|folders)\/[^\s"'`:;,)]*/g, "<temp>"],
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, "<id>"],
  [/\b[0-9][0-9a-hjkmnp-tv-z]{25}\b/g, "<id>"],
  [/\b0x[0-9a-f]+\b/gi, "<id>"],
  [/\b(?=[0-9a-f]*\d)[0-9a-f]{7,}\b/gi, "<id>"],
  [/\d+([.,]\d+)*/g, "<n>"],
];

/** Folds what differs between two failures of one cause. At most 300 characters. */
export function normaliseCause(text: string): string {
  let folded = text;
  for (const [shape, word] of FOLDS) folded = folded.replace(shape, word);
  return folded.replace(/\s+/g, " ").trim().slice(0, MAX_CAUSE);
}

/** The cause by which two failures of one job are equal (O1). */
export function causeOf(run: Run, outcome: Outcome): string {
  const { state } = run;
  switch (outcome.state) {
    case "failed": {
      const { code, message, exitCode, signal, stderrTail } = outcome.error;
      const exact = [state, code, exitCode ?? "", signal ?? ""].join(":");
      return `${exact}:${normaliseCause(`${message} ${lastLine(stderrTail)}`)}`;
    }
    case "timedOut":
      return `${state}:${outcome.limit}`;
    case "unknown":
      return `${state}:${normaliseCause(outcome.why)}`;
    case "cancelled":
      return `${state}:${outcome.by}`;
    case "succeeded":
      return `${state}:${normaliseCause(run.reason ?? "")}`;
  }
}

function lastLine(text: string | undefined): string {
  return text?.trimEnd().split("\n").at(-1)?.trim() ?? "";
}
