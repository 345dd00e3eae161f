// The command tree, built from the table, and how an error leaves it.

import { Command, CommanderError, Option } from "commander";
import type { Context } from "../app/context.ts";
import { syncWhenAlone } from "../app/sync-when-alone.ts";
import { Fault, nearestWord } from "../kernel/errors.ts";
import type { Call, CommandSpec, HomeChoice, OpenExtra, Options } from "./command.ts";
import { commands } from "./commands/index.ts";
import { describeError, describeUsage, EXIT } from "./errors.ts";
import { type Io, terminalIo } from "./io.ts";

export interface ProgramDeps {
  version: string;
  signal: AbortSignal;
  chooseHome(options: { home: string | undefined; profile: string | undefined }): HomeChoice;
  openContext(
    home: HomeChoice,
    options: { actor: string; isDebug: boolean; stdout(text: string): void } & OpenExtra,
  ): Promise<Context>;
  watchWorker: URL | undefined;
}

const NOUNS: Readonly<Record<string, string>> = {
  job: "Jobs: what may run, when, and to whom its result goes",
  run: "Runs: what happened, and what is happening",
  workflow: "Workflows: graphs of tasks, each task a run of its own",
  executor: "Executors: what tasks can be done by",
  incident: "Incidents: what is wrong, by cause",
  hook: "Webhooks that come in and set jobs off",
  delivery: "Deliveries: messages on their way, sent, or stuck",
  environment: "Environments: the places where commands run",
  process: "Background processes: commands that outlive their caller",
  node: "Nodes: the processes that fire and run",
};

/** Runs the command line. Returns the exit code; never rejects. */
export async function runProgram(argv: readonly string[], deps: ProgramDeps): Promise<number> {
  const state: State = { exitCode: EXIT.ok, isJson: argv.includes("--json") };
  const program = buildProgram(deps, state);
  if (!hasOwnVersion(argv)) program.version(deps.version, "-V, --version");
  try {
    await program.parseAsync([...argv], { from: "user" });
    return state.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const options = program.opts<{ json?: boolean; debug?: boolean }>();
    const isJson = options.json ?? state.isJson;
    const { text, exitCode } = describeError(error, { isJson, isDebug: options.debug ?? false });
    process.stderr.write(`${text}\n`);
    return deps.signal.aborted ? EXIT.interrupted : exitCode;
  }
}

/** `executor rollout NAME --version V` means an executor's: ours would answer before the command is asked. */
function hasOwnVersion(argv: readonly string[]): boolean {
  return commands.some(
    ({ path, options = [] }) =>
      options.some(([flags]) => flags.startsWith("--version ")) &&
      path.split(" ").every((word) => argv.includes(word)),
  );
}

function buildProgram(deps: ProgramDeps, state: State): Command {
  const { isJson } = state;
  const program = new Command("nightshift")
    .description("The runtime for work that nobody is watching.")
    .option("--home <folder>", "the home to use (default: $NIGHTSHIFT_HOME, else ~/.nightshift)")
    .option("--profile <name>", "the home profiles/<name> below the default one")
    .option("--json", "print documents instead of text, and nothing else, on stdout")
    .option("--debug", "say more on stderr, with stack traces")
    .exitOverride()
    .showHelpAfterError(false)
    .configureOutput({ outputError: (text, write) => write(`${describeUsage(text, { isJson })}\n`) });
  const nouns = new Map<string, Command>();
  for (const spec of commands) addCommand({ program, nouns, spec, deps, state });
  program.allowExcessArguments(true);
  program.action(() => answerWord(program, { path: "", isError: false }));
  return program;
}

/** A word that is no command, with the nearest one; no word at all shows the help. */
function answerWord(command: Command, options: { path: string; isError: boolean }): void {
  const [word = ""] = command.args;
  if (command.args.length === 0) command.help({ error: options.isError });
  const near = nearestWord(
    word,
    command.commands.map((one) => one.name()),
  );
  throw new Fault("input.usage", `"${`${options.path} ${word}`.trim()}" is no command.`, {
    hint: near
      ? `Did you mean \`${["nightshift", options.path, near].filter(Boolean).join(" ")}\`?`
      : `See \`${["nightshift", options.path, "--help"].filter(Boolean).join(" ")}\`.`,
  });
}

interface State {
  exitCode: number;
  /** Before options are parsed: an error in them must have the right shape too. */
  isJson: boolean;
}

interface Registration {
  program: Command;
  nouns: Map<string, Command>;
  spec: CommandSpec;
  deps: ProgramDeps;
  state: State;
}

function addCommand({ program, nouns, spec, deps, state }: Registration): void {
  const words = spec.path.split(" ");
  const verb = words.at(-1) ?? spec.path;
  const parent = words.length > 1 ? nounOf(program, nouns, words[0] ?? "") : program;
  const command = parent.command(spec.args ? `${verb} ${spec.args}` : verb).description(spec.summary);
  command.exitOverride().configureOutput(program.configureOutput());
  for (const [flags, description, fallback] of spec.options ?? []) {
    const option = new Option(flags, description);
    if (fallback !== undefined) option.default(fallback);
    command.addOption(option);
  }
  command.action(async () => {
    const options = command.optsWithGlobals<Options>();
    state.exitCode = await callCommand(spec, {
      args: (command.processedArgs as (string | string[] | undefined)[]).flat(),
      options,
      deps,
    });
  });
}

function nounOf(program: Command, nouns: Map<string, Command>, name: string): Command {
  const known = nouns.get(name);
  if (known) return known;
  const noun = program
    .command(name)
    .description(NOUNS[name] ?? name)
    .exitOverride()
    .configureOutput(program.configureOutput());
  noun.action(() => answerWord(noun, { path: name, isError: true }));
  noun.allowExcessArguments(true);
  nouns.set(name, noun);
  return noun;
}

async function callCommand(
  spec: CommandSpec,
  input: { args: Call["args"]; options: Options; deps: ProgramDeps },
): Promise<number> {
  const { options, deps } = input;
  const io = terminalIo({
    isJson: options.json === true,
    isDebug: options.debug === true,
    signal: deps.signal,
  });
  const text = (name: string) => (typeof options[name] === "string" ? (options[name] as string) : undefined);
  const home = deps.chooseHome({ home: text("home"), profile: text("profile") });
  const opened: Context[] = [];
  const call: Call = {
    args: input.args,
    options,
    io,
    home,
    watchWorker: deps.watchWorker,
    async open(extra = {}) {
      // The `stdout` target: with --json it gives way to the documents and writes to stderr.
      const stdout = io.isJson ? io.note : io.out;
      const context = await deps.openContext(home, {
        actor: actorOf(io),
        isDebug: io.isDebug,
        stdout,
        ...extra,
      });
      opened.push(context);
      if (spec.changesJobs) refuseInsideRun(io, context);
      if (spec.readsJobFiles) await syncWhenAlone(context, io.signal);
      return context;
    },
  };
  try {
    const run = await spec.load();
    return (await run(call)) ?? EXIT.ok;
  } finally {
    for (const context of opened) await context.close();
  }
}

function actorOf(io: Io): string {
  return `cli:${io.env.USER ?? io.env.LOGNAME ?? "unknown"}`;
}

/** S1: work that runs must not schedule work, or stop and restart the node it runs on. */
function refuseInsideRun(io: Io, context: Context): void {
  const runId = io.env.NIGHTSHIFT_RUN_ID;
  if (!runId || context.config.http.allowRunsToSchedule) return;
  throw new Fault("input.refused", `run ${runId} may not change jobs.`, {
    hint: "Do it outside of a run, or allow it with `http.allowRunsToSchedule: true` in config.yaml.",
  });
}
