// config.yaml and .env of a home, read once at start into values with every default filled in.
//
// I1. A reference `${env:NAME}` is kept as written and resolved when used: what is not used may be missing.
// I2. A variable of the process wins over the same name in `.env`.

import { Fault, isFault } from "../kernel/errors.ts";
import type { LogLevel } from "../kernel/log.ts";
import { isSecretName } from "../kernel/redact.ts";
import { parseDuration } from "../kernel/time.ts";
import type { AgentDefaults } from "./agent-document.ts";
import { type EnvFile, parseEnvFile } from "./config-env.ts";
import { type ConfigInput, configSchema } from "./config-schema.ts";
import type { PlatformConfigs } from "./deliver-config.ts";
import { faultOfIssues, issuesOf } from "./document-issues.ts";
import type { NamedEnvironments } from "./environment-spec.ts";
import { type ExecutorConfig, executorsOf } from "./executor-config.ts";
import { type HttpConfig, httpOf } from "./http-config.ts";
import type { AlertLimits } from "./incident.ts";
import type { TargetDocument } from "./job.ts";
import { retryOf, targetsOf } from "./job-document.ts";
import type { JobDefaults } from "./job-resolve.ts";
import { type McpServerConfig, type ModelsConfig, mcpServersOf, modelsOf } from "./models-config.ts";
import {
  fallbackExecutorsOf,
  type OrchestratorConfig,
  orchestratorOf,
  type QueueConfig,
  queueIssues,
  queuesOf,
  type RemoteExecutorConfig,
  remoteExecutorsOf,
} from "./orchestrator-config.ts";
import { knownKeysInCamelCase } from "./snake-case.ts";
import { parseYamlDocument, type YamlText } from "./yaml-text.ts";

export interface NamedWebhook {
  url: string;
  secret: string | undefined;
  headers: Readonly<Record<string, string>>;
}

export interface Config {
  /** Undefined = the system's zone. */
  timezone: string | undefined;
  defaults: JobDefaults;
  /** What agent jobs take that say nothing themselves. */
  agentDefaults: AgentDefaults;
  deliver: {
    /** `url`, `secret` and `headers` may hold references; `resolve` them when used. */
    webhooks: Readonly<Record<string, NamedWebhook>>;
    /** Signs webhooks without a secret of their own; a reference. */
    webhookSecret: string | undefined;
    /** Hosts, addresses or CIDR ranges that a webhook may reach although they are private. */
    allowPrivate: readonly string[];
    /** Home channel per platform, as an address of that platform: of `homes`, else of the platform's own key. */
    homes: Readonly<Record<string, string>>;
    /** Where a labelled copy of every result goes. */
    mirror: readonly TargetDocument[];
    /** Around every result that people read; words in braces are filled in (deliver/frame.ts). */
    header: string | undefined;
    footer: string | undefined;
    /** Undefined parts = deliver/incidents.ts's. */
    alerts: Partial<AlertLimits>;
    /** Platforms that are configured, with their references as written. */
    platforms: { readonly [Name in keyof PlatformConfigs]?: PlatformConfigs[Name] | undefined };
  };
  http: HttpConfig;
  limits: {
    /** Undefined = 4 × cores, at least 8 (L12). */
    maxParallelRuns: number | undefined;
    outputBytes: number;
    promptBytes: number;
    /** Of one file that goes out with a message. */
    mediaBytes: number;
    /** Whether a job that twice was young when its node died runs alone, and is held back after a third time (L7). */
    quarantine: boolean;
  };
  /** `messageDays`: how long the text of a delivered message stays in the ledger; its row and receipt stay longer. */
  retention: { runsPerJob: number; outputFiles: number; events: number; messageDays: number };
  redact: { patterns: readonly string[] };
  logs: { level: LogLevel };
  models: ModelsConfig;
  /** As written; `parseEnvironmentSpec` reads a name. */
  environments: NamedEnvironments;
  orchestrator: OrchestratorConfig;
  queues: readonly QueueConfig[];
  /** Every registration of `executors:`, in the order of the file; those of the folder `executors/` are not here. */
  executors: readonly ExecutorConfig[];
  remoteExecutors: readonly RemoteExecutorConfig[];
  /** By executor, in the order in which they take over. */
  fallbackExecutors: Readonly<Record<string, readonly string[]>>;
  mcpServers: Readonly<Record<string, McpServerConfig>>;
}

export interface ConfigReading {
  config: Config;
  /** What is accepted and probably not meant, or read otherwise than its words say. */
  warnings: string[];
  /** The text with every `${env:NAME}` replaced. Throws Fault `config.invalid` naming the variable that is missing. */
  resolve(text: string): string;
  /** The variable's value: the process's, else `.env`'s. */
  variable(name: string): string | undefined;
  /** Values that must leave no exit: those of `.env` and of the process whose names say so, and all that are referenced. */
  secrets(): string[];
}

export interface ConfigSources {
  /** Shown in messages. */
  file: string;
  env: Readonly<Record<string, string | undefined>>;
  envFile?: EnvFile | undefined;
}

/**
 * Reads a config; an empty or missing (`undefined`) text gives the defaults.
 * @throws Fault `config.invalid` with every mistake and its place.
 */
export function readConfig(text: string | undefined, sources: ConfigSources): ConfigReading {
  const notes: string[] = [];
  const config = text === undefined ? configOf({}, notes) : parseConfig(text, { file: sources.file, notes });
  const fileEnv = parseEnvFile(sources.envFile);
  const variable = (name: string) => sources.env[name] ?? fileEnv.values[name];
  return {
    config,
    warnings: [...fileEnv.warnings, ...notes],
    resolve: (reference) => resolveReferences(reference, variable, sources.file),
    variable,
    secrets: () => secretValues(text ?? "", { ...fileEnv.values, ...sources.env }),
  };
}

/** What is read otherwise than its words say goes to `notes`, a sentence each. */
function parseConfig(text: string, { file, notes }: { file: string; notes: string[] }): Config {
  const yaml = parseConfigYaml(text, file);
  const value = knownKeysInCamelCase(yaml.value ?? {}, configSchema());
  const parsed = configSchema().safeParse(value);
  if (!parsed.success) {
    const fault = faultOfIssues("config.invalid", issuesOf(parsed.error.issues, value, configSchema()), yaml);
    throw fault ?? new Error("a refused config without an issue");
  }
  const config = configOf(parsed.data, notes);
  const fault = faultOfIssues("config.invalid", queueIssues(config.queues, config.orchestrator), yaml);
  if (fault) throw fault;
  return config;
}

function parseConfigYaml(text: string, file: string): YamlText {
  try {
    return parseYamlDocument(text, file);
  } catch (error) {
    if (!isFault(error)) throw error;
    const { hint, place, details } = error;
    throw new Fault("config.invalid", error.message, {
      hint,
      cause: error,
      ...(place ? { place } : {}),
      ...(details ? { details } : {}),
    });
  }
}

const REFERENCE = /\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}/g;

function resolveReferences(
  text: string,
  variable: (name: string) => string | undefined,
  file: string,
): string {
  return text.replace(REFERENCE, (_, name: string) => {
    const value = variable(name);
    if (value !== undefined) return value;
    throw new Fault("config.invalid", `${file} refers to the variable ${name}, which is not set`, {
      hint: `Put ${name}=… into the home's .env file.`,
      details: { variable: name },
    });
  });
}

function secretValues(text: string, values: Readonly<Record<string, string | undefined>>): string[] {
  const referenced = new Set([...text.matchAll(REFERENCE)].map((match) => match[1] ?? ""));
  const secret = Object.entries(values).flatMap(([name, value]) =>
    value && (isSecretName(name) || referenced.has(name)) ? [value] : [],
  );
  return [...new Set(secret)];
}

function configOf(input: ConfigInput, notes: string[]): Config {
  const { http, limits, retention } = input;
  return {
    timezone: input.timezone,
    defaults: defaultsOf(input.defaults),
    agentDefaults: input.defaults?.agent ?? {},
    deliver: deliverOf(input.deliver),
    http: httpOf(http),
    limits: {
      maxParallelRuns: limits?.maxParallelRuns,
      outputBytes: limits?.outputBytes ?? 1_000_000,
      promptBytes: limits?.promptBytes ?? 200_000,
      mediaBytes: limits?.mediaBytes ?? 50_000_000,
      quarantine: limits?.quarantine ?? true,
    },
    retention: {
      runsPerJob: retention?.runsPerJob ?? 1_000,
      outputFiles: retention?.outputFiles ?? 50,
      events: retention?.events ?? 100_000,
      messageDays: retention?.messageDays ?? 30,
    },
    redact: { patterns: input.redact?.patterns ?? [] },
    logs: { level: input.logs?.level ?? "info" },
    models: modelsOf(input.models),
    environments: input.environments ?? {},
    orchestrator: orchestratorOf(input.orchestrator),
    queues: queuesOf(input.queues),
    executors: executorsOf(input.executors ?? {}, notes),
    remoteExecutors: remoteExecutorsOf(input.remoteExecutors),
    fallbackExecutors: fallbackExecutorsOf(input.fallbackExecutors),
    mcpServers: mcpServersOf(input.mcpServers),
  };
}

function defaultsOf(input: ConfigInput["defaults"]): JobDefaults {
  const { deliver, onFailure, retry, agent: _, ...plain } = input ?? {};
  return {
    ...plain,
    ...(deliver === undefined ? {} : { deliver: targetsOf(deliver) }),
    ...(onFailure === undefined ? {} : { onFailure: targetsOf(onFailure) }),
    ...(retry === undefined ? {} : { retry: retryOf(retry) }),
  };
}

function deliverOf(input: ConfigInput["deliver"]): Config["deliver"] {
  const {
    webhooks = {},
    webhookSecret,
    allowPrivate = [],
    homes = {},
    mirror,
    header,
    footer,
    alerts,
    ...written
  } = input ?? {};
  const named = Object.entries(webhooks).map(([name, { url, secret, headers = {} }]) => [
    name,
    { url, secret, headers },
  ]);
  const ownHomes = Object.entries(written).flatMap(([platform, settings]) => {
    const home = settings && homeOf(settings);
    return home === undefined ? [] : [[platform, home]];
  });
  return {
    webhooks: Object.fromEntries(named),
    webhookSecret,
    allowPrivate,
    homes: { ...Object.fromEntries(ownHomes), ...homes },
    mirror: mirror === undefined ? [] : targetsOf(mirror),
    header,
    footer,
    alerts: alertsOf(alerts),
    platforms: written,
  };
}

function alertsOf({
  perHour,
  coolDown,
}: {
  perHour?: number | undefined;
  coolDown?: string | 0 | undefined;
} = {}) {
  const coolDownMs = typeof coolDown === "string" ? parseDuration(coolDown) : coolDown;
  return {
    ...(perHour !== undefined && { perHour }),
    ...(coolDownMs !== undefined && { coolDownMs }),
  };
}

/** A platform with one webhook and nothing else has one address: that is its home. */
function homeOf(settings: { home?: string | undefined; webhook?: string | undefined }): string | undefined {
  return settings.home ?? (settings.webhook === undefined ? undefined : "default");
}
