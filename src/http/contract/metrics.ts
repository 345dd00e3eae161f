// The form of what is counted, on the wire.

import * as z from "zod/mini";
import type { MetricsDocument } from "../../app/metrics.ts";
import { instant } from "./runs.ts";

const text = () => z.string();
const count = () => z.int();

export const metricsSchema = z.strictObject({
  now: instant(),
  since: instant(),
  nodesUp: count(),
  liveRuns: count(),
  runs: z.record(text(), count()),
  deliveries: z.record(text(), count()),
  overdueJobs: count(),
  queues: z.array(
    z.strictObject({ queue: text(), waiting: count(), running: count(), width: z.nullable(count()) }),
  ),
  tasksSince: instant(),
  executors: z.array(
    z.strictObject({
      executor: text(),
      version: z.nullable(text()),
      state: text(),
      attempts: count(),
      totalMs: z.number(),
      meanMs: z.number(),
      longestMs: z.number(),
    }),
  ),
  models: z.array(
    z.strictObject({
      ...{ model: text(), provider: text(), role: text(), end: text(), errorClass: z.nullable(text()) },
      ...{ calls: count(), attempts: count(), inputTokens: count(), outputTokens: count() },
      ...{ cachedInputTokens: count(), costUsd: z.number(), unpricedCalls: count() },
      ...{ meanMs: z.number(), meanFirstTokenMs: z.nullable(z.number()) },
    }),
  ),
}) satisfies z.ZodMiniType<MetricsDocument>;

/** A line of the node's own log: its event's fields beside these. */
export const logLinesSchema = z.array(
  z.looseObject({ at: text(), level: z.enum(["debug", "info", "warn", "error"]), event: text() }),
);
