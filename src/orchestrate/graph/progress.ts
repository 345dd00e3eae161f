// How far a run of a workflow has come: journal entries, and the progress that they add up to.
//
// I1. Progress is nothing but its entries folded in order: whoever has the journal can go on (crash, resume, take-over).
// I2. An entry about an attempt that is not the unit's present one changes nothing (the fence of law 3).
// I3. A unit that has ended never changes again.
// A *unit* is a task, or one item of a `foreach` (`id[3]`): what attempts are made of.

import type { Instant } from "../../kernel/time.ts";

export type UnitEnd = "succeeded" | "partiallySucceeded" | "failed" | "timedOut" | "cancelled" | "skipped";

/** `queued`: an attempt is asked for. `judging`, `lost`: an attempt has ended, or its owner is gone, and nothing is decided yet. */
export type UnitStanding = "queued" | "running" | "judging" | "lost" | "waiting" | "expanded" | UnitEnd;

export interface TaskError {
  code: string;
  message: string;
  exitCode?: number | undefined;
}

/** How one attempt ended. `offline`: the executor never took it, so it counts for nothing. */
export type AttemptOutcome =
  | { state: "succeeded" | "partiallySucceeded"; result?: unknown }
  | { state: "failed"; error: TaskError }
  | { state: "timedOut"; error: TaskError }
  | { state: "offline"; error: TaskError }
  | { state: "cancelled" };

export type WaitReason = "retry" | "time" | "approval" | "effect";
export type StopReason = "timeout" | "queueTimeout" | "cancelled" | "failFast";

interface At {
  at: Instant;
}
interface OfUnit extends At {
  unit: string;
}

/** What `advance` decides; recorded before it is carried out. */
export type Decision =
  | (OfUnit & {
      kind: "start";
      attempt: number;
      /** 0 = the task's own executor, 1 = its first fallback, … */
      executor: number;
      /** The failure or success that started this task, when a transition did. */
      activatedBy?: string | undefined;
    })
  | (OfUnit & { kind: "expand"; items: readonly unknown[]; activatedBy?: string | undefined })
  | (OfUnit & {
      kind: "wait";
      reason: WaitReason;
      until?: Instant | undefined;
      executor: number;
      activatedBy?: string | undefined;
    })
  | (OfUnit & { kind: "stop"; attempt: number; why: StopReason })
  | (OfUnit & {
      kind: "end";
      state: UnitEnd;
      reason?: string | undefined;
      result?: unknown;
      outputs?: Record<string, unknown> | undefined;
      error?: TaskError | undefined;
      hasWarning?: boolean | undefined;
      activatedBy?: string | undefined;
    })
  | (At & { kind: "timeUp" })
  | (At & { kind: "finish"; state: RunEnd; reason?: string | undefined; outputs: Record<string, unknown> });

export type RunEnd = "succeeded" | "partiallySucceeded" | "failed" | "cancelled" | "timedOut";

/** What the world reports. */
export type ProgressEvent =
  | (OfUnit & { kind: "started"; attempt: number })
  | (OfUnit & { kind: "ended"; attempt: number; outcome: AttemptOutcome })
  /** The owner of the attempt is proved dead, or its lease has run out. */
  | (OfUnit & { kind: "lost"; attempt: number })
  | (OfUnit & { kind: "resolved"; as: "succeeded" | "failed" | "rerun"; by: string; result?: unknown })
  | (At & { kind: "cancelRequested"; by: string })
  | (At & { kind: "executorOffline" | "executorOnline"; executor: string });

export type JournalEntry = Decision | ProgressEvent;

export interface UnitState {
  standing: UnitStanding;
  /** Since when it stands so. */
  since: Instant;
  reason?: string | undefined;
  /** Attempts so far, over all executors; the present one's number. */
  attempt: number;
  /** Position in [own executor, ...fallback]. */
  executor: number;
  /** Charged attempts on that executor. */
  tries: number;
  /** Runs again after a lost owner (L6: at most two). */
  reruns: number;
  until?: Instant | undefined;
  stopping?: StopReason | undefined;
  outcome?: AttemptOutcome | undefined;
  /** First start and end, for people and `durationMs`. */
  startedAt?: Instant | undefined;
  finishedAt?: Instant | undefined;
  activatedBy?: string | undefined;
  items?: readonly unknown[] | undefined;
  result?: unknown;
  outputs?: Record<string, unknown> | undefined;
  error?: TaskError | undefined;
  hasWarning?: boolean | undefined;
  resolution?: Extract<ProgressEvent, { kind: "resolved" }> | undefined;
}

/** What a run is given once, at its start. */
export interface RunStart {
  runId: string;
  /** One value for the whole run (`{uuid}`). */
  uuid: string;
  startedAt: Instant;
  params: Readonly<Record<string, unknown>>;
  trigger: Readonly<Record<string, unknown>>;
}

export interface Progress {
  start: RunStart;
  units: Map<string, UnitState>;
  cancel: { at: Instant; by: string; state: "cancelled" | "timedOut" } | undefined;
  offline: Set<string>;
  ended:
    | { state: RunEnd; at: Instant; reason: string | undefined; outputs: Record<string, unknown> }
    | undefined;
}

const ENDS: ReadonlySet<string> = new Set<UnitEnd>([
  "succeeded",
  "partiallySucceeded",
  "failed",
  "timedOut",
  "cancelled",
  "skipped",
]);

/** Whether a unit has ended for good. */
export function hasEnded(unit: UnitState | undefined): unit is UnitState & { standing: UnitEnd } {
  return unit !== undefined && ENDS.has(unit.standing);
}

/** The key of item `index` of a `foreach`. */
export function itemKey(task: string, index: number): string {
  return `${task}[${index}]`;
}

/** The task a unit belongs to and, for an item, its position. */
export function unitParts(unit: string): { task: string; index: number | undefined } {
  const open = unit.indexOf("[");
  return open < 0
    ? { task: unit, index: undefined }
    : { task: unit.slice(0, open), index: Number(unit.slice(open + 1, -1)) };
}

/** A run of which nothing has happened yet. */
export function newProgress(start: RunStart): Progress {
  return { start, units: new Map(), cancel: undefined, offline: new Set(), ended: undefined };
}

/** The progress that a journal adds up to (I1). */
export function foldJournal(start: RunStart, entries: readonly JournalEntry[]): Progress {
  const progress = newProgress(start);
  for (const entry of entries) applyEntry(progress, entry);
  return progress;
}

/** A copy that can be changed without changing the original: unit states are replaced, never written to. */
export function copyProgress(progress: Progress): Progress {
  return { ...progress, units: new Map(progress.units), offline: new Set(progress.offline) };
}

/** Adds one entry to a progress, in place. */
export function applyEntry(progress: Progress, entry: JournalEntry): void {
  if (progress.ended) return;
  switch (entry.kind) {
    case "cancelRequested":
      progress.cancel ??= { at: entry.at, by: entry.by, state: "cancelled" };
      return;
    case "timeUp":
      progress.cancel ??= { at: entry.at, by: "timeout", state: "timedOut" };
      return;
    case "executorOffline":
      progress.offline.add(entry.executor);
      return;
    case "executorOnline":
      progress.offline.delete(entry.executor);
      return;
    case "finish":
      progress.ended = { state: entry.state, at: entry.at, reason: entry.reason, outputs: entry.outputs };
      return;
    default: {
      const before = progress.units.get(entry.unit);
      if (hasEnded(before)) return;
      const after = unitAfter(before, entry);
      if (after) progress.units.set(entry.unit, after);
    }
  }
}

type UnitEntry = Extract<JournalEntry, { unit: string }>;

const UNTOUCHED: UnitState = {
  standing: "waiting",
  since: 0,
  attempt: 0,
  executor: 0,
  tries: 0,
  reruns: 0,
};

/** The unit after an entry; undefined when the entry is not for its present attempt (I2). */
function unitAfter(before: UnitState | undefined, entry: UnitEntry): UnitState | undefined {
  const base = before ?? UNTOUCHED;
  switch (entry.kind) {
    case "start":
      return startedAnew(base, entry);
    case "expand":
      return {
        ...base,
        standing: "expanded",
        since: entry.at,
        startedAt: entry.at,
        items: entry.items,
        activatedBy: entry.activatedBy,
      };
    case "wait":
      return waiting(base, entry);
    case "end":
      return ended(base, entry);
    case "resolved":
      return base.standing === "waiting" && base.resolution === undefined
        ? { ...base, resolution: entry }
        : undefined;
    case "stop":
      return isPresent(base, entry) ? { ...base, stopping: entry.why } : undefined;
    case "started":
      if (!isPresent(base, entry) || base.standing !== "queued") return undefined;
      return { ...base, standing: "running", since: entry.at, startedAt: base.startedAt ?? entry.at };
    case "ended":
      return isPresent(base, entry)
        ? { ...base, standing: "judging", since: entry.at, outcome: entry.outcome }
        : undefined;
    case "lost":
      return isPresent(base, entry)
        ? { ...base, standing: "lost", since: entry.at, reason: base.standing }
        : undefined;
  }
}

function isPresent(unit: UnitState, entry: { attempt: number }): boolean {
  return unit.attempt === entry.attempt && (unit.standing === "queued" || unit.standing === "running");
}

function startedAnew(base: UnitState, entry: Extract<Decision, { kind: "start" }>): UnitState {
  const isSameExecutor = base.executor === entry.executor;
  const isLost = base.standing === "lost";
  // An attempt that never began, or ran on an executor that was offline, is not charged.
  const isFree = (isLost && base.reason === "queued") || base.outcome?.state === "offline";
  const isRerun = (isLost && base.reason === "running") || base.resolution?.as === "rerun";
  return {
    ...base,
    standing: "queued",
    since: entry.at,
    reason: undefined,
    until: undefined,
    stopping: undefined,
    outcome: undefined,
    resolution: undefined,
    attempt: entry.attempt,
    executor: entry.executor,
    tries: isSameExecutor ? base.tries + (isFree || isRerun ? 0 : 1) : 1,
    reruns: base.reruns + (isLost && base.reason === "running" ? 1 : 0),
    activatedBy: entry.activatedBy ?? base.activatedBy,
  };
}

function waiting(base: UnitState, entry: Extract<Decision, { kind: "wait" }>): UnitState {
  return {
    ...base,
    standing: "waiting",
    since: entry.at,
    reason: entry.reason,
    until: entry.until,
    stopping: undefined,
    startedAt: base.startedAt ?? entry.at,
    activatedBy: entry.activatedBy ?? base.activatedBy,
  };
}

function ended(base: UnitState, entry: Extract<Decision, { kind: "end" }>): UnitState {
  return {
    ...base,
    standing: entry.state,
    since: entry.at,
    finishedAt: entry.at,
    reason: entry.reason,
    result: entry.result,
    outputs: entry.outputs,
    error: entry.error,
    hasWarning: entry.hasWarning,
    activatedBy: entry.activatedBy ?? base.activatedBy,
    until: undefined,
    stopping: undefined,
    outcome: undefined,
    resolution: undefined,
  };
}
