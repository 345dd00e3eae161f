// A job: what may run, when, with which limits, and to whom its result goes. It holds no run state (law 9).
//
// `JobDocument` is what a person writes and every surface prints; `Job` is the same, parsed once at the edge.

import type { Instant } from "../kernel/time.ts";
import type { AgentWork } from "./agent-work.ts";
import type { Origin, TargetSelector } from "./delivery.ts";
import type { Schedule, ScheduleDocument } from "./schedule.ts";
import type { JobTrigger, TriggerDocument } from "./trigger.ts";

export type CatchUp = "skip" | "latest" | "all";
export type Overlap = "skip" | "queue" | "allow" | "replace";

/** What a repetition would mean to the world outside: decides what a crash means (law 4, L6). */
export type Effects = "none" | "idempotent" | "external";

/** Exactly one kind of work, as written in a document under `run:`. */
export interface WorkDocument {
  script?: string | undefined;
  args?: string[] | undefined;
  agent?: Record<string, unknown> | undefined;
  workflow?: Record<string, unknown> | undefined;
  task?:
    | { executor: string; params?: Record<string, unknown> | undefined; queue?: string | undefined }
    | undefined;
}

export interface RetryDocument {
  max?: number | undefined;
  delay?: string | undefined;
  backoff?: number | undefined;
  maxDelay?: string | undefined;
  on?: string[] | undefined;
  notOn?: string[] | undefined;
}

/** A target in a document: `telegram:-1001:17`, or the object form that every adapter accepts (O5). */
export type TargetDocument =
  | string
  | { platform: string; chat?: string | undefined; thread?: string | undefined; url?: string | undefined };

/** The wire form of a job: camelCase keys, durations and instants as texts. Absent keys take DESIGN §6's defaults. */
export interface JobDocument {
  id: string;
  name?: string | undefined;
  description?: string | undefined;
  schedule?: ScheduleDocument | undefined;
  timezone?: string | undefined;
  on?: TriggerDocument[] | undefined;
  run: WorkDocument;
  deliver?: TargetDocument[] | undefined;
  onFailure?: TargetDocument[] | undefined;
  environment?: string | Record<string, unknown> | undefined;
  timeout?: { idle?: string | 0 | undefined; total?: string | 0 | undefined } | undefined;
  catchUp?: CatchUp | undefined;
  catchUpLimit?: number | undefined;
  overlap?: Overlap | undefined;
  effects?: Effects | undefined;
  retry?: RetryDocument | undefined;
  autoPause?: number | undefined;
  jitter?: string | undefined;
  repeat?: number | undefined;
  until?: string | undefined;
  env?: Record<string, string> | undefined;
  workdir?: string | undefined;
  enabled?: boolean | undefined;
  origin?: Origin | undefined;
}

export type Work =
  | { kind: "script"; script: string; args: readonly string[] }
  | { kind: "agent"; agent: AgentWork }
  | { kind: "workflow"; workflow: Record<string, unknown> }
  | { kind: "task"; executor: string; params: Record<string, unknown>; queue: string | undefined };

/** L6: covers `failed` and `timedOut` only. `max` counts further attempts after the first. */
export interface RetryPolicy {
  max: number;
  delayMs: number;
  backoff: number;
  maxDelayMs: number;
  /** Words: `failed`, `timeout`, `unavailable`, `exit:N`. Empty = all. */
  on: readonly string[];
  notOn: readonly string[];
}

/** A job, parsed: zones, instants and durations resolved, defaults filled in. */
export interface Job {
  id: string;
  name: string;
  schedule: Schedule | undefined;
  timezone: string;
  /** What sets it off besides its schedule (W7). */
  on: readonly JobTrigger[];
  work: Work;
  deliver: readonly TargetSelector[];
  onFailure: readonly TargetSelector[];
  environment: string | Record<string, unknown>;
  /** 0 = off (L14). */
  idleTimeoutMs: number;
  totalTimeoutMs: number;
  catchUp: CatchUp;
  catchUpLimit: number;
  overlap: Overlap;
  effects: Effects;
  retry: RetryPolicy;
  /** Failures in a row after which the job is paused, and again after as many more; undefined = never (D4). */
  autoPause: number | undefined;
  jitterMs: number;
  repeat: number | undefined;
  until: Instant | undefined;
  env: Readonly<Record<string, string>>;
  workdir: string | undefined;
  enabled: boolean;
  origin: Origin | undefined;
}
