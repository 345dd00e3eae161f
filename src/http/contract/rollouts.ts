// The form of rollouts on the wire.

import * as z from "zod/mini";
import type { RolloutDocument } from "../../app/executors/rollouts.ts";
import { ROLLOUT_STATES } from "../../records/rollout.ts";
import { instant } from "./runs.ts";

const text = () => z.string();
const percent = () => z.int().check(z.gte(0), z.lte(100));

const boundsSchema = z.strictObject({
  minSamples: z.int().check(z.gte(1), z.lte(1_000)),
  maxMoreFailures: z.number().check(z.gte(0), z.lte(100)),
  maxSlowdown: z.number().check(z.gte(1), z.lte(100)),
});

export const rolloutSchema = z.strictObject({
  executor: text(),
  state: z.enum(ROLLOUT_STATES),
  version: text(),
  baseline: text(),
  traffic: percent(),
  bounds: boundsSchema,
  startedAt: instant(),
  startedBy: text(),
  changedAt: instant(),
  changedBy: text(),
  reason: z.nullable(text()),
  attempts: z.array(
    z.strictObject({
      version: text(),
      attempts: z.int(),
      failures: z.int(),
      failureRate: z.number(),
      medianMs: z.nullable(z.number()),
    }),
  ),
}) satisfies z.ZodMiniType<RolloutDocument>;

export const rolloutRequestSchema = z.strictObject({
  version: text(),
  traffic: percent(),
  baseline: z.optional(text()),
  bounds: z.optional(z.partial(boundsSchema)),
});
