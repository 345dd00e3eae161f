// The form of `executors:` in config.yaml, before shorthands are written out (executor-config.ts).
//
// I1. Exactly one kind an entry; keys that belong to another kind are refused.
// I2. Messages are `what; do this` (document-issues.ts).

import * as z from "zod/mini";
import { EXECUTOR_NAME, NOT_A_NAME } from "./executor-name.ts";
import { agentObjectSchema, described, secretReference, targetsSchema, text } from "./job-schema.ts";
import { resourcesSchema, secondsSchema, taskRetrySchema } from "./workflow-schema.ts";

const KINDS = [
  ...["module", "script", "shell", "http", "model", "agent", "workflow", "mqtt", "serial", "deliver"],
  "extends",
];

/** Keys that only some kinds know. */
const ONLY_FOR: Readonly<Record<string, readonly string[]>> = {
  function: ["module"],
  language: ["module"],
  args: ["script"],
  pass: ["script"],
  env: ["script", "shell", "agent"],
  workdir: ["script", "shell", "agent"],
  environment: ["script", "shell", "agent"],
};

const freeMap = () => z.record(z.string(), z.unknown());
const texts = () => z.record(z.string(), z.string());

const httpSchema = () =>
  z.union([
    text(),
    z.strictObject({
      method: z.optional(z.enum(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"])),
      url: text(),
      headers: z.optional(texts()),
      query: z.optional(freeMap()),
      body: z.optional(z.unknown()),
      allowPrivate: z.optional(z.array(text())),
    }),
  ]);

const modelSchema = () =>
  z.union([
    text(),
    z.strictObject({
      model: z.optional(text()),
      prompt: z.optional(text()),
      system: z.optional(text()),
      json: z.optional(z.boolean()),
      maxOutputTokens: z.optional(z.int().check(z.gte(1))),
    }),
  ]);

const mqttSchema = () =>
  z.strictObject({
    url: z.optional(text()),
    username: z.optional(text()),
    password: z.optional(secretReference()),
    topic: text(),
    payload: z.optional(z.unknown()),
    responseTopic: z.optional(text()),
    qos: z.optional(z.union([z.literal(0), z.literal(1), z.literal(2)])),
    retain: z.optional(z.boolean()),
  });

const serialSchema = () =>
  z.strictObject({
    path: text(),
    baudRate: z.optional(z.int().check(z.gte(1))),
    write: z.optional(z.string()),
    delimiter: z.optional(text()),
    lines: z.optional(z.int().check(z.nonnegative())),
  });

const deliverSchema = () =>
  z.union([
    targetsSchema,
    z.strictObject({ to: targetsSchema, body: z.optional(text()), subject: z.optional(text()) }),
  ]);

const kindShape = () => ({
  module: described("A Python module, a .ts, .js or .mjs file, or a package.", z.optional(text())),
  function: described("What it exports. Left out: the default export.", z.optional(text())),
  language: described("Left out: judged by the module.", z.optional(z.enum(["python", "javascript"]))),
  script: described("A file of executors/ or scripts/.", z.optional(text())),
  args: z.optional(z.array(z.string())),
  pass: described(
    "How a script is given its params. Left out: both.",
    z.optional(z.enum(["arguments", "environment", "both"])),
  ),
  shell: described("A command; its templates arrive as variables in quotes.", z.optional(text())),
  http: z.optional(httpSchema()),
  model: z.optional(modelSchema()),
  agent: z.optional(z.union([text(), agentObjectSchema])),
  workflow: z.optional(z.union([text(), z.strictObject({ file: text(), params: z.optional(freeMap()) })])),
  mqtt: z.optional(mqttSchema()),
  serial: z.optional(serialSchema()),
  deliver: z.optional(deliverSchema()),
  extends: described("Another executor, with params of its own.", z.optional(text())),
});

/** What an executor may say of itself, wherever it stands: config, comment, docstring, definition. */
const promiseShape = () => ({
  description: z.optional(z.string()),
  timeout: z.optional(secondsSchema()),
  retry: z.optional(taskRetrySchema()),
  resources: z.optional(resourcesSchema()),
  effects: z.optional(z.enum(["none", "idempotent", "external"])),
  version: z.optional(text()),
});

const nameSchema = () => z.string().check(z.regex(EXECUTOR_NAME, NOT_A_NAME));

/** What a comment or a docstring may say. */
export const metadataSchema = () =>
  z.strictObject({
    name: z.optional(nameSchema()),
    ...promiseShape(),
    pass: z.optional(z.enum(["arguments", "environment", "both"])),
  });

/** What a definition in TypeScript may say, besides its schemas and its function. */
export const definitionSchema = () => z.strictObject({ name: nameSchema(), ...promiseShape() });

const entrySchema = () =>
  z
    .strictObject({
      ...promiseShape(),
      ...kindShape(),
      input: described("JSON Schema of its params.", z.optional(freeMap())),
      output: described("JSON Schema of its result.", z.optional(freeMap())),
      params: described("Params that are fixed: a task may not give them.", z.optional(freeMap())),
      defaults: described("Params that a task may leave out.", z.optional(freeMap())),
      env: z.optional(texts()),
      workdir: z.optional(text()),
      environment: z.optional(z.union([text(), freeMap()])),
      metadata: z.optional(z.strictObject({ version: z.optional(text()) })),
      remote: described("Done by the machine of that name under remoteExecutors.", z.optional(z.boolean())),
    })
    .check(
      z.refine(
        (entry) => kindsOf(entry).length === 1 || (entry.remote === true && kindsOf(entry).length < 2),
        {
          error: ({ input }) => wordKinds(input),
        },
      ),
      z.refine((entry) => strayKey(entry) === undefined, { error: ({ input }) => wordStray(input) }),
    );

/** `executors:` of config.yaml; a name may have several registrations. */
export const executorsSchema = () => z.record(nameSchema(), z.union([entrySchema(), z.array(entrySchema())]));

export type ExecutorEntry = z.infer<ReturnType<typeof entrySchema>>;
export type ExecutorMetadata = z.infer<ReturnType<typeof metadataSchema>>;

function kindsOf(entry: object): string[] {
  return KINDS.filter((kind) => (entry as Record<string, unknown>)[kind] !== undefined);
}

function wordKinds(input: unknown): string {
  const kinds = kindsOf(input as object);
  return kinds.length === 0
    ? `does not say what to do; add one of ${KINDS.join(", ")}`
    : `has ${kinds.join(" and ")}; keep one of them`;
}

function strayKey(entry: object): string | undefined {
  const [kind = "remote"] = kindsOf(entry);
  return Object.keys(ONLY_FOR).find(
    (key) => (entry as Record<string, unknown>)[key] !== undefined && !ONLY_FOR[key]?.includes(kind),
  );
}

function wordStray(input: unknown): string {
  const key = strayKey(input as object) ?? "";
  return `has ${key}, which ${ONLY_FOR[key]?.join(", ")} executors know only; remove it`;
}
