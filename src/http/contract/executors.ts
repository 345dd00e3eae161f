// The form of executors on the wire.

import * as z from "zod/mini";
import type { ExecutorDocument, ExecutorListDocument } from "../../app/executors/executor-documents.ts";
import { EXECUTOR_KINDS } from "../../records/executor.ts";
import { instant } from "./runs.ts";

const text = () => z.string();
const maybe = z.exactOptional;
const freeMap = () => z.record(text(), z.unknown());

const retrySchema = z.strictObject({
  max: maybe(z.int()),
  delay: maybe(text()),
  backoff: maybe(z.number()),
  maxDelay: maybe(text()),
  on: maybe(z.array(text())),
  notOn: maybe(z.array(text())),
  jitter: maybe(z.boolean()),
});

export const executorSchema = z.strictObject({
  name: text(),
  version: text(),
  kind: z.enum(EXECUTOR_KINDS),
  description: z.nullable(text()),
  source: text(),
  isInProcess: z.boolean(),
  timeoutMs: z.nullable(z.number()),
  retry: z.nullable(retrySchema),
  resources: z.strictObject({
    cpu: z.number(),
    memoryMb: z.number(),
    gpu: z.number(),
    gpuMemoryMb: z.number(),
    labels: z.array(text()),
  }),
  effects: z.enum(["none", "idempotent", "external"]),
  shellParams: z.array(text()),
  input: z.nullable(freeMap()),
  output: z.nullable(freeMap()),
  machines: z.array(
    z.strictObject({
      url: text(),
      node: text(),
      state: z.enum(["unknown", "online", "offline"]),
      since: instant(),
      reason: z.nullable(text()),
      checkedAt: z.nullable(instant()),
      roundTripMs: z.nullable(z.number()),
      skewMs: z.nullable(z.number()),
      calls: z.int(),
    }),
  ),
}) satisfies z.ZodMiniType<ExecutorDocument>;

export const executorListSchema = z.strictObject({
  executors: z.array(executorSchema),
  problems: z.array(z.strictObject({ source: text(), error: text() })),
  notes: z.array(text()),
}) satisfies z.ZodMiniType<ExecutorListDocument>;
