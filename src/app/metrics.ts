// What is counted: runs, deliveries, nodes, and how models did. Sums over bounded words, never content (law 7).

import { formatInstant, HOUR, type Instant } from "../kernel/time.ts";
import type { ExecutorSum } from "../records/ledger/metrics.ts";
import type { ModelCallSum } from "../records/ledger/model-calls.ts";
import { mergeModelCalls } from "../records/model-call-sums.ts";
import type { Context } from "./context.ts";
import { isUp } from "./nodes.ts";

export interface ModelMetrics {
  model: string;
  provider: string;
  role: string;
  end: string;
  errorClass: string | null;
  calls: number;
  attempts: number;
  inputTokens: number;
  outputTokens: number;
  cachedInputTokens: number;
  costUsd: number;
  /** Calls of models without a price: their cost is not in the sum. */
  unpricedCalls: number;
  /** Mean of a call, and to its first content; null where none came. */
  meanMs: number;
  meanFirstTokenMs: number | null;
}

export interface MetricsDocument {
  now: string;
  /** From here on model calls are counted. */
  since: string;
  nodesUp: number;
  liveRuns: number;
  runs: Readonly<Partial<Record<string, number>>>;
  deliveries: Readonly<Record<string, number>>;
  overdueJobs: number;
  queues: QueueMetrics[];
  /** From here on attempts of tasks are counted. */
  tasksSince: string;
  executors: ExecutorMetrics[];
  models: ModelMetrics[];
}

export interface QueueMetrics {
  queue: string;
  waiting: number;
  running: number;
  /** Null = it has none. */
  width: number | null;
}

/** Attempts that had a row from their beginning: functions that a workflow calls at once are not among them. */
export interface ExecutorMetrics {
  executor: string;
  /** Null = no version was chosen: the newest did it. */
  version: string | null;
  state: string;
  attempts: number;
  /** From start to end, of all of them together. */
  totalMs: number;
  meanMs: number;
  longestMs: number;
}

/** `since` counts whole hours of model calls; `tasksSince` (default: `since`) attempts of tasks. */
export async function readMetrics(
  context: Context,
  { since, tasksSince = since }: { since: Instant; tasksSince?: Instant },
): Promise<MetricsDocument> {
  const now = await context.ledger.now();
  const [nodes, counts, sums, queues, executors] = await Promise.all([
    context.ledger.nodes(),
    context.ledger.counts(now),
    context.ledger.modelCallSums({ since: since - (since % HOUR) }),
    context.ledger.queueCounts(),
    context.ledger.executorSums({ since: tasksSince }),
  ]);
  const up = nodes.filter((node) => isUp(node, context, now));
  return {
    now: formatInstant(now),
    since: formatInstant(since - (since % HOUR)),
    nodesUp: up.length,
    liveRuns: up.reduce((sum, { liveRuns }) => sum + liveRuns, 0),
    runs: counts.runs,
    deliveries: counts.deliveries,
    overdueJobs: counts.overdueJobs.length,
    queues: queueMetrics(context, queues),
    tasksSince: formatInstant(tasksSince),
    executors: executors.map(executorMetrics),
    models: totals(sums).map(modelMetrics),
  };
}

/** Queues of the config, and whatever else something waits in. */
function queueMetrics({ config }: Context, counts: readonly Omit<QueueMetrics, "width">[]): QueueMetrics[] {
  const names = new Set([...config.queues.map(({ name }) => name), ...counts.map(({ queue }) => queue)]);
  return [...names].sort().map((queue) => {
    const { waiting = 0, running = 0 } = counts.find((one) => one.queue === queue) ?? {};
    return {
      queue,
      waiting,
      running,
      width: config.queues.find(({ name }) => name === queue)?.width ?? null,
    };
  });
}

function executorMetrics({ version, ...sum }: ExecutorSum): ExecutorMetrics {
  return { ...sum, version: version ?? null, meanMs: Math.round(sum.totalMs / sum.attempts) };
}

/** Over all hours: one sum for each group. */
function totals(sums: readonly ModelCallSum[]): ModelCallSum[] {
  return mergeModelCalls(sums.map((sum) => ({ ...sum, hour: 0 })));
}

function modelMetrics(sum: ModelCallSum): ModelMetrics {
  const { model, provider, role, end, calls, attempts, inputTokens, outputTokens, cachedInputTokens } = sum;
  return {
    ...{ model, provider, role, end, errorClass: sum.errorClass ?? null },
    ...{ calls, attempts, inputTokens, outputTokens, cachedInputTokens },
    costUsd: sum.microUsd / 1_000_000,
    unpricedCalls: sum.unpricedCalls,
    meanMs: Math.round(sum.totalMs / sum.calls),
    meanFirstTokenMs: sum.firstTokens === 0 ? null : Math.round(sum.firstTokenMs / sum.firstTokens),
  };
}
