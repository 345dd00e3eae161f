// The metrics in Prometheus' text form (version 0.0.4), as `/metrics` serves them. Pure.

import type { ExecutorMetrics, MetricsDocument, ModelMetrics, QueueMetrics } from "./metrics.ts";

type Labels = Readonly<Record<string, string>>;

interface Family {
  name: string;
  type: "gauge" | "counter";
  help: string;
  samples: readonly (readonly [labels: Labels, value: number])[];
}

/** One family after another, each with its help. */
export function metricsText(document: MetricsDocument): string {
  return families(document).map(familyText).join("");
}

function families(document: MetricsDocument): Family[] {
  const { nodesUp, liveRuns, overdueJobs, runs, deliveries } = document;
  const byState = (counts: Readonly<Partial<Record<string, number>>>) =>
    Object.entries(counts).map(([state, count]): [Labels, number] => [{ state }, count ?? 0]);
  return [
    gauge("nightshift_nodes_up", "Nodes that are up.", [[{}, nodesUp]]),
    gauge("nightshift_live_runs", "Runs that are live now.", [[{}, liveRuns]]),
    gauge("nightshift_overdue_jobs", "Jobs whose slot is overdue.", [[{}, overdueJobs]]),
    gauge("nightshift_runs", "Runs in the ledger, by state.", byState(runs)),
    gauge("nightshift_deliveries", "Deliveries in the outbox, by state.", byState(deliveries)),
    ...taskFamilies(document),
    ...modelFamilies(document.models),
  ];
}

/** Gauges: what retention folds away would make a counter fall. */
function taskFamilies({ queues, executors }: MetricsDocument): Family[] {
  const ofQueue = (value: (one: QueueMetrics) => number) =>
    queues.map((one): [Labels, number] => [{ queue: one.queue }, value(one)]);
  const ofExecutor = (value: (one: ExecutorMetrics) => number) =>
    executors.map((one): [Labels, number] => {
      const { executor, version, state } = one;
      return [{ executor, ...(version !== null && { version }), state }, value(one)];
    });
  return [
    gauge(
      "nightshift_queue_waiting",
      "Tasks that wait, by queue.",
      ofQueue((one) => one.waiting),
    ),
    gauge(
      "nightshift_queue_running",
      "Tasks that run, by queue.",
      ofQueue((one) => one.running),
    ),
    gauge(
      "nightshift_queue_width",
      "How many may run at once, by queue.",
      queues.flatMap(({ queue, width }): [Labels, number][] => (width === null ? [] : [[{ queue }, width]])),
    ),
    gauge(
      "nightshift_executor_attempts",
      "Attempts of tasks that ended within the last hour, by executor and state.",
      ofExecutor(({ attempts }) => attempts),
    ),
    gauge(
      "nightshift_executor_seconds",
      "What those took together, from start to end.",
      ofExecutor(({ totalMs }) => totalMs / 1_000),
    ),
    gauge(
      "nightshift_executor_longest_seconds",
      "What the longest of them took.",
      ofExecutor(({ longestMs }) => longestMs / 1_000),
    ),
  ];
}

function modelFamilies(models: readonly ModelMetrics[]): Family[] {
  const of = (value: (one: ModelMetrics) => number) =>
    models.map((one): [Labels, number] => [labelsOf(one), value(one)]);
  const tokens = models.flatMap((one): [Labels, number][] => [
    [{ ...labelsOf(one), direction: "in" }, one.inputTokens],
    [{ ...labelsOf(one), direction: "out" }, one.outputTokens],
  ]);
  return [
    counter(
      "nightshift_model_calls_total",
      "Logical calls of models.",
      of(({ calls }) => calls),
    ),
    counter(
      "nightshift_model_attempts_total",
      "Attempts those calls took.",
      of(({ attempts }) => attempts),
    ),
    counter("nightshift_model_tokens_total", "Tokens, in and out.", tokens),
    counter(
      "nightshift_model_cost_usd_total",
      "What priced calls cost.",
      of(({ costUsd }) => costUsd),
    ),
    counter(
      "nightshift_model_seconds_total",
      "Time spent in calls.",
      of((one) => (one.meanMs * one.calls) / 1_000),
    ),
  ];
}

function labelsOf({ model, provider, role, end, errorClass }: ModelMetrics): Labels {
  return { model, provider, role, end, ...(errorClass !== null && { error: errorClass }) };
}

function gauge(name: string, help: string, samples: Family["samples"]): Family {
  return { name, type: "gauge", help, samples };
}

function counter(name: string, help: string, samples: Family["samples"]): Family {
  return { name, type: "counter", help, samples };
}

function familyText({ name, type, help, samples }: Family): string {
  const lines = samples.map(([labels, value]) => `${name}${labelText(labels)} ${value}`);
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ""].join("\n");
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

/** @source Prometheus' exposition format: backslash, quote and line feed are escaped in a label's value. */
function escaped(value: string): string {
  return value.replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n");
}
