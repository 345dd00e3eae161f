// The form of nodes, status, diagnosis, health and errors on the wire.

import * as z from "zod/mini";
import { type Diagnosis, FINDING_CODES } from "../../app/diagnosis.ts";
import { JOB_STATES, type NodeDocument } from "../../app/documents.ts";
import type { HealthDocument } from "../../app/health.ts";
import type { StatusDocument } from "../../app/status.ts";
import type { ErrorDocument } from "../errors.ts";
import { instant } from "./runs.ts";

const text = () => z.string();

export const nodeSchema = z.strictObject({
  id: text(),
  name: text(),
  state: z.enum(["up", "stopping", "stopped", "lost"]),
  version: text(),
  pid: z.int(),
  hostId: text(),
  url: z.nullable(text()),
  startedAt: instant(),
  lastSeenAt: instant(),
  lastPassAt: z.nullable(instant()),
  clockOffsetMs: z.number(),
  maxParallelRuns: z.int(),
  liveRuns: z.int(),
  lastError: z.nullable(text()),
}) satisfies z.ZodMiniType<NodeDocument>;

export const statusSchema = z.strictObject({
  home: text(),
  store: text(),
  now: instant(),
  nodes: z.array(nodeSchema),
  jobs: z.partialRecord(z.enum(JOB_STATES), z.int()),
  attention: z.array(
    z.strictObject({
      jobId: text(),
      state: z.enum(JOB_STATES),
      reason: z.nullable(text()),
      source: text(),
    }),
  ),
  upcoming: z.array(z.strictObject({ jobId: text(), slot: instant() })),
  overdue: z.array(z.strictObject({ jobId: text(), dueAt: instant() })),
  runs: z.record(text(), z.int()),
  deliveries: z.record(text(), z.int()),
  unusedFiles: z.array(z.strictObject({ source: text(), why: text() })),
}) satisfies z.ZodMiniType<StatusDocument>;

export const diagnosisSchema = z.strictObject({
  isHealthy: z.boolean(),
  findings: z.array(
    z.strictObject({
      code: z.enum(FINDING_CODES),
      what: text(),
      todo: text(),
    }),
  ),
  checked: z.array(text()),
}) satisfies z.ZodMiniType<Diagnosis>;

/** What `/healthz` answers. */
export const healthSchema = z.strictObject({
  status: z.enum(["ok", "stuck", "stopping", "storeUnavailable"]),
  nodeId: text(),
  version: text(),
  startedAt: z.nullable(instant()),
  lastPassAt: z.nullable(instant()),
  liveRuns: z.nullable(z.int()),
}) satisfies z.ZodMiniType<HealthDocument>;

/** The same document as `--json` prints. */
export const errorSchema = z.strictObject({
  error: z.strictObject({
    code: text(),
    message: text(),
    hint: text(),
    place: z.nullable(
      z.strictObject({
        file: z.exactOptional(text()),
        line: z.exactOptional(z.int()),
        column: z.exactOptional(z.int()),
      }),
    ),
    details: z.nullable(z.record(text(), z.unknown())),
  }),
}) satisfies z.ZodMiniType<ErrorDocument>;
