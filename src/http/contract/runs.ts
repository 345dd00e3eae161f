// The form of runs and deliveries on the wire. Typed against app/documents.ts, so the two cannot drift apart.

import * as z from "zod/mini";
import type { AuditDocument, AuditFindingDocument } from "../../app/audit.ts";
import type { DeliveryDocument, DeliverySummary, EventDocument, RunDocument } from "../../app/documents.ts";
import type { Explanation } from "../../app/explain.ts";
import type { RunTimes } from "../../app/run-times.ts";
import type { RunTreeDocument } from "../../app/runs.ts";
import type { RunShowDocument, TurnDocument } from "../../app/turn-documents.ts";
import type { Media } from "../../records/media.ts";
import type { Outcome, Usage } from "../../records/outcome.ts";
import { TRIGGER_KINDS, type TriggerEventDocument } from "../../records/trigger.ts";

/** ISO-8601 in UTC (T1). */
export const instant = () => z.string().check(z.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/));
const orNull = <Schema extends z.ZodMiniType>(schema: Schema) => z.nullable(schema);
const count = () => z.int().check(z.nonnegative());
const maybe = z.exactOptional;

const mediaSchema = z.strictObject({
  file: z.string(),
  name: z.string(),
  kind: z.enum(["image", "video", "audio", "file"]),
  contentType: z.string(),
  bytes: count(),
  sha256: z.string(),
  caption: maybe(z.string()),
}) satisfies z.ZodMiniType<Media>;

const outcomeParts = {
  output: maybe(z.string()),
  isTruncated: maybe(z.boolean()),
  attachments: maybe(z.array(z.strictObject({ path: z.string(), caption: z.optional(z.string()) }))),
  media: maybe(
    z.strictObject({
      kept: z.array(mediaSchema),
      refused: z.array(z.strictObject({ path: z.string(), why: z.string() })),
    }),
  ),
};

const outcomeSchema = z.union([
  z.strictObject({
    ...outcomeParts,
    state: z.literal("succeeded"),
    output: z.string(),
    isSilent: z.boolean(),
    reason: maybe(z.string()),
    result: maybe(z.unknown()),
    isPartial: maybe(z.boolean()),
  }),
  z.strictObject({
    ...outcomeParts,
    state: z.literal("failed"),
    error: z.strictObject({
      code: z.string(),
      message: z.string(),
      exitCode: maybe(z.int()),
      signal: maybe(z.string()),
      stderrTail: maybe(z.string()),
    }),
  }),
  z.strictObject({ ...outcomeParts, state: z.literal("cancelled"), by: z.string() }),
  z.strictObject({
    ...outcomeParts,
    state: z.literal("timedOut"),
    limit: z.enum(["idle", "total"]),
    limitMs: z.number(),
    lastActivity: z.string(),
    lastActivityAt: z.number(),
  }),
  z.strictObject({ ...outcomeParts, state: z.literal("unknown"), why: z.string() }),
]) satisfies z.ZodMiniType<Outcome>;

const usageSchema = z.strictObject({
  cpuMs: maybe(z.number()),
  maxRssBytes: maybe(z.number()),
  outputBytes: maybe(z.number()),
  tokensIn: maybe(z.number()),
  tokensOut: maybe(z.number()),
  tokensReserved: maybe(z.number()),
  costUsd: maybe(z.number()),
  modelCalls: maybe(count()),
  turns: maybe(count()),
}) satisfies z.ZodMiniType<Usage>;

const summaryShape = {
  id: z.string(),
  kind: z.string(),
  target: z.string(),
  state: z.string(),
  attempts: count(),
  receipt: orNull(
    z.strictObject({
      id: orNull(z.string()),
      status: orNull(z.int()),
      at: instant(),
      note: orNull(z.string()),
    }),
  ),
  error: orNull(z.string()),
  media: orNull(
    z.strictObject({ name: z.string(), contentType: z.string(), bytes: count(), file: z.string() }),
  ),
};

const deliverySummarySchema = z.strictObject(summaryShape) satisfies z.ZodMiniType<DeliverySummary>;

/** One message for one target. */
export const deliverySchema = z.strictObject({
  ...summaryShape,
  key: z.string(),
  runId: orNull(z.string()),
  jobId: orNull(z.string()),
  part: z.int(),
  repeatability: z.string(),
  createdAt: instant(),
  nextAttemptAt: orNull(instant()),
  finishedAt: orNull(instant()),
  body: z.string(),
}) satisfies z.ZodMiniType<DeliveryDocument>;

const runShape = {
  id: z.string(),
  dedupeKey: z.string(),
  kind: z.string(),
  jobId: orNull(z.string()),
  parentId: orNull(z.string()),
  rootId: z.string(),
  work: orNull(z.string()),
  unit: orNull(z.string()),
  queue: orNull(z.string()),
  slot: orNull(instant()),
  slotTo: orNull(instant()),
  slotCount: count(),
  trigger: z.string(),
  state: z.string(),
  reason: orNull(z.string()),
  attempt: count(),
  effects: z.string(),
  owner: orNull(z.string()),
  createdAt: instant(),
  readyAt: instant(),
  startedAt: orNull(instant()),
  finishedAt: orNull(instant()),
  durationMs: orNull(z.number()),
  latenessMs: orNull(z.number()),
  lastActivityAt: orNull(instant()),
  cancelRequestedAt: orNull(instant()),
  outcome: orNull(outcomeSchema),
  usage: orNull(usageSchema),
  outputFile: orNull(z.string()),
  version: orNull(z.int()),
  scriptSha256: orNull(z.string()),
  resolutions: z.array(
    z.strictObject({ as: z.string(), by: z.string(), note: orNull(z.string()), at: instant() }),
  ),
  deliveries: z.array(deliverySummarySchema),
};

/** One attempt: a ledger row. */
export const runSchema = z.strictObject(runShape) satisfies z.ZodMiniType<RunDocument>;

/** One turn of an agent. */
const turnSchema = z.strictObject({
  turn: z.int(),
  text: z.string(),
  tools: z.array(
    z.strictObject({
      name: z.string(),
      summary: z.string(),
      durationMs: orNull(z.number()),
      error: orNull(z.string()),
      resultBytes: orNull(z.number()),
    }),
  ),
  calls: z.array(
    z.strictObject({
      role: z.string(),
      model: z.string(),
      attempts: z.number(),
      durationMs: z.number(),
      firstTokenMs: orNull(z.number()),
      end: z.string(),
      inputTokens: z.number(),
      outputTokens: z.number(),
      costUsd: orNull(z.number()),
    }),
  ),
}) satisfies z.ZodMiniType<TurnDocument>;

/** What came from outside and set a run off (W7). */
const triggerEventSchema = z.strictObject({
  trigger: z.strictObject({ kind: z.enum(TRIGGER_KINDS), name: z.string() }),
  key: z.string(),
  receivedAt: instant(),
  contentType: orNull(z.string()),
  headers: z.record(z.string(), z.string()),
  data: z.unknown(),
}) satisfies z.ZodMiniType<TriggerEventDocument>;

/** Where a run's time went. */
const runTimesSchema = z.strictObject({
  waitingSince: orNull(instant()),
  claimedAt: orNull(instant()),
  delayedMs: z.number(),
  queuedMs: orNull(z.number()),
  waitedForResourcesMs: orNull(z.number()),
  claimedMs: orNull(z.number()),
  ranMs: orNull(z.number()),
}) satisfies z.ZodMiniType<RunTimes>;

/** One run whole: an agent's turns and where its conversation is kept. */
export const runShowSchema = z.strictObject({
  ...runShape,
  turns: z.array(turnSchema),
  trajectoryFile: orNull(z.string()),
  event: orNull(triggerEventSchema),
  times: runTimesSchema,
}) satisfies z.ZodMiniType<RunShowDocument>;

/** A run with everything below it. */
export const runTreeSchema = z.strictObject({
  ...runShape,
  turns: z.array(turnSchema),
  get children(): z.ZodMiniArray<z.ZodMiniType<RunTreeDocument>> {
    return z.array(runTreeSchema);
  },
}) satisfies z.ZodMiniType<RunTreeDocument>;

/** A live log line or a state change. */
export const eventSchema = z.strictObject({
  sequence: count(),
  at: instant(),
  kind: z.string(),
  runId: orNull(z.string()),
  jobId: orNull(z.string()),
  data: z.record(z.string(), z.unknown()),
}) satisfies z.ZodMiniType<EventDocument>;

/** Why a run is not running. */
export const explanationSchema = z.strictObject({
  runId: z.string(),
  state: z.string(),
  because: z.string(),
  sentence: z.string(),
  until: orNull(instant()),
  holder: orNull(z.string()),
}) satisfies z.ZodMiniType<Explanation>;

const findingSchema = z.strictObject({
  jobId: z.string(),
  first: instant(),
  last: instant(),
  count: count(),
  runIds: z.readonly(z.array(z.string())),
}) satisfies z.ZodMiniType<AuditFindingDocument>;

/** L9. */
export const auditSchema = z.strictObject({
  since: instant(),
  until: instant(),
  due: count(),
  accounted: count(),
  pending: count(),
  missing: z.array(findingSchema),
  doubled: z.array(findingSchema),
  early: z.array(findingSchema),
  shifted: z.array(
    z.strictObject({ jobId: z.string(), slot: instant(), recordedAt: instant(), runId: z.string() }),
  ),
  isAtLeast: z.boolean(),
  isClean: z.boolean(),
}) satisfies z.ZodMiniType<AuditDocument>;
