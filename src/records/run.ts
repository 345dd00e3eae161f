// Everything that happens is a Run (law 1): one row of one ledger, in one tree.

import type { Instant } from "../kernel/time.ts";
import type { Effects } from "./job.ts";
import type { Outcome, Usage } from "./outcome.ts";
import type { RemoteCaller } from "./remote-caller.ts";
import type { Holding } from "./resources.ts";
import type { OnConflict, Resources } from "./workflow.ts";

/** Occupies its job for the overlap rule (T7). */
export const LIVE_STATES = ["claimed", "running", "cancelling"] as const;

/** Never change again (L1). `skipped`, `missed` and `blocked` are slots that did not run. */
export const TERMINAL_STATES = [
  "succeeded",
  "partiallySucceeded",
  "failed",
  "cancelled",
  "timedOut",
  "unknown",
  "skipped",
  "missed",
  "blocked",
] as const;

/** L1. */
export const RUN_STATES = ["queued", "waiting", ...LIVE_STATES, ...TERMINAL_STATES] as const;

export type RunState = (typeof RUN_STATES)[number];

export type TerminalState = (typeof TERMINAL_STATES)[number];

export function isTerminal(state: RunState): state is TerminalState {
  return (TERMINAL_STATES as readonly RunState[]).includes(state);
}

/** Whether a run occupies its job for the overlap rule (T7). */
export function isLive(state: RunState): boolean {
  return (LIVE_STATES as readonly RunState[]).includes(state);
}

export type RunKind = "job" | "workflow" | "task" | "agent" | "delegate" | "batchItem";
export type RunTrigger = "schedule" | "manual" | "retry" | "rerun" | "event";

/** A ledger row. Range rows (skipped or missed stretches) carry `slotTo` and `slotCount` beside `slot`, their first. */
export interface Run {
  id: string;
  /** L2: `job/<jobId>/<slot ISO>`, `manual/<id>`, `event/<key>`; unique together with `attempt`. */
  dedupeKey: string;
  attempt: number;
  kind: RunKind;
  jobId: string | undefined;
  /** The definition version it was planned with (D5). */
  version: number | undefined;
  parentId: string | undefined;
  rootId: string;
  slot: Instant | undefined;
  slotTo: Instant | undefined;
  slotCount: number;
  /** Counting stopped early: `slotCount` is a lower bound (T6). */
  isCountAtLeast: boolean;
  trigger: RunTrigger;
  state: RunState;
  reason: string | undefined;
  effects: Effects;
  /** Whether it may not run beside another live run of its job (overlap other than `allow`). */
  isExclusive: boolean;
  /** Handed to the work; kept over retries (L6). */
  idempotencyKey: string;
  /** Claimable from this instant on: slot plus jitter, or the end of a back-off. */
  readyAt: Instant;
  /** Not started by then = `skipped: overlap` (T7 `replace`). */
  startBy: Instant | undefined;
  owner: string | undefined;
  /** The fence: only grows (law 3). */
  token: number;
  /** For people: the wall time at which the lease will have expired if it is not renewed. */
  leaseUntil: Instant | undefined;
  createdAt: Instant;
  startedAt: Instant | undefined;
  finishedAt: Instant | undefined;
  lastActivityAt: Instant | undefined;
  cancelRequestedAt: Instant | undefined;
  cancelledBy: string | undefined;
  outcome: Outcome | undefined;
  usage: Usage | undefined;
  outputFile: string | undefined;
  scriptSha256: string | undefined;
  /** Ran alone because its job was near when its node died twice (L7). */
  isSuspect: boolean;
  /** The JSON of a JobDocument: the work of a run that has no job (`nightshift agent`). Undefined = its definition says it. */
  input: string | undefined;
  /** The event from outside that set it off (W7); kept over retries and repetitions by hand. */
  eventId?: string | undefined;
  /** The queue it waits in (W4). Absent = none: it is no task, or belongs to no group. */
  queue?: string | undefined;
  /** What decides when it may start; with `queue`. */
  admission?: Admission | undefined;
}

/** What a queued task, or a workflow of a group, needs before it may start (W4, DESIGN §12). */
export interface Admission {
  /** Of its own; absent = the queue's. */
  priority?: number | undefined;
  /** Queued at: waiting counts from here. */
  enqueuedAt: Instant;
  /** A ceiling shared by a key. */
  group?: { key: string; max: number; onConflict: OnConflict } | undefined;
  /** The executor that does it, and the version it is pinned to. */
  executor?: string | undefined;
  version?: string | undefined;
  /** Beyond what the executor asks for. */
  resources?: Resources | undefined;
  /** What it holds while it is live; written by the pass that claims it. */
  holds?: Holding | undefined;
  /** Which of its executor's registrations that pass chose (orchestrate/resources); absent = the preferred one. */
  registration?: string | undefined;
  /** Somebody else takes over where its executor is down: it is not waited for. */
  hasFallback?: boolean | undefined;
  /** Another machine's node has it done here. */
  caller?: RemoteCaller | undefined;
}

/** Fenced ownership of one run (law 3). Every later write carries it and is refused when the token is old. */
export interface Claim {
  runId: string;
  owner: string;
  token: number;
}

/** A bounded live log line or a state change of a run; `sequence` grows over the whole ledger and never repeats. */
export interface RunEvent {
  sequence: number;
  runId: string | undefined;
  jobId: string | undefined;
  at: Instant;
  /** Noun-verb: `run-started`, `run-finished`, `stdout`, `stderr`, `process-ended`, `clock-stepped`, … */
  kind: string;
  data: Record<string, unknown>;
}

export type NewRunEvent = Omit<RunEvent, "sequence">;

/** A person's or the program's later word on a terminal row (L1): the row itself never changes. */
export interface Resolution {
  runId: string;
  as: "succeeded" | "failed" | "rerun" | "early";
  by: string;
  note: string | undefined;
  at: Instant;
}
