// `process start | list | poll | log | wait | write | close | kill | handoff`.

import { resolve } from "node:path";
import {
  homeProcesses,
  notifyOf,
  type ProcessDocument,
  processDocument,
} from "../app/background/home-processes.ts";
import { nodesUp } from "../app/nodes.ts";
import { Fault } from "../kernel/errors.ts";
import { formatDuration } from "../kernel/time.ts";
import type { BackgroundProcess } from "../records/background.ts";
import type { Call, RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { print, table } from "./io.ts";
import { durationOption, numberOption, textOption } from "./options.ts";

const DEFAULT_WAIT_MS = 180_000;

const opened = async ({ io, open }: Call) => homeProcesses(await open(), io.cwd);

export const start: RunCommand = async (call) => {
  const {
    args: [command = ""],
    options,
    io,
    open,
  } = call;
  const context = await open();
  const cwd = textOption(options, "cwd");
  const notify = notifyOf({
    targets: wordsOf(options.notify),
    texts: wordsOf(options.watch) ?? [],
    regexes: wordsOf(options.watchRegex) ?? [],
    heartbeatMs: durationOption(options, "heartbeat"),
  });
  if (!notify && ["watch", "watchRegex", "heartbeat"].some((name) => options[name] !== undefined))
    throw new Fault("input.usage", "nobody is to be told of these lines", { hint: "Add --notify TARGET." });
  const started = await homeProcesses(context, io.cwd).start(
    {
      command,
      cwd: cwd === undefined ? io.cwd : resolve(io.cwd, cwd),
      ...(notify && { notify }),
    },
    io.signal,
  );
  print(io, processDocument(started), () => `Started ${started.id} (pid ${started.pid ?? "unknown"}).`);
  if (notify && (await nodesUp(context)).length === 0)
    io.note("No node is up: messages go out once one is (`nightshift up`).");
  return EXIT.ok;
};

export const list: RunCommand = async (call) => {
  const documents = (await (await opened(call)).list()).map(processDocument);
  const rows = documents.map((one) => [
    one.id,
    stateText(one),
    one.startedAt,
    one.environment,
    one.runId ?? "home",
    one.command.split("\n")[0]?.slice(0, 80) ?? "",
  ]);
  print(call.io, documents, () =>
    rows.length === 0
      ? "No background process is known."
      : table(["ID", "STATE", "STARTED", "ENVIRONMENT", "OWNER", "COMMAND"], rows),
  );
  return EXIT.ok;
};

export const poll: RunCommand = async (call) => {
  const { process, output } = await (await opened(call)).poll(call.args[0] ?? "");
  return show(call, process, { output });
};

export const log: RunCommand = async (call) => {
  const lines = numberOption(call.options, "lines", { min: 1, max: 1_000_000 });
  const offset = numberOption(call.options, "offset", { min: 0, max: 1_000_000_000 });
  const { process, output, isCut } = await (await opened(call)).log(call.args[0] ?? "", {
    ...(lines !== undefined && { lines }),
    ...(offset !== undefined && { offset }),
  });
  print(call.io, { process: processDocument(process), output, isCut }, () => output);
  return EXIT.ok;
};

export const wait: RunCommand = async (call) => {
  const { io, options, args } = call;
  const asked = durationOption(options, "timeout") ?? DEFAULT_WAIT_MS;
  const timeoutMs = Math.min(asked, DEFAULT_WAIT_MS);
  if (asked > timeoutMs) io.note(`Waiting ${formatDuration(timeoutMs)}, the most for one call.`);
  const answer = await (await opened(call)).wait(args[0] ?? "", { timeoutMs, signal: io.signal });
  show(call, answer.process, { status: answer.status, output: answer.output });
  if (answer.status === "interrupted") return EXIT.interrupted;
  if (answer.status === "timeout") return EXIT.waitRanOut;
  if (answer.process.state === "lost") return EXIT.unknown;
  return answer.process.exitCode === 0 ? EXIT.ok : EXIT.failed;
};

export const write: RunCommand = async (call) => {
  const [id = "", text] = call.args;
  const data =
    text === undefined ? await call.io.readStdin() : `${text}${call.options.newline === false ? "" : "\n"}`;
  await (await opened(call)).write(id, data);
  print(
    call.io,
    { written: Buffer.byteLength(data) },
    () => `${Buffer.byteLength(data)} bytes were written.`,
  );
  return EXIT.ok;
};

export const close: RunCommand = async (call) => {
  await (await opened(call)).closeStdin(call.args[0] ?? "");
  print(call.io, { closed: true }, () => "Its standard input is closed.");
  return EXIT.ok;
};

export const kill: RunCommand = async (call) => {
  const { process, survivors, wasRunning } = await (await opened(call)).kill(call.args[0] ?? "");
  const document = { process: processDocument(process), survivors, wasRunning };
  print(call.io, document, () =>
    survivors > 0
      ? `${survivors} of its processes could not be ended.`
      : `Process ${process.id} ${wasRunning ? "was ended" : "had ended already"}.`,
  );
  return survivors > 0 ? EXIT.failed : EXIT.ok;
};

export const handoff: RunCommand = async (call) => {
  const process = await (await opened(call)).handOff(call.args[0] ?? "");
  print(call.io, processDocument(process), () => `Process ${process.id} is the home's now.`);
  return EXIT.ok;
};

function show({ io }: Call, process: BackgroundProcess, facts: { status?: string; output: string }): number {
  const document = processDocument(process);
  print(io, { ...facts, process: document }, () =>
    [`${process.id}: ${stateText(document)}`, facts.output.trimEnd()].filter(Boolean).join("\n"),
  );
  return EXIT.ok;
}

function stateText({ state, exitCode }: ProcessDocument): string {
  return exitCode === null ? state : `${state} (${exitCode})`;
}

/** As they stand: a pattern may hold a comma. */
function wordsOf(value: string | boolean | string[] | undefined): string[] | undefined {
  if (value === undefined || typeof value === "boolean") return undefined;
  return Array.isArray(value) ? value : [value];
}
