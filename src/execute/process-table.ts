// The machine's process table, as far as ending runs needs it: who is in a group, who carries a run's mark.
//
// I1. Reads only; nothing here signals.
// I2. A process that ends while we look is simply not listed.
// I3. The mark is the variable NIGHTSHIFT_RUN_ID; a process is born with its parent's environment, so every
//     descendant carries it until it cleans its own environment and starts another program.
// Linux reads /proc. The macOS branch (ps) is written after its manual and has not been exercised.

import { execFileSync } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import type { ProcessIdentity } from "../records/process.ts";

export interface ProcessEntry extends ProcessIdentity {
  parent: number;
  /** Ended, and only waiting for its parent to notice: it runs no more and needs no signal. */
  isZombie: boolean;
  /** User and system time of the process and of the children it has waited for, ms. */
  cpuMs: number;
}

/** Kernel ticks per second in /proc: USER_HZ, 100 on every Linux architecture Node runs on. @source proc(5) */
const TICK_MS = 10;
const isLinux = process.platform === "linux";
/** One stat line fits many times over: comm is at most 15 bytes, then about 50 numbers. */
const statBuffer = Buffer.allocUnsafe(2_048);

/** Every process visible to us, zombies included. */
export function listProcesses(): ProcessEntry[] {
  if (!isLinux) return listWithPs(["-ax"]);
  const entries: ProcessEntry[] = [];
  for (const name of readdirSync("/proc")) {
    const entry = isPid(name) ? readProcess(Number(name)) : undefined;
    if (entry) entries.push(entry);
  }
  return entries;
}

/** One process, zombies included; undefined when there is none. */
export function readProcess(pid: number): ProcessEntry | undefined {
  if (!isLinux) return listWithPs(["-p", String(pid)])[0];
  let file: number | undefined;
  try {
    file = openSync(`/proc/${pid}/stat`, "r");
    return parseStat(statBuffer.toString("latin1", 0, readSync(file, statBuffer, 0, statBuffer.length, 0)));
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Reads a line of /proc/<pid>/stat. The command's name may hold spaces and parentheses: fields follow the last one. */
export function parseStat(line: string): ProcessEntry | undefined {
  const end = line.lastIndexOf(")");
  const fields = line.slice(end + 2).split(" ");
  const at = (field: number) => Number(fields[field - 3]);
  const startTime = fields[22 - 3];
  if (end < 0 || startTime === undefined) return undefined;
  return {
    pid: Number.parseInt(line, 10),
    startTime,
    processGroup: at(5),
    parent: at(4),
    isZombie: fields[0] === "Z" || fields[0] === "X",
    cpuMs: (at(14) + at(15) + at(16) + at(17)) * TICK_MS,
  };
}

/** The start time of a pid, opaque: compare it for equality only. Undefined when there is no such process. */
export function processStartTime(pid: number): string | undefined {
  return readProcess(pid)?.startTime;
}

/** Whether exactly this process still runs: same pid, same start time, not a zombie. */
export function isSameProcess(identity: ProcessIdentity): boolean {
  const entry = readProcess(identity.pid);
  return entry !== undefined && !entry.isZombie && entry.startTime === identity.startTime;
}

/** Those of a process group that still run. */
export function groupMembers(processGroup: number): ProcessEntry[] {
  return listProcesses().filter((entry) => entry.processGroup === processGroup && !entry.isZombie);
}

/** CPU time of a group so far, ms: what its members and the children they waited for have used (L14). 0 = no members. */
export function groupCpuMs(processGroup: number): number {
  return groupMembers(processGroup).reduce((sum, entry) => sum + entry.cpuMs, 0);
}

/** Whoever carries this run's mark and still runs, whatever group it moved to (L10). Never this process itself. */
export function processesMarked(runId: string): ProcessEntry[] {
  return listProcesses().filter((entry) => !entry.isZombie && hasMark(entry.pid, runId));
}

/** Whether a process was started with this run's mark. False when its environment cannot be read. */
export function hasMark(pid: number, runId: string): boolean {
  return hasVariable(pid, `NIGHTSHIFT_RUN_ID=${runId}`);
}

/** Whether a process was started with `NAME=value` in its environment. False when that cannot be read. */
export function hasVariable(pid: number, mark: string): boolean {
  if (pid === process.pid) return false;
  try {
    if (!isLinux)
      return ps(["eww", "-o", "command=", "-p", String(pid)])
        .split(/\s+/)
        .includes(mark);
    const environment = `\0${readFileSync(`/proc/${pid}/environ`, "latin1")}`;
    return environment.includes(`\0${mark}\0`);
  } catch {
    return false;
  }
}

function isPid(name: string): boolean {
  const first = name.charCodeAt(0);
  return first >= 48 && first <= 57;
}

function ps(args: string[]): string {
  try {
    return execFileSync("ps", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  } catch {
    return "";
  }
}

function listWithPs(selection: string[]): ProcessEntry[] {
  const columns = "pid=,ppid=,pgid=,state=,time=,lstart=";
  return ps([...selection, "-o", columns])
    .split("\n")
    .flatMap((line) => {
      const [pid, parent, group, state = "", time = "", ...started] = line.trim().split(/\s+/);
      if (!pid) return [];
      const seconds = time.split(":").reduce((sum, part) => sum * 60 + Number(part), 0);
      return [
        {
          pid: Number(pid),
          startTime: started.join(" "),
          processGroup: Number(group),
          parent: Number(parent),
          isZombie: state.startsWith("Z"),
          cpuMs: Math.round(seconds * 1_000) || 0,
        },
      ];
    });
}
