// The form of jobs on the wire: what a person may write (records/job-schema.ts), and what is answered.

import * as z from "zod/mini";
import type { JobShowDocument } from "../../app/documents.ts";
import { JOB_STATES } from "../../app/documents.ts";
import type { PlanDocument } from "../../app/downtime-plan.ts";
import type { JobEcho } from "../../app/job-echo.ts";
import type { TransferResult } from "../../app/job-transfer.ts";
import type { SchedulePreview } from "../../app/preview.ts";
import { jobSchema } from "../../records/job-schema.ts";
import { instant } from "./runs.ts";

const text = () => z.string();
const maybeText = () => z.optional(text());
const freeMap = () => z.record(text(), z.unknown());
const address = { chat: maybeText(), thread: maybeText() };
const targets = z.optional(
  z.array(z.union([text(), z.strictObject({ platform: text(), ...address, url: maybeText() })])),
);

/** Answers hold documents with every shorthand written out. */
const writtenOut = {
  ...jobSchema.shape,
  id: text(),
  run: z.strictObject({
    script: maybeText(),
    args: z.optional(z.array(text())),
    agent: z.optional(freeMap()),
    workflow: z.optional(freeMap()),
    task: z.optional(z.strictObject({ executor: text(), params: z.optional(freeMap()), queue: maybeText() })),
  }),
  on: z.optional(z.array(z.strictObject({ webhook: text() }))),
  deliver: targets,
  onFailure: targets,
  retry: z.optional(
    z.strictObject({
      max: z.optional(z.int()),
      delay: maybeText(),
      backoff: z.optional(z.number()),
      maxDelay: maybeText(),
      on: z.optional(z.array(text())),
      notOn: z.optional(z.array(text())),
    }),
  ),
  origin: z.optional(z.strictObject({ platform: text(), ...address })),
};

const shownShape = {
  ...writtenOut,
  timezone: text(),
  state: z.enum(JOB_STATES),
  stateReason: z.nullable(text()),
  version: z.int(),
  source: text(),
  next: z.nullable(instant()),
  lastRun: z.nullable(
    z.strictObject({
      id: text(),
      state: text(),
      reason: z.nullable(text()),
      startedAt: z.nullable(instant()),
      finishedAt: z.nullable(instant()),
    }),
  ),
};

/** The person's document, plus what the machine knows. */
export const jobShowSchema = z.strictObject(shownShape) satisfies z.ZodMiniType<JobShowDocument>;

/** What creating or changing a job says back (law 10). */
export const jobEchoSchema = z.strictObject({
  ...shownShape,
  understood: text(),
  nextSlots: z.array(instant()),
  deliverTo: z.array(text()),
  warnings: z.array(text()),
}) satisfies z.ZodMiniType<JobEcho>;

export const jobRemovedSchema = z.strictObject({ id: text(), keptAt: z.nullable(text()) });

export const jobNextSchema = z.strictObject({ id: text(), next: z.array(instant()) });

/** One document of a bulk change. */
export const transferSchema = z.strictObject({
  id: text(),
  action: z.enum(["created", "changed", "unchanged", "refused"]),
  warnings: z.array(text()),
  error: z.nullable(text()),
}) satisfies z.ZodMiniType<TransferResult>;

export const scheduleSchema = z.strictObject({
  kind: z.enum(["at", "every", "cron"]),
  display: text(),
  timezone: text(),
  next: z.array(instant()),
}) satisfies z.ZodMiniType<SchedulePreview>;

export const planSchema = z.strictObject({
  from: instant(),
  until: instant(),
  down: z.array(z.strictObject({ from: instant(), to: instant() })),
  slots: z.array(
    z.strictObject({
      jobId: text(),
      first: instant(),
      last: instant(),
      count: z.int(),
      fate: text(),
      reason: z.nullable(text()),
      startsAt: z.nullable(instant()),
      lateMs: z.nullable(z.number()),
    }),
  ),
}) satisfies z.ZodMiniType<PlanDocument>;
