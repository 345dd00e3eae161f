// The one truth about config.yaml: one documented key per concern.
//
// I1. Secrets and machine-dependent values are written as `${env:NAME}` and stay so until they are used.

import * as z from "zod/mini";
import { platformSchemas } from "./deliver-config.ts";
import { environmentsSchema } from "./environment-spec.ts";
import { executorsSchema } from "./executor-schema.ts";
import { httpSchema } from "./http-config.ts";
import {
  budgetSchema,
  catchUpSchema,
  described,
  limit,
  overlapSchema,
  retrySchema,
  secretReference,
  targetsSchema,
  text,
  timeoutSchema,
} from "./job-schema.ts";
import { mcpServersSchema, modelsSchema } from "./models-config.ts";
import { orchestratorSchemas } from "./orchestrator-config.ts";

const count = () => z.int().check(z.gte(1));

const pattern = () =>
  z.string().check(
    z.refine((source) => {
      try {
        return new RegExp(source, "g") instanceof RegExp;
      } catch {
        return false;
      }
    }, "is no regular expression; correct it or remove it"),
  );

const webhook = () =>
  z.strictObject({
    url: text(),
    secret: z.optional(secretReference()),
    headers: z.optional(z.record(z.string(), z.string())),
  });

const agentDefaults = () =>
  z.strictObject({
    toolsets: z.optional(z.array(text())),
    maxTurns: z.optional(count()),
    budget: z.optional(budgetSchema),
    allowPrivate: z.optional(z.array(text())),
  });

const defaults = () =>
  z.strictObject({
    timeout: z.optional(timeoutSchema),
    catchUp: z.optional(catchUpSchema),
    catchUpLimit: z.optional(count()),
    overlap: z.optional(overlapSchema),
    retry: z.optional(retrySchema),
    autoPause: z.optional(count()),
    deliver: z.optional(targetsSchema),
    onFailure: z.optional(targetsSchema),
    agent: z.optional(agentDefaults()),
  });

/** How often people hear of incidents. */
const alerts = () =>
  z.strictObject({
    perHour: z.optional(count()),
    coolDown: z.optional(limit),
  });

const deliver = () =>
  z.strictObject({
    alerts: z.optional(alerts()),
    webhooks: z.optional(z.record(z.string(), webhook())),
    webhookSecret: z.optional(secretReference()),
    allowPrivate: z.optional(z.array(text())),
    homes: z.optional(z.record(z.string(), text())),
    mirror: z.optional(targetsSchema),
    header: z.optional(text()),
    footer: z.optional(text()),
    ...platformSchemas(),
  });

const limits = () =>
  z.strictObject({
    maxParallelRuns: z.optional(count()),
    outputBytes: z.optional(count()),
    promptBytes: z.optional(count()),
    mediaBytes: z.optional(count()),
    quarantine: z.optional(z.boolean()),
  });

const retention = () =>
  z.strictObject({
    runsPerJob: z.optional(count()),
    outputFiles: z.optional(count()),
    events: z.optional(count()),
    messageDays: z.optional(count()),
  });

const redact = () => z.strictObject({ patterns: z.optional(z.array(pattern())) });
const logs = () => z.strictObject({ level: z.optional(z.enum(["debug", "info", "warn", "error"])) });

const makeSchema = () =>
  z.strictObject({
    timezone: described("IANA zone of jobs that name none. Left out: the system's.", z.optional(text())),
    defaults: described("What jobs take that say nothing themselves.", z.optional(defaults())),
    models: described("Named models, the one used by default, prices.", z.optional(modelsSchema())),
    environments: described("Named environments where commands run.", z.optional(environmentsSchema())),
    deliver: described(
      "Platforms and their credentials, named webhooks, home channels, hosts that may be private.",
      z.optional(deliver()),
    ),
    ...orchestratorSchemas(),
    executors: described("Named executors: what a task can call.", z.optional(executorsSchema())),
    mcpServers: described("MCP servers whose tools agents may use.", z.optional(mcpServersSchema())),
    http: described("The HTTP surface.", z.optional(httpSchema())),
    limits: described("Bounds of one node.", z.optional(limits())),
    retention: described(
      "How much history is kept in full; the rest is folded into sums.",
      z.optional(retention()),
    ),
    redact: described("Further regular expressions whose matches never leave.", z.optional(redact())),
    logs: described("The node's own log.", z.optional(logs())),
  });

let made: ReturnType<typeof makeSchema> | undefined;

/** Made on first use: a home without a config.yaml pays nothing for it. */
export function configSchema(): ReturnType<typeof makeSchema> {
  made ??= makeSchema();
  return made;
}

export type ConfigInput = z.infer<ReturnType<typeof makeSchema>>;
