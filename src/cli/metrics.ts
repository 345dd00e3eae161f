// `metrics`: what was counted, for people, programs or Prometheus; `metrics dump`: what the store and the nodes hold.

import { type MetricsDocument, readMetrics } from "../app/metrics.ts";
import { dumpMetrics, type MetricsDumpDocument } from "../app/metrics-dump.ts";
import { metricsText } from "../app/metrics-text.ts";
import { Fault } from "../kernel/errors.ts";
import { DAY } from "../kernel/time.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { duration } from "./format.ts";
import { print, table } from "./io.ts";
import { instantOption, isSet } from "./options.ts";

export const metrics: RunCommand = async (call) => {
  const { io, options, open, args } = call;
  const [form] = args;
  if (form !== undefined && form !== "dump") {
    throw new Fault("input.usage", `"${form}" is no form of metrics.`, { hint: "Write nothing, or dump." });
  }
  const isForPrometheus = isSet(options, "prometheus");
  if (form === "dump" && (isForPrometheus || options.since !== undefined))
    throw new Fault("input.usage", "a dump is of this moment and for people or programs.", {
      hint: "Write metrics dump, with --json for a program.",
    });
  const context = await open();
  if (form === "dump") {
    const dump = await dumpMetrics(context);
    print(io, dump, () => dumpText(dump));
    return EXIT.ok;
  }
  const now = context.clock.now();
  const document = await readMetrics(context, {
    since: instantOption(options, "since", now) ?? now - 30 * DAY,
  });
  if (isForPrometheus) io.out(metricsText(document).trimEnd());
  else print(io, document, () => text(document));
  return EXIT.ok;
};

function text(document: MetricsDocument): string {
  const counts = (of: Readonly<Partial<Record<string, number>>>) =>
    Object.entries(of)
      .map(([state, count]) => `${count} ${state}`)
      .join(", ") || "none";
  const models = document.models.map((one) => [
    one.model,
    one.role,
    one.errorClass === null ? one.end : `${one.end} (${one.errorClass})`,
    String(one.calls),
    String(one.inputTokens),
    String(one.outputTokens),
    one.unpricedCalls === one.calls ? "–" : `$${one.costUsd.toFixed(4)}`,
    duration(one.meanMs),
    duration(one.meanFirstTokenMs),
  ]);
  const executors = document.executors.map((one) => [
    one.executor,
    one.version ?? "–",
    one.state,
    String(one.attempts),
    duration(one.meanMs),
    duration(one.longestMs),
  ]);
  const queues = document.queues.map(({ queue, waiting, running, width }) => [
    ...[queue, String(waiting), String(running)],
    width === null ? "–" : String(width),
  ]);
  return [
    `nodes up    ${document.nodesUp}, with ${document.liveRuns} live runs`,
    `runs        ${counts(document.runs)}`,
    `deliveries  ${counts(document.deliveries)}`,
    ...(queues.length > 0 ? ["", table(["QUEUE", "WAITING", "RUNNING", "WIDTH"], queues)] : []),
    ...(executors.length > 0
      ? ["", table(["EXECUTOR", "VERSION", "END", "ATTEMPTS", "MEAN", "LONGEST"], executors)]
      : []),
    ...(models.length > 0
      ? ["", table(["MODEL", "ROLE", "END", "CALLS", "IN", "OUT", "COST", "MEAN", "FIRST TOKEN"], models)]
      : []),
  ].join("\n");
}

function dumpText({ store, nodes }: MetricsDumpDocument): string {
  const tables = store.tables.map(({ table: name, rows, bytes }) => [
    ...[name, String(rows)],
    bytes === null ? "–" : size(bytes),
  ]);
  return [
    `store ${store.engine}, ${size(store.totalBytes)}`,
    table(["TABLE", "ROWS", "SIZE"], tables),
    ...nodes.map(({ name, memory }) => {
      if (memory === null) return `\nnode ${name}: it has not measured itself yet`;
      const { at, rssBytes, heapUsedBytes, heapTotalBytes, externalBytes, counts } = memory;
      const pieces = Object.entries(counts).map(([what, count]) => `${what} ${count}`);
      return [
        `\nnode ${name} at ${at}`,
        `  resident  ${size(rssBytes)}`,
        `  heap      ${size(heapUsedBytes)} of ${size(heapTotalBytes)}, and ${size(externalBytes)} beside it`,
        `  holds     ${pieces.join(", ")}`,
      ].join("\n");
    }),
  ].join("\n");
}

/** `12.3 MB`, `4 kB`. */
function size(bytes: number): string {
  if (bytes < 1_000_000) return `${Math.round(bytes / 1_000)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
