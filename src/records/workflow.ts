// A workflow: a graph of tasks, as a person wrote it and as it is meant. It holds no state of any run (law 9).
//
// `WorkflowDocument` is the canonical wire form: camelCase, shorthands written out, durations as texts. `Workflow` is the
// same with defaults filled in (W3). Semantics: DESIGN §12, SEMANTICS W1–W7.

import type { Instant } from "../kernel/time.ts";
import type { Effects, RetryDocument, RetryPolicy } from "./job.ts";

/** What a task does; exactly one of these keys stands in its document. */
export const TASK_KINDS = [
  "executor",
  "shell",
  "script",
  "agent",
  "http",
  "workflow",
  "wait",
  "approval",
] as const;

/** How incoming transitions start a task: one active source, or all of them. */
export type Join = "any" | "all";

/** When a fallback takes over: the executor is offline, or its attempts are used up. */
export type FallbackCause = "offline" | "failed";

/** What a crash of an `external` task means: ask a person (default), or decide at once. */
export type OnUnknown = "ask" | "fail" | "rerun";

/** What a queue or group does with one more than fits. */
export type OnConflict = "queue" | "skip" | "cancel";

export interface ResourcesDocument {
  cpu?: number | undefined;
  memoryMb?: number | undefined;
  gpu?: number | undefined;
  gpuMemoryMb?: number | undefined;
  labels?: string[] | undefined;
}

/** What a task needs from its machine while it runs. Numbers are amounts (cores, MB, cards); 0 = none asked for. */
export interface Resources {
  cpu: number;
  memoryMb: number;
  gpu: number;
  gpuMemoryMb: number;
  labels: readonly string[];
}

export interface ForeachDocument {
  /** A list, or a template that gives one. */
  items: string | unknown[];
  as?: string | undefined;
  max?: number | undefined;
  failFast?: boolean | undefined;
}

export interface TaskDocument {
  id: string;
  description?: string | undefined;
  executor?: string | undefined;
  shell?: string | undefined;
  script?: string | undefined;
  agent?: Record<string, unknown> | undefined;
  http?: Record<string, unknown> | undefined;
  workflow?: string | undefined;
  wait?: { for?: string | undefined; until?: string | undefined } | undefined;
  approval?: { message: string; timeout?: string | undefined } | undefined;
  params?: Record<string, unknown> | undefined;
  dependsOn?: string[] | undefined;
  when?: string | undefined;
  timeout?: string | 0 | undefined;
  idleTimeout?: string | undefined;
  queueTimeout?: string | undefined;
  retry?: (RetryDocument & { jitter?: boolean | undefined }) | undefined;
  onSuccess?: string[] | undefined;
  onFailure?: string[] | undefined;
  onComplete?: string[] | undefined;
  join?: Join | undefined;
  continueOn?:
    | { failure?: boolean | undefined; skipped?: boolean | undefined; exitCodes?: number[] | undefined }
    | undefined;
  fallback?: string[] | undefined;
  fallbackOn?: FallbackCause[] | undefined;
  effects?: Effects | undefined;
  onUnknown?: OnUnknown | undefined;
  idempotencyKey?: string | undefined;
  foreach?: ForeachDocument | undefined;
  outputs?: Record<string, string> | undefined;
  schema?: Record<string, unknown> | undefined;
  resources?: ResourcesDocument | undefined;
  queue?: string | undefined;
  priority?: number | undefined;
  env?: Record<string, string> | undefined;
  workdir?: string | undefined;
  environment?: string | Record<string, unknown> | undefined;
}

export type ParamType = "string" | "number" | "integer" | "boolean" | "list" | "map";

/** One parameter of a workflow. Without a default it is required. */
export interface ParamDocument {
  type?: ParamType | undefined;
  default?: unknown;
  enum?: unknown[] | undefined;
  description?: string | undefined;
}

export interface WorkflowDocument {
  name: string;
  description?: string | undefined;
  params?: Record<string, ParamDocument> | undefined;
  env?: Record<string, string> | undefined;
  defaults?: { timeout?: string | 0 | undefined; retry?: TaskDocument["retry"] } | undefined;
  queue?: string | undefined;
  concurrency?: { group: string; max?: number | undefined; onConflict?: OnConflict | undefined } | undefined;
  timeout?: string | 0 | undefined;
  budget?: { usd?: number | undefined; tokens?: number | undefined; spawns?: number | undefined } | undefined;
  tasks: TaskDocument[];
  finally?: string[] | undefined;
  handlers?: Handlers<string[] | undefined> | undefined;
  outputs?: Record<string, unknown> | undefined;
}

/** By how the graph ended. */
export interface Handlers<Value> {
  success?: Value;
  failure?: Value;
  cancelled?: Value;
}

/** What a task does, parsed. */
export type TaskWork =
  | { kind: "executor"; executor: string }
  | { kind: "shell"; shell: string }
  | { kind: "script"; script: string }
  | { kind: "agent"; agent: Record<string, unknown> }
  | { kind: "http"; http: Record<string, unknown> }
  | { kind: "workflow"; workflow: string }
  | { kind: "wait"; forMs: number | undefined; until: Instant | undefined }
  | { kind: "approval"; message: string; timeoutMs: number };

/** A task with defaults filled in. Durations in ms; 0 = no limit. */
export interface Task {
  id: string;
  work: TaskWork;
  params: Record<string, unknown>;
  dependsOn: readonly string[];
  when: string | undefined;
  /** Per attempt, from its start; time in a queue does not count. */
  timeoutMs: number;
  idleTimeoutMs: number;
  queueTimeoutMs: number;
  retry: RetryPolicy & { hasJitter: boolean };
  onSuccess: readonly string[];
  onFailure: readonly string[];
  onComplete: readonly string[];
  join: Join;
  /** Which ends of this task those that depend on it can live with, besides success. */
  continueOn: { failure: boolean; skipped: boolean; exitCodes: readonly number[] };
  fallback: readonly string[];
  fallbackOn: readonly FallbackCause[];
  effects: Effects;
  onUnknown: OnUnknown;
  idempotencyKey: string | undefined;
  foreach: { items: string | unknown[]; as: string; max: number; failFast: boolean } | undefined;
  outputs: Readonly<Record<string, string>>;
  schema: Record<string, unknown> | undefined;
  resources: Resources;
  queue: string | undefined;
  priority: number | undefined;
  env: Readonly<Record<string, string>>;
  workdir: string | undefined;
  environment: string | Record<string, unknown> | undefined;
}

export interface Workflow {
  name: string;
  params: Readonly<Record<string, ParamDocument>>;
  env: Readonly<Record<string, string>>;
  queue: string | undefined;
  concurrency: { group: string; max: number; onConflict: OnConflict } | undefined;
  /** The whole run, from its start; 0 = no limit. */
  timeoutMs: number;
  budget: { usd?: number | undefined; tokens?: number | undefined; spawns?: number | undefined };
  tasks: readonly Task[];
  finally: readonly string[];
  handlers: { success: readonly string[]; failure: readonly string[]; cancelled: readonly string[] };
  outputs: Readonly<Record<string, unknown>>;
}
