// The one truth about a job document's form: the codec, the hints and the JSON Schema for editors are made from it.
//
// I1. Key order here is the canonical order in which new files are written (DESIGN §6).
// I2. Messages are `what; do this` (document-issues.ts).

import * as z from "zod/mini";
import { parseDuration, parseInstant, SECOND } from "../kernel/time.ts";
import { EXECUTOR_NAME, NOT_A_NAME } from "./executor-name.ts";
import { isFilePattern, isTopicFilter } from "./trigger.ts";

/** Gives a schema the text an editor shows. */
export function described<Schema extends z.ZodMiniType>(text: string, schema: Schema): Schema {
  z.globalRegistry.add(schema, { description: text });
  return schema;
}

/** A text with something in it. */
export const text = () => z.string().check(z.minLength(1, "is empty; write something or remove the key"));

/** `30s`, `10m`, `1h30m`: kernel/time.ts reads it. */
export const durationSchema = z
  .string({ error: () => "needs a unit; write 30s, 10m or 1h30m" })
  .check(
    z.refine((value) => parseDuration(value) !== undefined, "is not a duration; write 30s, 10m or 1h30m"),
  );

/** A duration, or 0 for none. */
export const limit = z.union([z.literal(0), durationSchema], {
  error: () => "is not a limit; write a duration such as 30m, or 0 for none",
});

/** A secret stands in `.env`, never here. */
export const secretReference = () =>
  z
    .string()
    .check(
      z.regex(
        /^\$\{env:[A-Za-z_][A-Za-z0-9_]*\}$/,
        "is no reference; write ${env:NAME} and put the value into .env",
      ),
    );

const chatId = z.union([z.string(), z.number()]);

export const targetSchema = z.union([
  text(),
  z.strictObject({
    platform: text(),
    chat: z.optional(chatId),
    thread: z.optional(chatId),
    url: z.optional(text()),
  }),
]);

export const targetsSchema = z.union([targetSchema, z.array(targetSchema)]);

export const timeoutSchema = z.strictObject(
  { idle: z.optional(limit), total: z.optional(limit) },
  {
    error: (issue) =>
      issue.code === "invalid_type"
        ? "is no map; write {idle: 30m} for silence or {total: 30m} for the whole run"
        : undefined,
  },
);

const retryWord = z
  .string()
  .check(
    z.regex(
      /^(failed|timeout|unavailable|exit:\d{1,3})$/,
      "is no cause; write failed, timeout, unavailable or exit:N",
    ),
  );
const retryWords = z.union([retryWord, z.array(retryWord)]);

export const retrySchema = z.union([
  z.int().check(z.nonnegative()),
  z.strictObject({
    max: z.optional(z.int().check(z.nonnegative())),
    delay: z.optional(durationSchema),
    backoff: z.optional(z.number().check(z.gte(1))),
    maxDelay: z.optional(durationSchema),
    on: z.optional(retryWords),
    notOn: z.optional(retryWords),
  }),
]);

export const catchUpSchema = z.enum(["skip", "latest", "all"]);
export const overlapSchema = z.enum(["skip", "queue", "allow", "replace"]);

const scheduleSchema = z.union(
  [
    text(),
    z.strictObject({ kind: z.literal("at"), at: text() }),
    z.strictObject({ kind: z.literal("every"), every: durationSchema, anchor: z.optional(text()) }),
    z.strictObject({ kind: z.literal("cron"), cron: text() }),
  ],
  {
    error: (issue) =>
      typeof issue.input === "number"
        ? `is a number without a unit; write "in ${issue.input}m" or "every ${issue.input}m"`
        : undefined,
  },
);

const freeMap = z.record(z.string(), z.unknown());
const textList = z.array(text());
const textOrList = z.union([text(), textList]);

/** What a run and everything under it may spend (S3). */
export const budgetSchema = z.strictObject({
  tokens: z.optional(z.int().check(z.positive())),
  usd: z.optional(z.number().check(z.positive())),
});

/** A preset (`claude`, `codex`, `gemini`, `opencode`) or a command of one's own. */
const runnerSchema = z.union([
  z.enum(["claude", "codex", "gemini", "opencode"]),
  z.strictObject({
    command: textOrList,
    promptBy: z.optional(z.enum(["stdin", "argument"])),
  }),
]);

/** An agent's work without its shorthand, as written under `run.agent`. */
export const agentObjectSchema = z.strictObject({
  prompt: z.optional(z.string()),
  model: z.optional(
    z.union([text(), z.strictObject({ provider: text(), id: text(), baseUrl: z.optional(text()) })]),
  ),
  skills: z.optional(textOrList),
  toolsets: z.optional(textOrList),
  maxTurns: z.optional(z.int().check(z.positive())),
  script: z.optional(text()),
  scriptRequired: z.optional(z.boolean()),
  contextFrom: z.optional(textOrList),
  workdir: z.optional(text()),
  memory: z.optional(z.literal(false, { error: () => "is not available to scheduled agents; remove it" })),
  reasoningEffort: z.optional(z.enum(["none", "minimal", "low", "medium", "high"])),
  budget: z.optional(budgetSchema),
  runner: z.optional(runnerSchema),
});

const agentSchema = z.union([text(), agentObjectSchema]);

const runSchema = z.union([
  text(),
  textList,
  z.strictObject({
    script: z.optional(text()),
    args: z.optional(z.array(z.string())),
    agent: z.optional(agentSchema),
    workflow: z.optional(
      z.union([
        text(),
        z.strictObject({
          file: z.optional(text()),
          inline: z.optional(freeMap),
          params: z.optional(freeMap),
        }),
      ]),
    ),
    task: z.optional(
      z.union([
        text(),
        z.strictObject({ executor: text(), params: z.optional(freeMap), queue: z.optional(text()) }),
      ]),
    ),
  }),
]);

/** A name is part of paths and keys. */
const TRIGGER_NAME = /^[A-Za-z0-9](?:[\w.-]{0,62}[A-Za-z0-9])?$/;

export const triggerName = z
  .string()
  .check(z.regex(TRIGGER_NAME, "is no name; write letters, digits, ., - and _, at most 64"));

/** What sets a job off besides its schedule (W7): one key a kind. */
const triggerForms = [
  z.strictObject({ webhook: triggerName }),
  z.strictObject({
    mqtt: text().check(
      z.refine(isTopicFilter, "is no topic; + stands for one level, # for all that follow it"),
    ),
    qos: z.optional(
      z
        .int()
        .check(z.refine((value) => value >= 0 && value <= 2, "is no quality of service; write 0, 1 or 2")),
    ),
    url: z.optional(z.url({ protocol: /^(mqtts?|wss?)$/ })),
    username: z.optional(text()),
    password: z.optional(secretReference()),
  }),
  z.strictObject({
    watch: text().check(
      z.refine(
        isFilePattern,
        "is no path of files; write /data/in/*.csv, or add every: 1m to ask the executor of that name",
      ),
    ),
    settle: z.optional(durationSchema),
  }),
  z.strictObject({
    watch: z.string().check(z.regex(EXECUTOR_NAME, NOT_A_NAME)),
    every: durationSchema.check(
      z.refine((text) => (parseDuration(text) ?? SECOND) >= SECOND, "is too often; write 1s or more"),
    ),
    params: z.optional(freeMap),
  }),
] as const;

/** An id is part of paths and keys: lower-case letters, digits, `-` and `_`, at most 64. */
export const JOB_ID = /^[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?$/;

/** A job document, as a person may write it in YAML or JSON. */
export const jobSchema = z.strictObject({
  id: described(
    "A slug, unique, never changes. Left out: the file's name.",
    z.optional(
      z.string().check(z.regex(JOB_ID, "is no slug; write lower-case letters, digits, - and _, at most 64")),
    ),
  ),
  name: described("A title for people.", z.optional(text())),
  description: described("What this job is for.", z.optional(z.string())),
  schedule: described(
    'When: "every 5m", "in 30m", "weekdays at 18:00", a cron expression in quotes, or {kind: …}. Left out: by hand.',
    z.optional(scheduleSchema),
  ),
  timezone: described("IANA zone of the schedule, e.g. Europe/Berlin.", z.optional(text())),
  on: described(
    "What sets it off besides its schedule: {webhook: NAME}, {mqtt: TOPIC}, {watch: PATH}, {watch: EXECUTOR, every: 1m}, or a list.",
    z.optional(z.union([...triggerForms, z.array(z.union(triggerForms))])),
  ),
  run: described("Exactly one kind of work: script, agent, workflow or task. A text is a script.", runSchema),
  deliver: described(
    'Where the result goes: "origin", "local", "telegram:-1001:17", "webhook:NAME", …; none or [] = nowhere.',
    z.optional(targetsSchema),
  ),
  onFailure: described("Where alerts go. Left out: as deliver; [] = none.", z.optional(targetsSchema)),
  environment: described("Where commands run: a name or a map.", z.optional(z.union([text(), freeMap]))),
  timeout: described(
    "Limits of silence (idle) and of the whole run (total); 0 = off.",
    z.optional(timeoutSchema),
  ),
  catchUp: described("What to do with slots that are late beyond their grace.", z.optional(catchUpSchema)),
  catchUpLimit: described("Most slots that catchUp: all runs.", z.optional(z.int().check(z.positive()))),
  overlap: described("What to do when the job still runs.", z.optional(overlapSchema)),
  effects: described(
    "What a repetition would mean outside, and so what a crash means.",
    z.optional(z.enum(["none", "idempotent", "external"])),
  ),
  retry: described(
    "Further attempts after a failure or a time-out. A number is max.",
    z.optional(retrySchema),
  ),
  autoPause: described(
    "Failures in a row after which the job is paused until somebody resumes it.",
    z.optional(z.int().check(z.positive())),
  ),
  jitter: described("Spreads starts, at most half the smallest gap.", z.optional(durationSchema)),
  repeat: described("How many slots run in all.", z.optional(z.int().check(z.positive()))),
  until: described(
    "No slot after this instant.",
    z.optional(
      z
        .string()
        .check(
          z.refine(
            (value) => parseInstant(value) !== undefined,
            "is no instant with an offset; write 2026-12-24T18:00:00Z",
          ),
        ),
    ),
  ),
  env: described(
    "Further environment variables of the command.",
    z.optional(z.record(z.string(), z.string())),
  ),
  workdir: described("Working directory. Left out: a fresh one for the run.", z.optional(text())),
  enabled: described("false = no slots are due.", z.optional(z.boolean())),
  origin: described(
    "Where the request came from, written by the surface that created the job.",
    z.optional(z.strictObject({ platform: text(), chat: z.optional(chatId), thread: z.optional(chatId) })),
  ),
});

/** What the schema reads, before shorthands are written out. */
export type JobInput = z.infer<typeof jobSchema>;
