// `executors:` of config.yaml: a named unit of work for each entry, with its kind, its contract and what is bound to it.
//
// I1. Read whole by executor-schema.ts; here shorthands are written out.
// I2. `params`, `defaults`, `input`, `output`, `env` and `headers` hold the person's own names and keep their spelling.

import type { ExecutorEntry as Entry, ExecutorMetadata } from "./executor-schema.ts";
import type { Effects, TargetDocument } from "./job.ts";
import { targetsOf } from "./job-document.ts";
import type { ResourcesDocument, TaskDocument } from "./workflow.ts";
import { millisecondsOf, resourcesDocument, retryDocument } from "./workflow-shorthands.ts";

/** How a script is given its params: `--name value`, `PARAM_NAME=value`, or both. */
export type ScriptPass = "arguments" | "environment" | "both";

export interface HttpWork {
  method: string | undefined;
  /** May hold templates, as may `headers`, `query` and `body`. */
  url: string;
  headers: Readonly<Record<string, string>>;
  query: Readonly<Record<string, unknown>>;
  body: unknown;
  /** Hosts, addresses or CIDR ranges that may be reached although they are private. */
  allowPrivate: readonly string[];
}

export interface ModelWork {
  /** A name of `models.named`; undefined = the default model. */
  model: string | undefined;
  /** A template; undefined = the param `prompt`. */
  prompt: string | undefined;
  system: string | undefined;
  /** Whether the reply must be JSON and becomes the result itself. */
  json: boolean;
  maxOutputTokens: number | undefined;
}

export interface MqttWork {
  /** `mqtt://…` or `mqtts://…`; undefined = that of `deliver.mqtt`. */
  url: string | undefined;
  username: string | undefined;
  /** A reference. */
  password: string | undefined;
  topic: string;
  /** Undefined = the params as JSON. */
  payload: unknown;
  /** An answer is awaited here; undefined = published is done. */
  responseTopic: string | undefined;
  qos: 0 | 1 | 2;
  retain: boolean;
}

export interface SerialWork {
  path: string;
  /** Undefined = as the device is set. */
  baudRate: number | undefined;
  write: string | undefined;
  /** Added to what is written, and where an answer ends. Default a line feed. */
  delimiter: string;
  /** How many answers make the result; 0 = written is done. */
  lines: number;
}

/** What an entry does. */
export type ExecutorWork =
  | {
      kind: "module";
      module: string;
      function: string | undefined;
      language: "python" | "javascript" | undefined;
    }
  | { kind: "script"; script: string; args: readonly string[]; pass: ScriptPass | undefined }
  | { kind: "shell"; shell: string }
  | ({ kind: "http" } & HttpWork)
  | ({ kind: "model" } & ModelWork)
  | { kind: "agent"; agent: Readonly<Record<string, unknown>> }
  | { kind: "workflow"; workflow: string; params: Readonly<Record<string, unknown>> }
  | ({ kind: "mqtt" } & MqttWork)
  | ({ kind: "serial" } & SerialWork)
  | { kind: "deliver"; to: readonly TargetDocument[]; body: string | undefined; subject: string | undefined }
  | { kind: "extends"; executor: string }
  /** Done by a machine of `remoteExecutors` with this name. */
  | { kind: "remote" };

/** What an executor says of itself; what is absent is left to others, in the end to defaults. */
export interface ExecutorPromise {
  version: string | undefined;
  description: string | undefined;
  timeoutMs: number | undefined;
  retry: TaskDocument["retry"];
  resources: ResourcesDocument | undefined;
  effects: Effects | undefined;
}

/** One registration of a name, as configured. */
export interface ExecutorConfig extends ExecutorPromise {
  name: string;
  work: ExecutorWork;
  input: Readonly<Record<string, unknown>> | undefined;
  output: Readonly<Record<string, unknown>> | undefined;
  /** Bound: a task may not give them. */
  params: Readonly<Record<string, unknown>>;
  /** Given unless a task gives its own. */
  defaults: Readonly<Record<string, unknown>>;
  /** What a script, a command or an agent of it runs with. */
  env: Readonly<Record<string, string>>;
  workdir: string | undefined;
  environment: string | Record<string, unknown> | undefined;
}

/** Every registration, in the order in which they stand. What is read otherwise than written goes to `notes`. */
export function executorsOf(
  input: Readonly<Record<string, Entry | Entry[]>>,
  notes: string[],
): ExecutorConfig[] {
  return Object.entries(input).flatMap(([name, entries]) =>
    [entries].flat().map((entry) => executorOf(name, entry, notes)),
  );
}

function executorOf(name: string, entry: Entry, notes: string[]): ExecutorConfig {
  return {
    name,
    ...promiseOf(name, { ...entry, version: entry.version ?? entry.metadata?.version }, notes),
    work: workOf(entry),
    input: entry.input,
    output: entry.output,
    params: entry.params ?? {},
    defaults: entry.defaults ?? {},
    env: entry.env ?? {},
    workdir: entry.workdir,
    environment: entry.environment,
  };
}

/** The same for every place where an executor may describe itself. */
export function promiseOf(
  name: string,
  written: Omit<ExecutorMetadata, "name" | "pass">,
  notes: string[],
): ExecutorPromise {
  return {
    version: written.version,
    description: written.description,
    timeoutMs: millisecondsOf(written.timeout),
    retry: retryDocument(written.retry),
    resources: gpuMemory(name, resourcesDocument(written.resources), notes),
    effects: written.effects,
  };
}

function workOf(entry: Entry): ExecutorWork {
  if (entry.remote === true) return { kind: "remote" };
  if (entry.module !== undefined)
    return { kind: "module", module: entry.module, function: entry.function, language: entry.language };
  if (entry.script !== undefined)
    return { kind: "script", script: entry.script, args: entry.args ?? [], pass: entry.pass };
  if (entry.shell !== undefined) return { kind: "shell", shell: entry.shell };
  if (entry.http !== undefined) return { kind: "http", ...httpOf(entry.http) };
  if (entry.model !== undefined) return { kind: "model", ...modelOf(entry.model) };
  if (entry.agent !== undefined)
    return { kind: "agent", agent: typeof entry.agent === "string" ? { prompt: entry.agent } : entry.agent };
  if (entry.workflow !== undefined) return { kind: "workflow", ...workflowOf(entry.workflow) };
  if (entry.mqtt !== undefined) return { kind: "mqtt", ...mqttOf(entry.mqtt) };
  if (entry.serial !== undefined) return { kind: "serial", ...serialOf(entry.serial) };
  if (entry.deliver !== undefined) return { kind: "deliver", ...deliverOf(entry.deliver) };
  return { kind: "extends", executor: entry.extends ?? "" };
}

function httpOf(http: NonNullable<Entry["http"]>): HttpWork {
  const {
    method,
    url,
    headers = {},
    query = {},
    body,
    allowPrivate = [],
  } = typeof http === "string" ? { url: http } : http;
  return { method, url, headers, query, body, allowPrivate };
}

function modelOf(model: NonNullable<Entry["model"]>): ModelWork {
  const written = typeof model === "string" ? { model } : model;
  return {
    model: written.model,
    prompt: written.prompt,
    system: written.system,
    json: written.json ?? false,
    maxOutputTokens: written.maxOutputTokens,
  };
}

function workflowOf(workflow: NonNullable<Entry["workflow"]>) {
  return typeof workflow === "string"
    ? { workflow, params: {} }
    : { workflow: workflow.file, params: workflow.params ?? {} };
}

function mqttOf({
  url,
  username,
  password,
  topic,
  payload,
  responseTopic,
  qos = 1,
  retain = false,
}: NonNullable<Entry["mqtt"]>): MqttWork {
  return { url, username, password, topic, payload, responseTopic, qos, retain };
}

function serialOf({
  path,
  baudRate,
  write,
  delimiter = "\n",
  lines = 1,
}: NonNullable<Entry["serial"]>): SerialWork {
  return { path, baudRate, write, delimiter, lines };
}

function deliverOf(deliver: NonNullable<Entry["deliver"]>) {
  const written = typeof deliver === "object" && "to" in deliver ? deliver : { to: deliver };
  return { to: targetsOf(written.to), body: written.body, subject: written.subject };
}

/** W3: the seed's `memory_mb` beside `gpu: true` is the card's memory. */
function gpuMemory(
  name: string,
  resources: ResourcesDocument | undefined,
  notes: string[],
): ResourcesDocument | undefined {
  if (!resources?.gpu || resources.gpuMemoryMb !== undefined || resources.memoryMb === undefined)
    return resources;
  const { memoryMb, ...rest } = resources;
  notes.push(`Executor "${name}": memory_mb beside gpu is read as GPU memory (${memoryMb} MB).`);
  return { ...rest, gpuMemoryMb: memoryMb };
}
