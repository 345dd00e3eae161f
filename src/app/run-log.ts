// A run's bounded live log: lines wait in memory and reach the ledger in batches, the rest with the closing.
//
// I1. At most `MAX_LINES` lines and `MAX_CHARACTERS` characters a run; what is dropped is counted and said so once.
// I2. Live lines are a courtesy: a store that cannot take them never fails the run.

import type { Redact } from "../kernel/redact.ts";
import type { Instant } from "../kernel/time.ts";
import type { NewRunEvent } from "../records/run.ts";

const MAX_LINES = 2_000;
const MAX_CHARACTERS = 256_000;

export interface RunLog {
  emit(kind: string, data: Record<string, unknown>): void;
  /** The lines not yet taken; empties the buffer. */
  take(): NewRunEvent[];
  readonly waiting: number;
}

/** Collects one run's lines. `now` gives their time. */
export function makeRunLog(
  run: { id: string; jobId: string | undefined },
  now: () => Instant,
  redact: Redact,
): RunLog {
  let lines: NewRunEvent[] = [];
  let count = 0;
  let characters = 0;
  let isFull = false;
  const add = (kind: string, data: Record<string, unknown>) =>
    lines.push({ runId: run.id, jobId: run.jobId, at: now(), kind, data });
  return {
    emit(kind, data) {
      if (isFull) return;
      count += 1;
      const text = typeof data.text === "string" ? redact(data.text) : undefined;
      characters += text?.length ?? 0;
      if (count > MAX_LINES || characters > MAX_CHARACTERS) {
        isFull = true;
        add("log-cut", { text: `live log cut after ${count - 1} lines; the archived output keeps the tail` });
        return;
      }
      add(kind, text === undefined ? data : { ...data, text });
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
