// Starting a program on this machine for an environment: the command itself (local) or the client that carries it.
//
// I1. Own session and process group; nothing is inherited but the environment given.
// I2. Never a shell of ours in between: arguments arrive verbatim.

import { type StdioOptions, spawn } from "node:child_process";
import { closeSync } from "node:fs";
import type { Readable } from "node:stream";
import { Fault } from "../../kernel/errors.ts";
import type { InputPipe, OutputPipe, PipePool } from "../pipe-pool.ts";
import { processStartTime } from "../process-table.ts";
import type { Launched } from "./place.ts";

export interface ProcessLaunch {
  argv: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  hasStdin: boolean;
  /** Gives real pipes, so that `> /dev/stderr` works in commands. */
  pipes?: PipePool | undefined;
}

/** Starts it. Throws Fault `environment.broken` when the machine would not. */
export async function launchProcess(launch: ProcessLaunch): Promise<Launched> {
  const input = launch.hasStdin ? await launch.pipes?.takeInput() : undefined;
  const outputs = await launch.pipes?.take();
  try {
    return await start(launch, { input, outputs });
  } catch (error) {
    for (const pipe of outputs ?? []) pipe.stream.destroy();
    input?.stream.destroy();
    throw error;
  } finally {
    for (const pipe of outputs ?? []) closeSync(pipe.writeEnd);
    if (input) closeSync(input.readEnd);
  }
}

/** Each is a pipe of ours, or what Node makes. */
interface Pipes {
  input: InputPipe | undefined;
  outputs: [OutputPipe, OutputPipe] | undefined;
}

async function start({ argv, env, hasStdin }: ProcessLaunch, { input, outputs }: Pipes): Promise<Launched> {
  const [command = "", ...args] = argv;
  const stdin = input?.readEnd ?? (hasStdin ? "pipe" : "ignore");
  const stdio: StdioOptions = [stdin, outputs?.[0].writeEnd ?? "pipe", outputs?.[1].writeEnd ?? "pipe"];
  const child = spawn(command, args, { cwd: "/", env: { ...env }, detached: true, stdio });
  const failed = new Promise<Error>((resolve) => child.once("error", resolve));
  const { pid } = child;
  if (pid === undefined) throw refusal(command, await failed);
  // Unreaped until the event loop turns, so its start time is there even if it has ended.
  const startTime = processStartTime(pid) ?? "";
  const exited = new Promise<{ exitCode: number | undefined; signal: string | undefined }>((resolve) => {
    child.once("exit", (code, signal) =>
      resolve({ exitCode: code ?? undefined, signal: signal ?? undefined }),
    );
  });
  child.on("error", () => {});
  const toChild = input?.stream ?? child.stdin ?? undefined;
  toChild?.on("error", () => {});
  const stdout = outputs?.[0].stream ?? (child.stdout as Readable);
  const stderr = outputs?.[1].stream ?? (child.stderr as Readable);
  return {
    stdout,
    stderr,
    stdin: toChild,
    pid,
    startTime,
    exited,
    drop() {
      stdout.destroy();
      stderr.destroy();
      toChild?.destroy();
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
    },
    unref() {
      child.unref();
      for (const stream of [stdout, stderr, toChild])
        if (stream && "unref" in stream) (stream.unref as () => void)();
    },
  };
}

function refusal(command: string, error: Error): Fault {
  return new Fault("environment.broken", `${command} could not be started: ${error.message}`, {
    hint: "Look at this machine's limits of processes, memory and open files.",
    retry: "later",
    cause: error,
  });
}
