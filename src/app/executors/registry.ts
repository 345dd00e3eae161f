// All that is registered in a home: built in, in executors/, in config.yaml, and by the program around us. Looked at again
// when asked, at most once a second: nothing runs for it while nobody asks.
//
// I1. The program's registrations count before the config's, these before the folder's, these before what is built in.
// I2. What cannot be read is a problem and stops nothing else; a config that cannot be read leaves the last one in force.
// I3. An `Executor` handed out stays what it is: a change makes another one.

import { isFault, messageOf, sayFault } from "../../kernel/errors.ts";
import { SECOND } from "../../kernel/time.ts";
import { type DefinedExecutor, isDefinition } from "../../orchestrate/executors/define-executor.ts";
import { executorOfDefinition, executorOfFunction } from "../../orchestrate/executors/from-definition.ts";
import { makeTurns } from "../../orchestrate/executors/serial-executor.ts";
import type { Config } from "../../records/config-document.ts";
import type { Executor, ExecutorProblem, ExecutorRegistry } from "../../records/executor.ts";
import type { Context } from "../context.ts";
import { RemoteMachines } from "../remote/remote-machines.ts";
import { scriptDeps } from "../script-work.ts";
import type { InProcessExecutor } from "../work.ts";
import { builtInExecutors } from "./built-in.ts";
import { listFolder, stateOf, stateOfTree } from "./folder-files.ts";
import { readConfigExecutors } from "./from-config.ts";
import { settle } from "./order.ts";
import { type PythonPlace, PythonWorkers } from "./python-workers.ts";
import { type FileReading, type FolderReading, readFolder, readOneFile } from "./read-folder.ts";
import type { Room, Serving } from "./room.ts";
import { pythonPlace, type ScanAnswer, type ScanRequest, scanPython } from "./scan-python.ts";

/** What an embedding program registers, by name. */
export type ProgramExecutors = Readonly<Record<string, InProcessExecutor | DefinedExecutor>>;

export interface RegistryOptions {
  program: ProgramExecutors;
  /** The config as it is now: read again when its file has changed. Throws Fault `config.invalid`. */
  readConfig(): Promise<Config>;
  configFile: string;
}

/** Looking costs a few file system calls: often enough for a person who has just saved a file. */
const LOOK_EVERY_MS = SECOND;

interface Table {
  state: string;
  executors: readonly Executor[];
  problems: readonly ExecutorProblem[];
  notes: readonly string[];
}

export class Executors implements ExecutorRegistry {
  /** The machines behind `remoteExecutors`. */
  readonly remotes: RemoteMachines;
  readonly #context: Context;
  readonly #options: RegistryOptions;
  readonly #room: Room;
  #serving: Serving | undefined;
  /** Where the Python of that name really lies, once it has been asked. */
  #python: { name: string; path: string } | undefined;
  #folder: FolderReading = new Map();
  #config: { state: string; config: Config } | undefined;
  #table: Table | undefined;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #looking: Promise<Table> | undefined;

  constructor(context: Context, options: RegistryOptions) {
    this.#context = context;
    this.#options = options;
    this.remotes = new RemoteMachines(() => this.#context);
    this.#room = {
      context,
      scan: (request) => this.#scan(request),
      python: new PythonWorkers({
        place: () => this.#pythonPlace(),
        commands: () => this.#room.serving().commands,
      }),
      turns: makeTurns(),
      serving: () => {
        this.#serving ??= { commands: scriptDeps(context, undefined), agent: {} };
        return this.#serving;
      },
    };
  }

  /** A node says how it runs commands, agents and workflows; the last one to say so counts. */
  serve(serving: Serving): void {
    this.#serving = serving;
  }

  async list(): Promise<readonly Executor[]> {
    return (await this.#look()).executors;
  }

  async named(name: string): Promise<readonly Executor[]> {
    return (await this.#look()).executors.filter((executor) => executor.name === name);
  }

  async problems(): Promise<readonly ExecutorProblem[]> {
    return (await this.#look()).problems;
  }

  /** What was read otherwise than its words say, one sentence each. */
  async notes(): Promise<readonly string[]> {
    return (await this.#look()).notes;
  }

  /** What one file would register, wherever it lies. Throws Fault `input.not-found`. */
  check(path: string): Promise<FileReading> {
    return readOneFile(this.#room, path);
  }

  knows(name: string): boolean | undefined {
    return this.#table?.executors.some((executor) => executor.name === name);
  }

  /** Versions side by side wait in a queue, where a rollout gives each task its own. */
  isInProcess(name: string): boolean | undefined {
    if (!this.#table) return undefined;
    const found = this.#table.executors.filter((executor) => executor.name === name);
    const hasVersions = new Set(found.map(({ version }) => version)).size > 1;
    return found.length > 0 && !hasVersions && found.every((executor) => executor.isInProcess);
  }

  /** Ends what is kept warm; a later call warms anew. Idempotent. */
  async close(): Promise<void> {
    await Promise.all([this.#room.python.close(), this.remotes.stop()]);
  }

  #pythonPlace(): PythonPlace {
    const place = pythonPlace(this.#context);
    return this.#python?.name === place.python ? { ...place, python: this.#python.path } : place;
  }

  async #scan(request: ScanRequest): Promise<ScanAnswer | string> {
    const { python } = pythonPlace(this.#context);
    const answer = await scanPython(this.#pythonPlace(), request);
    if (typeof answer !== "string" && answer.executable !== "")
      this.#python = { name: python, path: answer.executable };
    return answer;
  }

  async #look(): Promise<Table> {
    const nowMs = this.#context.clock.monotonicMs();
    if (this.#table && nowMs - this.#lookedAtMs < LOOK_EVERY_MS) return this.#table;
    this.#looking ??= this.#read().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #read(): Promise<Table> {
    const state = this.#state();
    if (this.#table?.state !== state) this.#table = { ...(await this.#readAll()), state };
    this.#lookedAtMs = this.#context.clock.monotonicMs();
    return this.#table;
  }

  /** Of every file that could change what is registered. A young file makes it another one until it has settled. */
  #state(): string {
    const { executorsFolder, scriptsFolder } = this.#context.home.paths;
    const now = this.#context.clock.now();
    const files = listFolder(executorsFolder).map((file) =>
      [file.name, file.state, now - file.changedAt < LOOK_EVERY_MS ? "young" : ""].join(":"),
    );
    const code = stateOfTree(executorsFolder, /\.(py|[cm]?[jt]s)$/);
    const config = stateOf(this.#options.configFile)?.state ?? "";
    const scripts = this.#config?.config.executors.some(({ work }) => work.kind === "script")
      ? stateOfTree(scriptsFolder, /./, 0)
      : "";
    return [...files, code, config, scripts].join("\n");
  }

  async #readAll(): Promise<Omit<Table, "state">> {
    const problems: ExecutorProblem[] = [];
    const config = await this.#readConfig(problems);
    this.#folder = await readFolder(this.#room, this.#folder);
    const folder = [...this.#folder.values()];
    const builtIn = builtInExecutors(this.#room);
    const own = folder.flatMap(({ executors }) => executors);
    const program = await this.#readProgram(problems);
    const configured = await readConfigExecutors(this.#room, config.executors, [
      ...program,
      ...own,
      ...builtIn,
    ]);
    const remote = this.remotes.executors(config.remoteExecutors, config.executors);
    const settled = settle([program, configured.executors, own, remote.executors, builtIn]);
    return {
      executors: settled.executors,
      problems: [
        ...problems,
        ...configured.problems,
        ...remote.problems,
        ...folder.flatMap((file) => file.problems),
        ...settled.problems,
        ...remoteProblems(config),
        ...fallbackProblems(config, settled.executors),
      ],
      notes: [...folder.flatMap(({ notes }) => notes), ...configured.notes],
    };
  }

  /** (I2) */
  async #readConfig(problems: ExecutorProblem[]): Promise<Config> {
    const state = stateOf(this.#options.configFile)?.state ?? "";
    if (this.#config?.state === state) return this.#config.config;
    const isFirst = this.#config === undefined;
    try {
      // The first is what the home was opened with.
      const config = isFirst ? this.#context.config : await this.#options.readConfig();
      this.#config = { state, config };
      return config;
    } catch (error) {
      const text = isFault(error) ? sayFault(error) : messageOf(error);
      problems.push({
        source: "config.yaml",
        error: `${text} The last one that could be read stays in force.`,
      });
      return this.#config?.config ?? this.#context.config;
    }
  }

  async #readProgram(problems: ExecutorProblem[]): Promise<Executor[]> {
    const executors: Executor[] = [];
    for (const [name, registered] of Object.entries(this.#options.program)) {
      try {
        executors.push(
          isDefinition(registered)
            ? await executorOfDefinition({ ...registered, name }, { source: "this program", notes: [] })
            : executorOfFunction(name, registered),
        );
      } catch (error) {
        problems.push({ source: "this program", error: isFault(error) ? sayFault(error) : messageOf(error) });
      }
    }
    return executors;
  }
}

function fallbackProblems({ fallbackExecutors }: Config, executors: readonly Executor[]): ExecutorProblem[] {
  const known = new Set(executors.map(({ name }) => name));
  return Object.entries(fallbackExecutors).flatMap(([name, fallbacks]) =>
    [name, ...fallbacks]
      .filter((one) => !known.has(one))
      .map((one) => ({
        source: `config.yaml: fallbackExecutors.${name}`,
        error: `there is no executor "${one}"`,
      })),
  );
}

/** `remote: true` without a machine of that name does nothing. */
function remoteProblems({ executors, remoteExecutors }: Config): ExecutorProblem[] {
  return executors
    .filter(
      ({ name, work }) => work.kind === "remote" && !remoteExecutors.some((remote) => remote.name === name),
    )
    .map(({ name }) => ({
      source: `config.yaml: executors.${name}`,
      error: `it is remote, and remoteExecutors names no machine for it; add {name: ${name}, url: …} there`,
    }));
}
