// Journal entries, one after the other, make progress. The invariants are progress.ts's.

import {
  type Decision,
  hasEnded,
  type JournalEntry,
  newProgress,
  type Progress,
  type RunStart,
  type UnitState,
} from "./progress.ts";

/** The progress that a journal adds up to (I1). */
export function foldJournal(start: RunStart, entries: readonly JournalEntry[]): Progress {
  const progress = newProgress(start);
  for (const entry of entries) applyEntry(progress, entry);
  return progress;
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

/** A unit of which nothing has happened. */
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
  // An attempt that never began is not charged.
  const isFree = isLost && base.reason === "queued";
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
