// What is counted, and the newest lines of the node's own log.

import { LOG_LEVELS, logRingOf } from "../../app/log-ring.ts";
import { readMetrics } from "../../app/metrics.ts";
import { DAY } from "../../kernel/time.ts";
import { logLinesSchema, metricsSchema } from "../contract/metrics.ts";
import { instantParameter, numberParameter, wordsParameter } from "../parameters.ts";
import { answer, type Route, route } from "../route.ts";

const tag = "nodes";

const metrics = route({
  method: "get",
  path: "/metrics",
  operationId: "readMetrics",
  summary:
    "What was counted: runs, deliveries, queues, executors, model calls. /metrics is the same for Prometheus.",
  tag,
  query: { since: instantParameter("Tasks and model calls since then. Default: 30 days ago.") },
  answers: { 200: { description: "The counts.", schema: metricsSchema } },
  handle: async ({ context, now, query: { since = now - 30 * DAY } }) =>
    answer(await readMetrics(context, { since })),
});

const logs = route({
  method: "get",
  path: "/logs",
  operationId: "readLogs",
  summary: "The newest lines of this node's own log, oldest first: at most the last 1,000, from its memory.",
  tag,
  query: {
    tail: numberParameter("The last so many. Default 50.", { min: 0, max: 1_000 }),
    level: wordsParameter("This level and above. Default debug.", LOG_LEVELS),
  },
  answers: { 200: { description: "Lines as they stand in the log file.", schema: logLinesSchema } },
  handle: async ({ context, query: { tail = 50, level = [] } }) => {
    const lines = logRingOf(context.log)?.lines({ tail, level: level[0] ?? "debug" }) ?? [];
    return answer(lines.map((line) => JSON.parse(line)));
  },
});

export const metricsRoutes: readonly Route[] = [metrics, logs];
