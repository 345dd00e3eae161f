// Entries of `executors:` in config.yaml as executors: each kind is one line of the table.

import { join } from "node:path";
import { Fault, isFault, messageOf, sayFault } from "../../kernel/errors.ts";
import { bindParams } from "../../orchestrate/executors/bind-params.ts";
import { invalid } from "../../orchestrate/executors/contract.ts";
import { httpAttempt } from "../../orchestrate/executors/http-executor.ts";
import { mqttAttempt } from "../../orchestrate/executors/mqtt-executor.ts";
import { passParams } from "../../orchestrate/executors/script-params.ts";
import { serialAttempt } from "../../orchestrate/executors/serial-executor.ts";
import { compileCommand, compileTemplates, scopeOfCall } from "../../orchestrate/executors/templates.ts";
import type { Executor, ExecutorProblem } from "../../records/executor.ts";
import type { ExecutorConfig, ExecutorWork } from "../../records/executor-config.ts";
import { promiseOf } from "../../records/executor-config.ts";
import { deliverMessage } from "./deliver-attempt.ts";
import { stateOf } from "./folder-files.ts";
import { httpDeps, mqttDeps } from "./http-deps.ts";
import { makeExecutor, overlaid } from "./make-executor.ts";
import { CONFIG_SOURCE, type Entry, openModule, type Reads, scanModules } from "./module-executor.ts";
import { inFolder, scriptMetadata } from "./read-folder.ts";
import type { Attempt, Room } from "./room.ts";
import { type CommandPlace, runCommandLike, scriptAttempt } from "./script-attempt.ts";

export interface ConfigReadingOf {
  executors: Executor[];
  problems: ExecutorProblem[];
  notes: string[];
}

/** Every entry; `others` are what `extends:` may name besides. An entry that cannot be registered stops no other. */
export async function readConfigExecutors(
  room: Room,
  entries: readonly ExecutorConfig[],
  others: readonly Executor[],
): Promise<ConfigReadingOf> {
  const reading: ConfigReadingOf = { executors: [], problems: [], notes: [] };
  const modules = await scanModules(room, entries);
  const reads = { room, modules, notes: reading.notes };
  // What extends another comes after it, in whatever order they are written.
  for (const entry of [...entries].sort((a, b) => depth(a, entries) - depth(b, entries))) {
    try {
      const known = [...reading.executors, ...others];
      reading.executors.push(...(await registered(reads, entry, known)));
    } catch (error) {
      const text = isFault(error) ? sayFault(error) : messageOf(error);
      reading.problems.push({ source: `${CONFIG_SOURCE}: executors.${entry.name}`, error: text });
    }
  }
  const order = (name: string) => entries.findIndex((entry) => entry.name === name);
  reading.executors.sort((a, b) => order(a.name) - order(b.name));
  return reading;
}

/** How many entries lie below one by `extends`; a circle counts as deep and is refused when its base is missing. */
function depth({ work }: ExecutorConfig, entries: readonly ExecutorConfig[], seen = 0): number {
  if (work.kind !== "extends" || seen > entries.length) return seen;
  const base = entries.find(({ name }) => name === work.executor);
  return base ? depth(base, entries, seen + 1) : seen + 1;
}

async function registered(
  reads: Reads,
  entry: ExecutorConfig,
  known: readonly Executor[],
): Promise<Executor[]> {
  if (entry.work.kind === "extends") return extended(entry, entry.work.executor, known);
  const { kind } = entry.work;
  if (kind === "remote") return [];
  const base = await OPENERS[kind](reads, entry as never);
  const { params, defaults } = entry;
  const isBound = Object.keys(params).length + Object.keys(defaults).length > 0;
  return [isBound ? bindParams(base, { ...asBinding(entry), input: undefined, output: undefined }) : base];
}

function extended(entry: ExecutorConfig, name: string, known: readonly Executor[]): Executor[] {
  const bases = known.filter((executor) => executor.name === name);
  if (bases.length === 0)
    throw invalid(`it extends ${name}, which there is not`, "See `nightshift executor list`.");
  return bases.map((base) => bindParams(base, asBinding(entry)));
}

const asBinding = (entry: ExecutorConfig) => ({ ...entry, source: CONFIG_SOURCE });

type Opened = Exclude<ExecutorWork["kind"], "extends" | "remote">;

const OPENERS: { [Kind in Opened]: (reads: Reads, entry: Entry<Kind>) => Promise<Executor> } = {
  module: openModule,
  script: openScript,
  shell: openShell,
  http: ({ room }, entry) =>
    made(
      entry,
      httpAttempt(httpDeps(room.context), entry.name, {
        work: entry.work,
        contract: { effects: entry.effects ?? "external" },
      }),
    ),
  async model({ room }, entry) {
    const { prompt, system } = entry.work;
    await compileTemplates({ prompt, system }, `${entry.name}: model`);
    return made(
      entry,
      onFirstUse(async () => (await agents()).modelAttempt(room, entry.name, entry.work)),
    );
  },
  async agent({ room }, entry) {
    const { agent } = entry.work;
    await compileTemplates(agent, `${entry.name}: agent`);
    return made(
      entry,
      onFirstUse(async () =>
        (await agents()).agentAttempt(room, entry.name, { agent, place: placeOf(entry) }),
      ),
    );
  },
  workflow: openWorkflow,
  mqtt: ({ room }, entry) => made(entry, mqttAttempt(mqttDeps(room.context), entry.name, entry.work)),
  serial: ({ room }, entry) =>
    made(
      entry,
      serialAttempt({ resolve: room.context.resolveReferences, turns: room.turns }, entry.name, entry.work),
    ),
  deliver: openDeliver,
};

/** What asks models is loaded with the first call: a home that only names it does not pay for it. */
const agents = () => import("./agent-attempts.ts");

function onFirstUse(open: () => Promise<Attempt>): Attempt {
  let opened: Promise<Attempt> | undefined;
  return async (call) => {
    opened ??= open();
    return (await opened)(call);
  };
}

async function made(entry: Entry<Opened>, attempt: Attempt | Promise<Attempt>): Promise<Executor> {
  return makeExecutor({ ...entry, kind: kindOf(entry.work), source: CONFIG_SOURCE }, await attempt);
}

function kindOf(work: ExecutorWork): Executor["kind"] {
  return work.kind === "module" || work.kind === "extends" ? "function" : work.kind;
}

function placeOf({ env, workdir, environment, effects = "external" }: ExecutorConfig): CommandPlace {
  return { env, workdir, environment, effects };
}

async function openScript({ room, notes }: Reads, entry: Entry<"script">): Promise<Executor> {
  const { executorsFolder, scriptsFolder } = room.context.home.paths;
  const { script, args, pass } = entry.work;
  const own = inFolder(executorsFolder, script);
  const folder = own === undefined ? scriptsFolder : executorsFolder;
  const path = own ?? join(scriptsFolder, script);
  if (!stateOf(path))
    throw new Fault("script.missing", `the script ${script} is neither in executors/ nor in scripts/`, {
      hint: `Put it at ${path}.`,
    });
  const said = scriptMetadata(path);
  const [problem] = said.problems;
  if (problem) throw invalid(`${script}:${problem.line}: ${problem.text}`, "Correct its comment.");
  const promise = overlaid(promiseOf(entry.name, said.metadata, notes), entry);
  const input = entry.input ?? said.input;
  return makeExecutor(
    {
      ...entry,
      ...promise,
      kind: "script",
      source: CONFIG_SOURCE,
      input,
      description: entry.description ?? said.description,
    },
    scriptAttempt(room, {
      ...{ folder, script, args, input, place: placeOf({ ...entry, effects: promise.effects }) },
      pass: pass ?? said.metadata.pass ?? "both",
    }),
  );
}

async function openShell({ room }: Reads, entry: Entry<"shell">): Promise<Executor> {
  const render = await compileCommand(entry.work.shell, `${entry.name}: shell`);
  return made(entry, async (call) => {
    const command = render(scopeOfCall(call));
    if (!command.ok)
      return { state: "failed", error: { code: "params", message: `${entry.name}: ${command.message}` } };
    const work = { script: entry.name, command: command.value.command, args: [] };
    const passed = passParams(call.params, { pass: "environment", isDeclared: () => true });
    const literalEnv = { ...passed.env, ...command.value.env };
    return runCommandLike(room, { work, literalEnv, place: placeOf(entry) }, call);
  });
}

async function openWorkflow({ room }: Reads, entry: Entry<"workflow">): Promise<Executor> {
  const { workflow, params } = entry.work;
  const render = await compileTemplates(params, `${entry.name}: workflow.params`);
  return made(entry, async (call) => {
    const run = room.serving().workflow;
    const rendered = render(scopeOfCall(call));
    const error = !run ? "no workflows are run here" : rendered.ok ? undefined : rendered.message;
    if (!run || !rendered.ok)
      return { state: "failed", error: { code: "preflight", message: `${entry.name}: ${error}` } };
    const given = Object.keys(params).length > 0 ? (rendered.value as Record<string, unknown>) : call.params;
    return run({ workflow, params: given }, call);
  });
}

async function openDeliver({ room }: Reads, entry: Entry<"deliver">): Promise<Executor> {
  const { to, body = "{{ params.body }}", subject } = entry.work;
  const render = await compileTemplates({ body, subject }, `${entry.name}: deliver`);
  return made({ ...entry, effects: entry.effects ?? "idempotent" }, async (call) => {
    const rendered = render(scopeOfCall(call));
    if (!rendered.ok)
      return { state: "failed", error: { code: "params", message: `${entry.name}: ${rendered.message}` } };
    const said = rendered.value as { body: unknown; subject?: unknown };
    const text = typeof said.body === "string" ? said.body : JSON.stringify(said.body, null, 2);
    const head = said.subject === undefined ? "" : `${String(said.subject)}\n\n`;
    return deliverMessage(room, { to, text: `${head}${text}` }, call);
  });
}
