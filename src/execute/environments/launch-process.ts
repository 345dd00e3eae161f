// Starting a program on this machine for an environment: the command itself (local) or the client that carries it.
//
// I1. Own session and process group; nothing is inherited but the environment given.
// I2. Never a shell of ours in between: arguments arrive verbatim.

import { spawn } from "node:child_process";
import { closeSync } from "node:fs";
import type { Readable } from "node:stream";
import { Fault } from "../../kernel/errors.ts";
import type { PipePool } from "../pipe-pool.ts";
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
  const pipes = await launch.pipes?.take();
  try {
    return await start(launch, pipes?.map((pipe) => pipe.stream) as [Readable, Readable] | undefined, [
      launch.hasStdin ? "pipe" : "ignore",
      pipes?.[0].writeEnd ?? "pipe",
      pipes?.[1].writeEnd ?? "pipe",
    ]);
  } catch (error) {
    for (const pipe of pipes ?? []) pipe.stream.destroy();
    throw error;
  } finally {
    for (const pipe of pipes ?? []) closeSync(pipe.writeEnd);
  }
}

async function start(
  { argv, env }: ProcessLaunch,
  streams: [Readable, Readable] | undefined,
  stdio: ["pipe" | "ignore", "pipe" | number, "pipe" | number],
): Promise<Launched> {
  const [command = "", ...args] = argv;
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
  child.stdin?.on("error", () => {});
  const [stdout, stderr] = streams ?? [child.stdout as Readable, child.stderr as Readable];
  return {
    stdout,
    stderr,
    stdin: child.stdin ?? undefined,
    pid,
    startTime,
    exited,
    drop() {
      stdout.destroy();
      stderr.destroy();
      child.stdin?.destroy();
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
    },
    unref() {
      child.unref();
      for (const stream of [stdout, stderr]) if ("unref" in stream) (stream.unref as () => void)();
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
