// The orchestrator's part of config.yaml, in the seed's form: limits, executors, queues, remote ones, fallbacks (W2, W3).
//
// I1. Accepted whole or refused with every mistake, with line and column; numbers in quotes are refused.
// I2. Other concerns of the file are others' (config-schema.ts); here they are passed over.

import * as z from "zod/mini";
import { parseDuration, SECOND } from "../kernel/time.ts";
import { faultOfIssues, issuesOf } from "./document-issues.ts";
import { text } from "./job-schema.ts";
import { knownKeysInCamelCase } from "./snake-case.ts";
import type { ResourcesDocument, TaskDocument } from "./workflow.ts";
import { resourcesSchema, secondsSchema, taskRetrySchema } from "./workflow-schema.ts";
import { resourcesDocument, retryDocument } from "./workflow-shorthands.ts";
import { parseYamlDocument } from "./yaml-text.ts";

export interface ExecutorConfig {
  module?: string | undefined;
  function?: string | undefined;
  timeoutMs?: number | undefined;
  retry?: TaskDocument["retry"];
  resources?: ResourcesDocument | undefined;
  version?: string | undefined;
}

export interface OrchestratorConfig {
  maxConcurrentTasks: number;
  defaultTimeoutMs: number;
  retry: NonNullable<TaskDocument["retry"]>;
  maxTaskHistory: number;
  resourceProbeMs: number;
  executors: Record<string, ExecutorConfig>;
  queues: Record<string, { priority: number; concurrency: number }>;
  remoteExecutors: { name: string; url: string; timeoutMs: number }[];
  fallbackExecutors: Record<string, string[]>;
  /** What was read otherwise than its words say, one sentence each. */
  notes: string[];
}

const count = () => z.int().check(z.gte(1));

const makeSchema = () =>
  z.object({
    orchestrator: z.optional(
      z.strictObject({
        maxConcurrentTasks: z.optional(count()),
        defaultTimeout: z.optional(secondsSchema()),
        retryPolicy: z.optional(taskRetrySchema()),
        maxTaskHistory: z.optional(count()),
        resourceProbeInterval: z.optional(secondsSchema()),
      }),
    ),
    executors: z.optional(
      z.record(
        z.string(),
        z.strictObject({
          module: z.optional(text()),
          function: z.optional(text()),
          timeout: z.optional(secondsSchema()),
          retry: z.optional(taskRetrySchema()),
          resources: z.optional(resourcesSchema()),
          metadata: z.optional(z.strictObject({ version: z.optional(text()) })),
          remote: z.optional(z.boolean()),
        }),
      ),
    ),
    queues: z.optional(z.record(z.string(), z.strictObject({ priority: z.int(), concurrency: count() }))),
    remoteExecutors: z.optional(
      z.array(z.strictObject({ name: text(), url: text(), timeout: z.optional(secondsSchema()) })),
    ),
    fallbackExecutors: z.optional(z.record(z.string(), z.union([text(), z.array(text())]))),
  });

/** @throws Fault `job.yaml` for YAML that cannot be read, `config.invalid` with every mistake in these parts. */
export function parseOrchestratorConfig(source: string, options: { file: string }): OrchestratorConfig {
  const yaml = parseYamlDocument(source, options.file);
  const schema = makeSchema();
  const value = recordsInCamelCase(knownKeysInCamelCase(yaml.value ?? {}, schema), schema);
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    const fault = faultOfIssues("config.invalid", issuesOf(parsed.error.issues, value, schema), yaml);
    throw fault ?? new Error("a refused config without an issue");
  }
  const {
    orchestrator = {},
    executors = {},
    queues = {},
    remoteExecutors = [],
    fallbackExecutors = {},
  } = parsed.data;
  const notes: string[] = [];
  const executorOf = (name: string, executor: NonNullable<typeof executors>[string]): ExecutorConfig => ({
    module: executor.module,
    function: executor.function,
    timeoutMs: milliseconds(executor.timeout),
    retry: retryDocument(executor.retry),
    resources: gpuMemory(name, resourcesDocument(executor.resources), notes),
    version: executor.metadata?.version,
  });
  return {
    maxConcurrentTasks: orchestrator.maxConcurrentTasks ?? 8,
    defaultTimeoutMs: milliseconds(orchestrator.defaultTimeout) ?? 30 * SECOND,
    retry: { max: 3, backoff: 2, delay: "1s", ...defined(retryDocument(orchestrator.retryPolicy)) },
    maxTaskHistory: orchestrator.maxTaskHistory ?? 1_000,
    resourceProbeMs: milliseconds(orchestrator.resourceProbeInterval) ?? 10 * SECOND,
    executors: Object.fromEntries(
      Object.entries(executors).map(([name, executor]) => [name, executorOf(name, executor)]),
    ),
    queues,
    remoteExecutors: remoteExecutors.map(({ name, url, timeout }) => ({
      name,
      url,
      timeoutMs: milliseconds(timeout) ?? 30 * SECOND,
    })),
    fallbackExecutors: Object.fromEntries(
      Object.entries(fallbackExecutors).map(([name, list]) => [name, [list].flat()]),
    ),
    notes,
  };
}

/** W3: the seed's `memory_mb` beside `gpu: true` is the card's memory. */
function gpuMemory(
  name: string,
  resources: ResourcesDocument | undefined,
  notes: string[],
): ResourcesDocument | undefined {
  if (!resources?.gpu || resources.gpuMemoryMb !== undefined || resources.memoryMb === undefined)
    return resources;
  const { memoryMb, ...rest } = resources;
  notes.push(`Executor "${name}": memory_mb beside gpu is read as GPU memory (${memoryMb} MB).`);
  return { ...rest, gpuMemoryMb: memoryMb };
}

/** Names of executors and queues are the person's; the keys below them are ours. */
function recordsInCamelCase(value: unknown, schema: ReturnType<typeof makeSchema>): unknown {
  if (typeof value !== "object" || value === null) return value;
  const { executors, queues } = schema.def.shape;
  const members = (records: unknown, member: Parameters<typeof knownKeysInCamelCase>[1]) =>
    typeof records === "object" && records !== null && !Array.isArray(records)
      ? Object.fromEntries(
          Object.entries(records).map(([name, item]) => [name, knownKeysInCamelCase(item, member)]),
        )
      : records;
  const source = value as Record<string, unknown>;
  return {
    ...source,
    ...(source.executors === undefined
      ? {}
      : { executors: members(source.executors, executors.def.innerType.def.valueType) }),
    ...(source.queues === undefined
      ? {}
      : { queues: members(source.queues, queues.def.innerType.def.valueType) }),
  };
}

function milliseconds(value: string | number | undefined): number | undefined {
  if (value === undefined) return undefined;
  return typeof value === "number" ? value * SECOND : parseDuration(value);
}

function defined<Value extends object>(value: Value | undefined): Partial<Value> {
  return Object.fromEntries(
    Object.entries(value ?? {}).filter(([, member]) => member !== undefined),
  ) as Partial<Value>;
}
