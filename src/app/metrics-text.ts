// The metrics in Prometheus' text form (version 0.0.4), as `/metrics` serves them. Pure.

import type { MetricsDocument, ModelMetrics } from "./metrics.ts";

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

function families({ nodesUp, liveRuns, overdueJobs, runs, deliveries, models }: MetricsDocument): Family[] {
  const byState = (counts: Readonly<Partial<Record<string, number>>>) =>
    Object.entries(counts).map(([state, count]): [Labels, number] => [{ state }, count ?? 0]);
  return [
    gauge("nightshift_nodes_up", "Nodes that are up.", [[{}, nodesUp]]),
    gauge("nightshift_live_runs", "Runs that are live now.", [[{}, liveRuns]]),
    gauge("nightshift_overdue_jobs", "Jobs whose slot is overdue.", [[{}, overdueJobs]]),
    gauge("nightshift_runs", "Runs in the ledger, by state.", byState(runs)),
    gauge("nightshift_deliveries", "Deliveries in the outbox, by state.", byState(deliveries)),
    ...modelFamilies(models),
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
