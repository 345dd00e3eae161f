// What is registered at one moment, by name: a run plans with it and stays with it (pinned per run).

import { parseDuration } from "../../kernel/time.ts";
import type { Config } from "../../records/config-document.ts";
import type { Executor, ExecutorRegistry } from "../../records/executor.ts";
import type { ExecutorDefaults, WorkflowDefaults } from "../../records/workflow-resolve.ts";
import { TASK_RETRY } from "../../records/workflow-resolve.ts";

/** Registrations of each name, the preferred one first. */
export type ExecutorTable = ReadonlyMap<string, readonly Executor[]>;

export async function readExecutors(registry: ExecutorRegistry): Promise<ExecutorTable> {
  const table = new Map<string, Executor[]>();
  for (const executor of await registry.list()) {
    const known = table.get(executor.name);
    if (known) known.push(executor);
    else table.set(executor.name, [executor]);
  }
  return table;
}

/** Where a task says nothing: its executor's contract, then the orchestrator's config (W3). */
export function defaultsOf(
  { orchestrator, fallbackExecutors }: Config,
  table: ExecutorTable,
): WorkflowDefaults {
  const { retry, defaultTimeoutMs } = orchestrator;
  return {
    timeoutMs: defaultTimeoutMs,
    retry: {
      ...TASK_RETRY,
      max: retry.max ?? TASK_RETRY.max,
      backoff: retry.backoff ?? TASK_RETRY.backoff,
      delayMs: durationOf(retry.delay) ?? TASK_RETRY.delayMs,
      maxDelayMs: durationOf(retry.maxDelay) ?? TASK_RETRY.maxDelayMs,
    },
    executor: (name) => contractOf(name, table, fallbackExecutors),
  };
}

function contractOf(
  name: string,
  table: ExecutorTable,
  fallbacks: Config["fallbackExecutors"],
): ExecutorDefaults | undefined {
  const contract = table.get(name)?.[0]?.contract;
  const fallback = fallbacks[name];
  if (!contract && !fallback) return undefined;
  return {
    ...(contract && { timeoutMs: contract.timeoutMs, retry: contract.retry, effects: contract.effects }),
    ...(fallback && { fallback }),
  };
}

const durationOf = (text: string | undefined) => (text === undefined ? undefined : parseDuration(text));
