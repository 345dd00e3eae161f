// The one truth about a workflow document's form, before shorthands are written out. Key order is canonical.
//
// I1. Messages are `what; do this` (document-issues.ts). I2. Keys below `params`, `env`, `outputs` and `schema` are the
// person's own and keep their spelling. I3. A bare number where a duration stands is seconds (W3).

import * as z from "zod/mini";
import { parseDuration, parseInstant } from "../kernel/time.ts";
import { budgetSchema, described, retrySchema, text } from "./job-schema.ts";

const NOT_A_DURATION = "is not a duration; write 30s, 10m, or a plain number of seconds";

/** `30s`, or a number of seconds (W3). */
export const secondsSchema = () =>
  z.union(
    [
      z.number().check(z.gte(0, "is negative; write 0 or more seconds")),
      z.string().check(
        z.refine((value) => parseDuration(value) !== undefined, {
          error: (issue) => quotedNumber(issue.input) ?? NOT_A_DURATION,
        }),
      ),
    ],
    { error: () => NOT_A_DURATION },
  );

function quotedNumber(input: unknown): string | undefined {
  if (typeof input !== "string" || input.trim() === "" || !Number.isFinite(Number(input))) return undefined;
  return `is a number in quotes; write ${Number(input)}, not "${input}"`;
}

/** A task's id is a name in expressions. */
export const TASK_ID = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;
const WORKFLOW_NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;

const taskId = () =>
  z
    .string()
    .check(z.regex(TASK_ID, "is no task id; use letters, digits and _, beginning with a letter, at most 64"));
const idList = () => z.union([taskId(), z.array(taskId())]);
const textOrList = () => z.union([text(), z.array(text())]);
const freeMap = () => z.record(z.string(), z.unknown());
const texts = () => z.record(z.string(), z.string());
const count = () => z.int().check(z.gte(1));
const amount = () => z.number().check(z.gte(0));

/** The seed's names of a retry's parts are read as ours. */
export const taskRetrySchema = () => {
  const [times, policy] = retrySchema.def.options;
  const forms = [
    times,
    z.strictObject({
      ...policy.shape,
      delay: z.optional(secondsSchema()),
      maxDelay: z.optional(secondsSchema()),
      jitter: z.optional(z.boolean()),
      maxRetries: z.optional(z.int().check(z.nonnegative())),
      backoffFactor: z.optional(z.number().check(z.gte(1))),
    }),
  ] as const;
  return z.union(forms, { error: (issue) => quotedNumber(issue.input) });
};

/** `gpu: true` is one card (W3). */
export const resourcesSchema = () =>
  z.strictObject({
    cpu: z.optional(amount()),
    memoryMb: z.optional(amount()),
    gpu: z.optional(z.union([z.boolean(), z.int().check(z.nonnegative())])),
    gpuMemoryMb: z.optional(amount()),
    labels: z.optional(textOrList()),
  });

const waitSchema = () =>
  z.union([
    secondsSchema(),
    z.strictObject({
      for: z.optional(secondsSchema()),
      until: z.optional(
        z
          .string()
          .check(
            z.refine(
              (value) => parseInstant(value) !== undefined,
              "is no instant with an offset; write 2026-12-24T18:00:00Z",
            ),
          ),
      ),
    }),
  ]);

const foreachSchema = () =>
  z.strictObject({
    items: z.union([text(), z.array(z.unknown())]),
    as: z.optional(taskId()),
    max: z.optional(count()),
    failFast: z.optional(z.boolean()),
  });

const continueOnSchema = () =>
  z.strictObject({
    failure: z.optional(z.boolean()),
    skipped: z.optional(z.boolean()),
    exitCodes: z.optional(z.array(z.int().check(z.gte(1), z.lte(255)))),
  });

const makeTaskSchema = () =>
  z.strictObject({
    id: taskId(),
    description: z.optional(z.string()),
    executor: z.optional(text()),
    shell: z.optional(text()),
    script: z.optional(text()),
    agent: z.optional(z.union([text(), freeMap()])),
    http: z.optional(z.union([text(), freeMap()])),
    workflow: z.optional(text()),
    wait: z.optional(waitSchema()),
    approval: z.optional(
      z.union([text(), z.strictObject({ message: text(), timeout: z.optional(secondsSchema()) })]),
    ),
    params: z.optional(freeMap()),
    dependsOn: z.optional(idList()),
    when: z.optional(text()),
    timeout: z.optional(secondsSchema()),
    idleTimeout: z.optional(secondsSchema()),
    queueTimeout: z.optional(secondsSchema()),
    retry: z.optional(taskRetrySchema()),
    onSuccess: z.optional(idList()),
    onFailure: z.optional(idList()),
    onComplete: z.optional(idList()),
    join: z.optional(z.enum(["any", "all"])),
    continueOn: z.optional(continueOnSchema()),
    fallback: z.optional(textOrList()),
    fallbackOn: z.optional(z.array(z.enum(["offline", "failed"]))),
    effects: z.optional(z.enum(["none", "idempotent", "external"])),
    onUnknown: z.optional(z.enum(["ask", "fail", "rerun"])),
    idempotencyKey: z.optional(text()),
    foreach: z.optional(foreachSchema()),
    outputs: z.optional(texts()),
    schema: z.optional(freeMap()),
    resources: z.optional(resourcesSchema()),
    queue: z.optional(text()),
    priority: z.optional(z.int()),
    env: z.optional(texts()),
    workdir: z.optional(text()),
    environment: z.optional(z.union([text(), freeMap()])),
  });

const paramSchema = () =>
  z.strictObject({
    type: z.optional(z.enum(["string", "number", "integer", "boolean", "list", "map"])),
    default: z.optional(z.unknown()),
    enum: z.optional(z.array(z.unknown()).check(z.minLength(1, "is empty; list what is allowed"))),
    description: z.optional(z.string()),
  });

const makeSchema = () =>
  z.strictObject({
    name: described(
      "A slug, unique. Left out: the file's name.",
      z.optional(
        z
          .string()
          .check(z.regex(WORKFLOW_NAME, "is no name; use lower-case letters, digits, _ and -, at most 64")),
      ),
    ),
    description: z.optional(z.string()),
    params: described("What a run is given.", z.optional(z.record(z.string(), paramSchema()))),
    env: z.optional(texts()),
    defaults: described(
      "What tasks take that say nothing themselves.",
      z.optional(
        z.strictObject({ timeout: z.optional(secondsSchema()), retry: z.optional(taskRetrySchema()) }),
      ),
    ),
    queue: z.optional(text()),
    concurrency: described(
      "At most `max` runs of one group at once.",
      z.optional(
        z.strictObject({
          group: text(),
          max: z.optional(count()),
          onConflict: z.optional(z.enum(["queue", "skip", "cancel"])),
        }),
      ),
    ),
    timeout: described("The whole run.", z.optional(secondsSchema())),
    budget: z.optional(z.extend(budgetSchema, { spawns: z.optional(count()) })),
    tasks: described(
      "The tasks of the graph.",
      z.array(makeTaskSchema()).check(z.minLength(1, "is empty; write at least one task")),
    ),
    finally: described("Tasks that run last, whatever happened.", z.optional(idList())),
    handlers: described(
      "Tasks that run when the graph has ended so.",
      z.optional(
        z.strictObject({
          success: z.optional(idList()),
          failure: z.optional(idList()),
          cancelled: z.optional(idList()),
        }),
      ),
    ),
    outputs: described("What a run hands back: templates by name.", z.optional(freeMap())),
  });

let made: ReturnType<typeof makeSchema> | undefined;

/** Made on first use: a home without workflows pays nothing for it. */
export function workflowSchema(): ReturnType<typeof makeSchema> {
  made ??= makeSchema();
  return made;
}

/** What the schema reads, before shorthands are written out. */
export type WorkflowInput = z.infer<ReturnType<typeof makeSchema>>;
export type TaskInput = WorkflowInput["tasks"][number];
