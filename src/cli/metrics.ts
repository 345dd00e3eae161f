// `metrics`: what was counted; `metrics dump`: the same as /metrics serves it.

import { type MetricsDocument, readMetrics } from "../app/metrics.ts";
import { metricsText } from "../app/metrics-text.ts";
import { Fault } from "../kernel/errors.ts";
import { DAY } from "../kernel/time.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { duration } from "./format.ts";
import { print, table } from "./io.ts";
import { instantOption } from "./options.ts";

export const metrics: RunCommand = async (call) => {
  const { io, options, open, args } = call;
  const [form] = args;
  if (form !== undefined && form !== "dump") {
    throw new Fault("input.usage", `"${form}" is no form of metrics.`, { hint: "Write nothing, or dump." });
  }
  const context = await open();
  const now = context.clock.now();
  const document = await readMetrics(context, {
    since: instantOption(options, "since", now) ?? now - 30 * DAY,
  });
  print(io, document, () => (form === "dump" ? metricsText(document) : text(document)));
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
  return [
    `nodes up    ${document.nodesUp}, with ${document.liveRuns} live runs`,
    `runs        ${counts(document.runs)}`,
    `deliveries  ${counts(document.deliveries)}`,
    ...(models.length > 0
      ? ["", table(["MODEL", "ROLE", "END", "CALLS", "IN", "OUT", "COST", "MEAN", "FIRST TOKEN"], models)]
      : []),
  ].join("\n");
}
