// A run's bounded live log: lines wait in memory and reach the ledger in batches, the rest with the closing.
//
// I1. At most so many lines and characters a run; what is dropped is counted and said so once.
// I2. Live lines are a courtesy: a store that cannot take them never fails the run.
// I3. Every string of a line is redacted, however deep it lies; a character that no store can keep is replaced.

import { withoutNul } from "../execute/capture.ts";
import type { Redact } from "../kernel/redact.ts";
import { mapRecord } from "../kernel/redact-value.ts";
import type { Instant } from "../kernel/time.ts";
import type { NewRunEvent } from "../records/run.ts";

export interface RunLogLimits {
  lines: number;
  /** Of all strings together. */
  characters: number;
  /** What is said when a limit is met: where the rest is. */
  rest: string;
}

/** The output of a command; its tail is in the archived output. */
export const SCRIPT_LOG: RunLogLimits = {
  lines: 2_000,
  characters: 256_000,
  rest: "the archived output keeps the tail",
};

/** A whole conversation, since the log is where it is kept. */
export const AGENT_LOG: RunLogLimits = {
  lines: 20_000,
  characters: 8_000_000,
  rest: "the trajectory file keeps the whole conversation",
};

export interface RunLog {
  emit(kind: string, data: Record<string, unknown>): void;
  /** The lines not yet taken; empties the buffer. */
  take(): NewRunEvent[];
  readonly waiting: number;
}

export interface RunLogOptions {
  /** Time of a line. */
  now(): Instant;
  redact: Redact;
  /** Asked at each line: what kind of work it is becomes known after the claim. */
  limits(): RunLogLimits;
}

/** Collects one run's lines. */
export function makeRunLog(
  run: { id: string; jobId: string | undefined },
  { now, redact, limits }: RunLogOptions,
): RunLog {
  let lines: NewRunEvent[] = [];
  let count = 0;
  let characters = 0;
  let isFull = false;
  const add = (kind: string, data: Record<string, unknown>) =>
    lines.push({ runId: run.id, jobId: run.jobId, at: now(), kind, data });
  const clean = (text: string) => {
    const kept = withoutNul(redact(text));
    characters += kept.length;
    return kept;
  };
  return {
    emit(kind, data) {
      if (isFull) return;
      count += 1;
      const kept = mapRecord(data, clean);
      const most = limits();
      if (count > most.lines || characters > most.characters) {
        isFull = true;
        add("log-cut", { text: `live log cut after ${count - 1} lines; ${most.rest}` });
      } else add(kind, kept);
    },
    take() {
      const taken = lines;
      lines = [];
      return taken;
    },
    get waiting() {
      return lines.length;
    },
  };
}
