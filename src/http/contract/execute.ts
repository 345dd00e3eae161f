// The form of tasks that another machine's node has done here.

import * as z from "zod/mini";
import type { ExecuteRequest } from "../../records/remote.ts";

const count = () => z.int().check(z.gte(1));
const amount = () => z.number().check(z.nonnegative());

export const executeRequestSchema = z.strictObject({
  executor: z.string().check(z.minLength(1)),
  version: z.optional(z.string()),
  params: z._default(z.record(z.string(), z.unknown()), {}),
  env: z.optional(z.record(z.string(), z.string())),
  resources: z.optional(
    z.strictObject({
      cpu: z.optional(amount()),
      memoryMb: z.optional(amount()),
      gpu: z.optional(z.int().check(z.nonnegative())),
      gpuMemoryMb: z.optional(amount()),
      labels: z.optional(z.array(z.string())),
    }),
  ),
  idempotencyKey: z.string().check(z.minLength(1), z.maxLength(2_000)),
  attempt: z.optional(count()),
  timeoutMs: z.optional(count()),
  leaseMs: z.optional(z.int().check(z.gte(1_000), z.lte(3_600_000))),
  run: z.optional(z.string()),
  task: z.optional(z.string()),
}) satisfies z.ZodMiniType<ExecuteRequest>;
