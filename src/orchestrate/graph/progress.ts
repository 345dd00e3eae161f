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

/** A copy that can be changed without changing the original: unit states are replaced, never written to. */
export function copyProgress(progress: Progress): Progress {
  return { ...progress, units: new Map(progress.units), offline: new Set(progress.offline) };
}
