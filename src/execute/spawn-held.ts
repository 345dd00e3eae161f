// Spawning a command that waits (L10): a shim holds its pid until one byte arrives, then becomes the command.
//
// I1. pid, start time and group are known, and can be committed, before the command's first instruction.
// I2. A closed pipe ends the shim: a crash between spawn and commit leaves no process.
// I3. Own session and group; the pipe's far end is closed in the command, so nothing of it leaks.
// I4. The shim passes arguments verbatim and takes out of the environment what a shell would add.

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync } from "node:fs";
import { stat } from "node:fs/promises";
import type { Duplex, Readable } from "node:stream";
import { messageOf } from "../kernel/errors.ts";
import type { ProcessIdentity } from "../records/process.ts";
import { findCommand } from "./find-command.ts";
import type { OutputPipe, PipePool } from "./pipe-pool.ts";
import { processStartTime } from "./process-table.ts";

/**
 * `read` takes the byte (a newline); end of file means nobody will release us. What is checked here again may have
 * changed since the parent looked; the answer goes back through the same pipe, so a command's own 126 or 127 is
 * never mistaken for it.
 */
const SHIM = `read -r NIGHTSHIFT_HELD <&3 || exit 0
unset NIGHTSHIFT_HELD PWD OLDPWD SHLVL
[ -f "$1" ] || { echo missing >&3; exit 127; }
[ -x "$1" ] || { echo denied >&3; exit 126; }
exec "$@" 3<&-`;

export interface HeldCommand {
  /** Absolute, or a bare name looked up along `env.PATH`. */
  command: string;
  args: readonly string[];
  cwd: string;
  /** The whole environment; nothing is inherited. */
  env: Readonly<Record<string, string>>;
  /** Written to the command's stdin after release, which is closed then. Default: stdin is /dev/null. */
  stdin?: string;
  /** Leaves stdin open after the release: `child.stdin` is the caller's to write to and to close. Default false. */
  keepsStdin?: boolean;
  /** Gives stdout and stderr real pipes; without it they are sockets (pipe-pool.ts). */
  pipes?: PipePool | undefined;
}

export interface CommandExit {
  exitCode: number | undefined;
  signal: string | undefined;
}

export type SpawnRefusal = {
  kind: "refused";
  code: "missing" | "notExecutable" | "cwd" | "argument" | "spawn";
  message: string;
};

export interface HeldProcess {
  kind: "held";
  identity: ProcessIdentity;
  child: ChildProcess;
  stdout: Readable;
  stderr: Readable;
  /** Never rejects. */
  exited: Promise<CommandExit>;
  /** How the hand-over went: `started` once the command itself runs; `abandoned` when it never was released. Never rejects. */
  handedOver: Promise<"started" | "missing" | "notExecutable" | "abandoned">;
  /** Lets the command begin. Idempotent. */
  release(): void;
  /** Ends the shim without the command ever beginning; resolves when it is gone. After `release` it kills. */
  abandon(): Promise<void>;
}

/** Starts a command held. Whatever stands in its way is an answer, not an exception. */
export async function spawnHeld(command: HeldCommand): Promise<HeldProcess | SpawnRefusal> {
  const texts = [command.command, ...command.args, command.cwd, ...Object.entries(command.env).flat()];
  if (texts.some((text) => text.includes("\0")))
    return { kind: "refused", code: "argument", message: "an argument or variable holds a NUL byte" };
  const found = await findCommand(command.command, command.env.PATH ?? "");
  if (found.kind !== "found") return { kind: "refused", code: found.kind, message: found.message };
  const pipes = await command.pipes?.take();
  try {
    const held = await startShim(command, found.path, pipes);
    if (held.kind === "refused") for (const pipe of pipes ?? []) pipe.stream.destroy();
    return held;
  } finally {
    for (const pipe of pipes ?? []) closeSync(pipe.writeEnd);
  }
}

async function startShim(
  command: HeldCommand,
  path: string,
  pipes: readonly [OutputPipe, OutputPipe] | undefined,
): Promise<HeldProcess | SpawnRefusal> {
  let child: ChildProcess;
  try {
    child = spawn("/bin/sh", ["-c", SHIM, "nightshift", path, ...command.args], {
      cwd: command.cwd,
      env: command.env,
      detached: true,
      stdio: [
        command.stdin === undefined && !command.keepsStdin ? "ignore" : "pipe",
        pipes?.[0].writeEnd ?? "pipe",
        pipes?.[1].writeEnd ?? "pipe",
        "pipe",
      ],
    });
  } catch (error) {
    return spawnRefusal(messageOf(error), command.cwd);
  }
  const { pid } = child;
  if (pid === undefined) return spawnError(child, command.cwd);
  // A child killed before this line is still unreaped (the event loop has not turned), so its start time is there.
  const startTime = processStartTime(pid) ?? "";
  const held = holdChild(child, { pid, startTime, processGroup: pid }, command.stdin);
  return pipes ? { ...held, stdout: pipes[0].stream, stderr: pipes[1].stream } : held;
}

/** Node words a missing working folder as if the shell were missing. */
async function spawnRefusal(message: string, cwd: string): Promise<SpawnRefusal> {
  const isFolder = await stat(cwd).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (isFolder) return { kind: "refused", code: "spawn", message };
  return { kind: "refused", code: "cwd", message: `working folder ${cwd} does not exist` };
}

/** The reason of a spawn that gave no pid; also waits for the event, which would otherwise be thrown. */
async function spawnError(child: ChildProcess, cwd: string): Promise<SpawnRefusal> {
  const message = await new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
  });
  return spawnRefusal(message, cwd);
}

function holdChild(child: ChildProcess, identity: ProcessIdentity, stdin: string | undefined): HeldProcess {
  const pipe = child.stdio[3] as Duplex;
  const exited = new Promise<CommandExit>((resolve) => {
    child.once("exit", (code, signal) =>
      resolve({ exitCode: code ?? undefined, signal: signal ?? undefined }),
    );
  });
  // A later `error` event concerns a signal that could not be sent; ending is judged by looking, not by it.
  child.on("error", () => {});
  child.stdin?.on("error", () => {});
  let isReleased = false;
  const handedOver = readAnswer(pipe).then((answer) => {
    if (answer.startsWith("missing")) return "missing" as const;
    if (answer.startsWith("denied")) return "notExecutable" as const;
    return isReleased ? ("started" as const) : ("abandoned" as const);
  });
  return {
    kind: "held",
    identity,
    child,
    stdout: child.stdout as Readable,
    stderr: child.stderr as Readable,
    exited,
    handedOver,
    release() {
      if (isReleased) return;
      isReleased = true;
      pipe.write("\n");
      if (stdin !== undefined) child.stdin?.end(stdin);
    },
    async abandon() {
      pipe.destroy();
      child.stdin?.destroy();
      // Unreaped until Node tells us of its exit, so the group's number cannot have passed to anybody else.
      if (child.exitCode === null && child.signalCode === null) killGroup(identity.processGroup);
      await exited;
    },
  };
}

function readAnswer(pipe: Duplex): Promise<string> {
  return new Promise((resolve) => {
    let answer = "";
    pipe.on("data", (chunk) => {
      answer += String(chunk);
    });
    pipe.on("error", () => {});
    pipe.once("close", () => resolve(answer));
  });
}

function killGroup(processGroup: number): void {
  try {
    process.kill(-processGroup, "SIGKILL");
  } catch {
    // It has just ended.
  }
}
