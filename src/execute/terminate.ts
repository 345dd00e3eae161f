// Ending what a run left or is (law 7, L10): TERM, grace, KILL, then a count of who is still there.
//
// I1. A pid is signalled only while its start time is the one we know: a recycled pid is never killed (hermes#89614).
// I2. A group counts as the run's only while a known member of it lives: the kernel reuses a group's number only
//     after its last member is gone. Otherwise each process must carry the run's mark.
// I3. This process itself is never signalled.

import type { Clock } from "../kernel/time.ts";
import type { ProcessIdentity, ProcessRecord } from "../records/process.ts";
import {
  hasVariable,
  isSameProcess,
  listProcesses,
  type ProcessEntry,
  readProcess,
} from "./process-table.ts";

/** Time between TERM and KILL. */
export const DEFAULT_GRACE_MS = 10_000;
/** How long a killed process may take to vanish (it may sit in the kernel, on a dead disk) before it is a survivor. */
const KILL_WAIT_MS = 2_000;

export interface EndRequest {
  runId: string;
  /** Who is known to be the run's: its leader, and members seen while the leader lived. */
  known: readonly ProcessIdentity[];
  /** Default 10 s; 0 = KILL at once. */
  graceMs?: number;
}

/** Proof of cleanup: pids that were there and are gone, and those that would not go. */
export interface Ended {
  ended: number[];
  survivors: number[];
}

/**
 * Ends a run's processes: the known ones, their group, and whoever carries the run's mark elsewhere (setsid).
 * Resolves within grace + 2 s. Never throws. Idempotent: nothing there = `{ended: [], survivors: []}`.
 */
export async function endRun(deps: { clock: Clock }, request: EndRequest): Promise<Ended> {
  return endMarked(deps, { ...request, mark: runMark(request.runId) });
}

/** As `endRun`, for whatever else marks its processes: `mark` is the variable they carry, as `NAME=value`. */
export async function endMarked(
  deps: { clock: Clock },
  request: Omit<EndRequest, "runId"> & { mark: string },
): Promise<Ended> {
  const seen = new Map<string, ProcessIdentity>();
  const first = new Set(request.known.map(keyOf));
  const hunt: Hunt = { mark: request.mark, first, known: [...request.known], seen };
  let left = look(hunt);
  if (left.length > 0 && (request.graceMs ?? DEFAULT_GRACE_MS) > 0)
    left = await signalUntilGone(deps.clock, hunt, {
      signal: "SIGTERM",
      waitMs: request.graceMs ?? DEFAULT_GRACE_MS,
    });
  if (left.length > 0)
    left = await signalUntilGone(deps.clock, hunt, { signal: "SIGKILL", waitMs: KILL_WAIT_MS });
  const survivors = left.map((entry) => entry.pid);
  const ended = [...seen.values()].map((entry) => entry.pid).filter((pid) => !survivors.includes(pid));
  return { ended, survivors };
}

/** After a kill -9: ends what is left of a run on this host. `processes` of other hosts must not be passed. */
export async function endLeftovers(
  deps: { clock: Clock },
  processes: readonly ProcessRecord[],
  run: { runId: string; graceMs?: number },
): Promise<Ended> {
  return endRun(deps, { ...run, known: processes });
}

/** What of a run is there now, without touching it. */
export function findLeftovers(runId: string, known: readonly ProcessIdentity[]): ProcessEntry[] {
  return look({ mark: runMark(runId), first: new Set(), known: [...known], seen: new Map() });
}

/** Sends a signal to exactly this process; false when it is gone, recycled or not ours to signal. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (identity.pid === process.pid || identity.pid <= 1 || !isSameProcess(identity)) return false;
  try {
    return process.kill(identity.pid, signal);
  } catch {
    return false;
  }
}

const runMark = (runId: string) => `NIGHTSHIFT_RUN_ID=${runId}`;

interface Hunt {
  mark: string;
  /** Who was known at the start: the command itself, in most cases. */
  first: ReadonlySet<string>;
  known: ProcessIdentity[];
  seen: Map<string, ProcessIdentity>;
}

const keyOf = (entry: ProcessIdentity) => `${entry.pid}/${entry.startTime}`;

/** One look at the process table. Members found in a group that is provably ours become known (I2). */
function findLeft(hunt: Hunt): ProcessEntry[] {
  const table = listProcesses();
  const known = new Set(hunt.known.map(keyOf));
  const ownGroups = new Set(hunt.known.map((entry) => entry.processGroup));
  const provedGroups = new Set(
    table
      .filter((entry) => known.has(keyOf(entry)) && ownGroups.has(entry.processGroup))
      .map((entry) => entry.processGroup),
  );
  const oldest = oldestStart(hunt.known);
  const left = table.filter((entry) => {
    if (entry.isZombie || entry.pid === process.pid) return false;
    if (known.has(keyOf(entry)) || provedGroups.has(entry.processGroup)) return true;
    return !isOlder(entry.startTime, oldest) && hasVariable(entry.pid, hunt.mark);
  });
  for (const entry of left) {
    hunt.seen.set(keyOf(entry), entry);
    if (provedGroups.has(entry.processGroup) && !known.has(keyOf(entry))) hunt.known.push(entry);
  }
  return left;
}

async function signalUntilGone(
  clock: Clock,
  hunt: Hunt,
  step: { signal: "SIGTERM" | "SIGKILL"; waitMs: number },
): Promise<ProcessEntry[]> {
  const signalled = new Set<string>();
  const until = clock.monotonicMs() + step.waitMs;
  const never = new AbortController().signal;
  let pauseMs = 5;
  let left = look(hunt);
  while (left.length > 0) {
    // Whoever appears after the first TERM may be the command's own cleanup: it is left in peace while the command lives.
    const isCleanup = step.signal === "SIGTERM" && signalled.size > 0 && left.some(isFirst(hunt));
    if (!isCleanup) sendAll(hunt, left, { ...step, signalled });
    const restMs = until - clock.monotonicMs();
    if (restMs <= 0) break;
    await clock.sleep(Math.min(pauseMs, restMs), never);
    pauseMs = Math.min(pauseMs * 2, 100);
    left = look(hunt);
  }
  return left;
}

const isFirst = (hunt: Hunt) => (entry: ProcessEntry) => hunt.first.has(keyOf(entry));

/**
 * Nothing left is believed only when seen twice: a process forked while the table was being read, by one that ended
 * before it was read, is in neither place the first time.
 */
function look(hunt: Hunt): ProcessEntry[] {
  const left = findLeft(hunt);
  return left.length > 0 ? left : findLeft(hunt);
}

/** One signal each. A proved group gets it as a whole, in one call that no fork can slip through. */
function sendAll(
  hunt: Hunt,
  left: readonly ProcessEntry[],
  step: { signal: "SIGTERM" | "SIGKILL"; signalled: Set<string> },
): void {
  const fresh = left.filter((entry) => !step.signalled.has(keyOf(entry)));
  const known = new Set(hunt.known.map(keyOf));
  const groups = new Set(
    fresh
      .filter((entry) => known.has(keyOf(entry)) && isSameProcess(entry))
      .map((entry) => entry.processGroup),
  );
  const ownGroup = readProcess(process.pid)?.processGroup;
  for (const group of groups) if (group > 1 && group !== ownGroup) signalGroup(group, step.signal);
  for (const entry of fresh) {
    step.signalled.add(keyOf(entry));
    if (!groups.has(entry.processGroup) || entry.processGroup === ownGroup) signalProcess(entry, step.signal);
    // A stopped process does not see TERM until it goes on.
    if (step.signal === "SIGTERM") signalProcess(entry, "SIGCONT");
  }
}

function signalGroup(processGroup: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-processGroup, signal);
  } catch {
    // It has just ended.
  }
}

/** Start times on Linux are ticks since boot; elsewhere they cannot be ordered and nobody is older. */
function isOlder(startTime: string, oldest: number | undefined): boolean {
  return oldest !== undefined && Number(startTime) < oldest;
}

function oldestStart(known: readonly ProcessIdentity[]): number | undefined {
  if (process.platform !== "linux" || known.length === 0) return undefined;
  const times = known.map((entry) => Number(entry.startTime)).filter((time) => time > 0);
  return times.length === 0 ? undefined : Math.min(...times);
}
