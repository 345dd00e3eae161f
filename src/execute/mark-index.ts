// Who carries which run's mark, remembered for a moment: every run's end asks, and the answer must cost next to nothing.
//
// I1. A pid that was there a moment ago is not read again. It could only be another process if the kernel had used
//     every other pid in between, so what was read is trusted for two seconds, and never for signalling: that
//     compares start times (terminate.ts).
// I2. An empty environment is trusted only for a kernel thread: elsewhere it is a program that is just starting.
// I3. Leaders of held commands are known and not read: opening the environment of a process that is just starting
//     waits for its start.
// I4. A program that is just starting has no environment yet, though who started it has its answer already (exec closes
//     descriptors first): `findLeft` waits such a moment out.
// Linux only. On macOS nothing is found here; what left its group is found there on cancel and in recovery.

import { readdirSync, readFileSync } from "node:fs";
import type { Clock } from "../kernel/time.ts";
import { readProcess } from "./process-table.ts";

const TRUSTED_MS = 2_000;

/** Make one per node and share it among its runs. */
export interface MarkIndex {
  /** Pids that carry this run's mark; an indication, to be verified before anything is done to them. */
  find(runId: string): number[];
  /** Whether the last look met a program that is just starting (I4). */
  readonly hasStarting: boolean;
  /** Says that this pid is looked after by its run; returns what ends that. */
  skip(pid: number): () => void;
}

/** An index over this machine's processes. `self` is never among the answers. */
export function makeMarkIndex(clock: Pick<Clock, "monotonicMs">, self: number = process.pid): MarkIndex {
  const skipped = new Set<string>([String(self)]);
  let marks = new Map<string, string>();
  let readAt = Number.NEGATIVE_INFINITY;
  let hasStarting = false;

  function look(): void {
    const now = clock.monotonicMs();
    if (now - readAt > TRUSTED_MS) marks = new Map();
    readAt = now;
    const present = new Map<string, string>();
    hasStarting = false;
    for (const name of readdirSync("/proc")) {
      const first = name.charCodeAt(0);
      if (first < 48 || first > 57 || skipped.has(name)) continue;
      const mark = marks.get(name) ?? readMark(name);
      if (mark !== undefined) present.set(name, mark);
      else hasStarting ||= isStarting(name);
    }
    marks = present;
  }

  return {
    find(runId) {
      if (process.platform !== "linux") return [];
      look();
      const found: number[] = [];
      for (const [name, mark] of marks) if (mark === runId) found.push(Number(name));
      return found;
    },
    get hasStarting() {
      return hasStarting;
    },
    skip(pid) {
      const name = String(pid);
      skipped.add(name);
      return () => void skipped.delete(name);
    },
  };
}

const STARTING_TURNS = 10;
const STARTING_MS = 2;

/** As `find`; looks again where nothing is found and a program is just starting (I4), for 20 ms at most. */
export async function findLeft(
  index: Pick<MarkIndex, "find" | "hasStarting">,
  clock: Pick<Clock, "sleep">,
  runId: string,
): Promise<number[]> {
  for (let turn = 0; ; turn++) {
    const found = index.find(runId);
    if (found.length > 0 || !index.hasStarting || turn === STARTING_TURNS) return found;
    await clock.sleep(STARTING_MS, new AbortController().signal);
  }
}

/** Neither environment nor words, and yet no zombie: exec is under way. A program with an empty environment has words. */
function isStarting(pid: string): boolean {
  try {
    return (
      readFileSync(`/proc/${pid}/cmdline`, "latin1") === "" && readProcess(Number(pid))?.isZombie === false
    );
  } catch {
    return false;
  }
}

/** The run whose mark a process carries, "" for none, undefined when that cannot be said yet. */
function readMark(pid: string): string | undefined {
  let environment = "";
  try {
    environment = readFileSync(`/proc/${pid}/environ`, "latin1");
  } catch (error) {
    // Somebody else's process is not ours. Any other error is a kernel thread's, or of one that has just gone.
    if ((error as NodeJS.ErrnoException).code === "EACCES") return "";
  }
  if (environment === "") return isKernelThread(Number(pid)) ? "" : undefined;
  return /(?:^|\0)NIGHTSHIFT_RUN_ID=([^\0]*)/.exec(environment)?.[1] ?? "";
}

/** They are the children of pid 2. @source proc(5) */
function isKernelThread(pid: number): boolean {
  return pid === 2 || readProcess(pid)?.parent === 2;
}
