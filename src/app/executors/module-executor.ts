// `module:` of config.yaml: a function of Python or JavaScript, wherever it is found.

import { isAbsolute, join } from "node:path";
import { invalid } from "../../orchestrate/executors/contract.ts";
import { isDefinition } from "../../orchestrate/executors/define-executor.ts";
import { executorOfDefinition } from "../../orchestrate/executors/from-definition.ts";
import { readPythonFunction } from "../../orchestrate/executors/python-scan.ts";
import type { Executor } from "../../records/executor.ts";
import { type ExecutorConfig, type ExecutorWork, promiseOf } from "../../records/executor-config.ts";
import { stateOf } from "./folder-files.ts";
import { findPackage, loadModule } from "./load-module.ts";
import { type Described, makeExecutor, overlaid } from "./make-executor.ts";
import { exportedAs } from "./module-exports.ts";
import { pythonExecutor } from "./python-executor.ts";
import type { Room } from "./room.ts";
import type { ScanAnswer } from "./scan-python.ts";

export const CONFIG_SOURCE = "config.yaml";

/** What reading entries needs besides the entry. */
export interface Reads {
  room: Room;
  /** Python modules that entries name; a text = Python itself could not be asked. */
  modules: ReadonlyMap<string, ScanAnswer["modules"][number]> | string;
  notes: string[];
}

export type Entry<Kind extends ExecutorWork["kind"]> = ExecutorConfig & {
  work: Extract<ExecutorWork, { kind: Kind }>;
};

/** A Python module of executors/, a JavaScript file, a package of the home, or Python's own search path, in this order. */
export async function openModule(reads: Reads, entry: Entry<"module">): Promise<Executor> {
  const { room } = reads;
  const { module, language } = entry.work;
  const { root, executorsFolder } = room.context.home.paths;
  const isJavaScript = language === "javascript" || (language === undefined && /\.[cm]?[jt]s$/.test(module));
  if (isJavaScript) {
    const file = fileOf(module, [executorsFolder, root]) ?? (await findPackage(module, root));
    if (file === undefined)
      throw invalid(`there is no ${module} in executors/ nor in the home`, "Correct its path.");
    return openJavaScript(reads, entry, file);
  }
  const isPythonOnly = language === "python" || /\.py$/.test(module);
  const found = typeof reads.modules === "string" ? undefined : reads.modules.get(module);
  const isOwn = found?.path?.startsWith(executorsFolder) ?? false;
  if (!isPythonOnly && !isOwn) {
    const file = await findPackage(module, root);
    if (file !== undefined) return openJavaScript(reads, entry, file);
  }
  return openPython(reads, entry);
}

function fileOf(module: string, folders: readonly string[]): string | undefined {
  const places = isAbsolute(module) ? [module] : folders.map((folder) => join(folder, module));
  return places.find((path) => stateOf(path));
}

async function openJavaScript(
  { room, notes }: Reads,
  entry: Entry<"module">,
  file: string,
): Promise<Executor> {
  const { module, function: name } = entry.work;
  const state = stateOf(file)?.state ?? "";
  const exports = await loadModule(file, { state, home: room.context.home.paths.root });
  const found = exportedAs(exports, { module, name });
  const definition = isDefinition(found) ? found : { name: entry.name, run: found };
  const { contract, version, description, run } = await executorOfDefinition(
    { ...definition, name: entry.name },
    { source: CONFIG_SOURCE, notes },
  );
  const { timeoutMs, retry, effects, input, output } = contract;
  const said: Omit<Described, "name" | "kind" | "source"> = {
    version,
    description,
    timeoutMs,
    retry,
    effects,
    input,
    output,
    resources: undefined,
  };
  const own = makeExecutor(
    { ...overlaid(said, entry), name: entry.name, kind: "function", source: CONFIG_SOURCE },
    run,
  );
  const resources = entry.resources ? own.contract.resources : contract.resources;
  return { ...own, contract: { ...own.contract, resources }, isInProcess: true };
}

async function openPython({ room, modules, notes }: Reads, entry: Entry<"module">): Promise<Executor> {
  const { module, function: name } = entry.work;
  if (name === undefined)
    throw invalid(`${module}: a Python module needs its function`, "Write function: NAME beside module.");
  if (typeof modules === "string") throw invalid(modules, "Install python3, or put it on the node's PATH.");
  const found = modules.get(module);
  if (!found?.path)
    throw invalid(
      `there is no module ${module} in executors/, in the home's packages, or on PYTHONPATH`,
      "Correct its name, or put it into executors/.",
    );
  if (found.file?.error !== undefined)
    throw invalid(`${found.path}:${found.file.line ?? 1}: ${found.file.error}`, "Correct it.");
  const offer = readPythonFunction(found.file ?? undefined, name);
  const { executorsFolder } = room.context.home.paths;
  const isOwn = found.path.startsWith(executorsFolder);
  return pythonExecutor(room, {
    ...{ name: entry.name, source: CONFIG_SOURCE, function: offer.function, output: entry.output },
    ...overlaid(promiseOf(entry.name, offer.metadata.metadata, notes), entry),
    description: entry.description ?? offer.metadata.description,
    input: entry.input ?? offer.input,
    target: {
      module: module.replace(/\.py$/, ""),
      path: isOwn && !module.includes(".") ? found.path : undefined,
      folders: [executorsFolder],
    },
  });
}

/** All Python modules that entries name, in one look. */
export async function scanModules(room: Room, entries: readonly ExecutorConfig[]): Promise<Reads["modules"]> {
  const { executorsFolder } = room.context.home.paths;
  const names = entries.flatMap(({ work }) =>
    work.kind === "module" && work.language !== "javascript" && !/\.[cm]?[jt]s$/.test(work.module)
      ? [work.module]
      : [],
  );
  const wanted = [...new Set(names)];
  const answer = await room.scan({
    files: [],
    modules: wanted.map((module) => ({ module: module.replace(/\.py$/, ""), folders: [executorsFolder] })),
  });
  if (typeof answer === "string") return answer;
  return new Map(
    wanted.map((module, index) => [module, answer.modules[index] as ScanAnswer["modules"][number]]),
  );
}
