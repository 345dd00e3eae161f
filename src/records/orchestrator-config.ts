// The orchestrator's part of config.yaml, in the seed's form: limits, queues, remote executors, fallbacks (W2, W3).
//
// I1. Defaults are the seed's (W3). `executors:` has a page of its own (executor-config.ts).

import * as z from "zod/mini";
import { MINUTE, SECOND } from "../kernel/time.ts";
import type { DocumentIssue } from "./document-issues.ts";
import type { Effects } from "./job.ts";
import { described, secretReference, text } from "./job-schema.ts";
import type { TaskDocument } from "./workflow.ts";
import { secondsSchema, taskRetrySchema } from "./workflow-schema.ts";
import { millisecondsOf, retryDocument } from "./workflow-shorthands.ts";

export interface OrchestratorConfig {
  maxConcurrentTasks: number;
  /** Per attempt of a task that names none, nor its executor. */
  defaultTimeoutMs: number;
  /** Of tasks that name none. */
  retry: NonNullable<TaskDocument["retry"]>;
  maxTaskHistory: number;
  resourceProbeMs: number;
  /** How often a remote executor is asked for its health (W5). */
  healthMs: number;
  /** What the machine keeps for itself: a request must fit into what is free beyond it. */
  reserve: { cpu: number; memoryMb: number; gpuMemoryMb: number };
  /** What this machine is called by tasks that need it for something else than its amounts. */
  labels: readonly string[];
}

export interface QueueConfig {
  name: string;
  priority: number;
  /** Ceiling and guaranteed share at once (W4). */
  width: number;
  /** At most `max` starts in any `perMs`. */
  rate: { max: number; perMs: number } | undefined;
}

/** One machine that does the tasks of an executor; a name may have several. */
export interface RemoteExecutorConfig {
  name: string;
  /** `http(s)://host:port/execute`; its health is asked beside it, at `/health`. */
  url: string;
  /** A reference to the bearer token. */
  token: string | undefined;
  timeoutMs: number;
  /** Undefined = the orchestrator's. */
  healthMs: number | undefined;
  /** Asked for there; undefined = the preferred one. */
  version: string | undefined;
  /** What a repetition on another machine means. Undefined = what `executors:` says of it, else `external`. */
  effects: Effects | undefined;
}

const count = () => z.int().check(z.gte(1));
const amount = () => z.number().check(z.gte(0));

/** The four keys, for config-schema.ts. */
export const orchestratorSchemas = () => ({
  orchestrator: described(
    "Limits of the task orchestrator.",
    z.optional(
      z.strictObject({
        maxConcurrentTasks: z.optional(count()),
        defaultTimeout: z.optional(secondsSchema()),
        retryPolicy: z.optional(taskRetrySchema()),
        maxTaskHistory: z.optional(count()),
        resourceProbeInterval: z.optional(secondsSchema()),
        healthInterval: z.optional(secondsSchema()),
        labels: z.optional(z.array(text())),
        reserve: z.optional(
          z.strictObject({
            cpu: z.optional(amount()),
            memoryMb: z.optional(amount()),
            gpuMemoryMb: z.optional(amount()),
          }),
        ),
      }),
    ),
  ),
  queues: described(
    "Task queues: priority (the greater, the sooner), width, and a rate of starts.",
    z.optional(
      z.record(
        text(),
        z.strictObject({
          priority: z.optional(z.int()),
          concurrency: count(),
          rate: z.optional(z.strictObject({ max: count(), per: z.optional(secondsSchema()) })),
        }),
      ),
    ),
  ),
  remoteExecutors: described(
    "Executors on other machines.",
    z.optional(
      z.array(
        z.strictObject({
          name: text(),
          url: z.url({ protocol: /^https?$/, error: () => "is no address; write http://HOST:PORT/execute" }),
          token: z.optional(secretReference()),
          timeout: z.optional(secondsSchema()),
          healthInterval: z.optional(secondsSchema()),
          version: z.optional(text()),
          effects: z.optional(z.enum(["none", "idempotent", "external"])),
        }),
      ),
    ),
  ),
  fallbackExecutors: described(
    "What takes over when an executor is down, in order.",
    z.optional(z.record(text(), z.union([text(), z.array(text())]))),
  ),
});

type Input = {
  [Key in keyof ReturnType<typeof orchestratorSchemas>]?: z.infer<
    ReturnType<typeof orchestratorSchemas>[Key]
  >;
};

export function orchestratorOf(input: Input["orchestrator"]): OrchestratorConfig {
  const { reserve, ...limits } = input ?? {};
  return {
    maxConcurrentTasks: limits.maxConcurrentTasks ?? 8,
    defaultTimeoutMs: millisecondsOf(limits.defaultTimeout) ?? 30 * SECOND,
    retry: { max: 3, backoff: 2, delay: "1s", ...defined(retryDocument(limits.retryPolicy)) },
    maxTaskHistory: limits.maxTaskHistory ?? 1_000,
    resourceProbeMs: millisecondsOf(limits.resourceProbeInterval) ?? 10 * SECOND,
    healthMs: millisecondsOf(limits.healthInterval) ?? 30 * SECOND,
    reserve: {
      cpu: reserve?.cpu ?? 0,
      memoryMb: reserve?.memoryMb ?? 0,
      gpuMemoryMb: reserve?.gpuMemoryMb ?? 0,
    },
    labels: limits.labels ?? [],
  };
}

/** In the order of the file. A rate without `per` is one of a minute. */
export function queuesOf(input: Input["queues"] = {}): QueueConfig[] {
  return Object.entries(input).map(([name, { priority = 0, concurrency, rate }]) => ({
    name,
    priority,
    width: concurrency,
    rate: rate && { max: rate.max, perMs: millisecondsOf(rate.per) ?? MINUTE },
  }));
}

export function remoteExecutorsOf(input: Input["remoteExecutors"] = []): RemoteExecutorConfig[] {
  return input.map(({ name, url, token, timeout, healthInterval, version, effects }) => ({
    ...{ name, url, token, version, effects },
    timeoutMs: millisecondsOf(timeout) ?? 30 * SECOND,
    healthMs: millisecondsOf(healthInterval),
  }));
}

export function fallbackExecutorsOf(input: Input["fallbackExecutors"] = {}): Record<string, string[]> {
  return Object.fromEntries(Object.entries(input).map(([name, list]) => [name, [list].flat()]));
}

/** W4: shares that together exceed the ceiling are no shares. */
export function queueIssues(
  queues: readonly QueueConfig[],
  { maxConcurrentTasks }: OrchestratorConfig,
): DocumentIssue[] {
  const sum = queues.reduce((total, queue) => total + queue.width, 0);
  if (sum <= maxConcurrentTasks) return [];
  return [
    {
      path: ["queues"],
      of: "key",
      what: `the queues' concurrency adds up to ${sum}, which is more than orchestrator.maxConcurrentTasks (${maxConcurrentTasks})`,
      hint: "lower their concurrency, or raise orchestrator.maxConcurrentTasks",
    },
  ];
}

function defined<Value extends object>(value: Value | undefined): Partial<Value> {
  return Object.fromEntries(
    Object.entries(value ?? {}).filter(([, member]) => member !== undefined),
  ) as Partial<Value>;
}
