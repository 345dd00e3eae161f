// A program in a real terminal, through node-pty where it is installed (an optional package, loaded on use).
//
// A program of another place gets its terminal from its client (`docker exec --tty`, `ssh -tt`), which gets this one.
//
// I1. Without the package, or where it cannot make a terminal, the answer is `environment.unusable` with what to do.

import { PassThrough, Writable } from "node:stream";
import { Fault, messageOf } from "../../kernel/errors.ts";
import { processStartTime } from "../process-table.ts";
import type { CommandExit } from "../spawn-held.ts";
import type { Launched } from "./place.ts";

/** What of node-pty is used. */
interface Terminal {
  pid: number;
  onData(listener: (data: string | Buffer) => void): unknown;
  onExit(listener: (end: { exitCode: number; signal?: number }) => void): unknown;
  write(data: string | Buffer): void;
  kill(signal?: string): void;
  pause(): void;
  resume(): void;
}
interface TerminalModule {
  spawn(file: string, args: string[], options: Record<string, unknown>): Terminal;
}

/** A name that bundlers do not follow: the package is there or it is not. */
const PACKAGE: string = "@lydell/node-pty";

export interface TerminalLaunch {
  argv: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  columns: number;
  rows: number;
  /** Another package of the same form. Default: @lydell/node-pty. */
  package?: string;
}

/** Starts it. Everything it says comes through stdout. */
export async function launchTerminal(launch: TerminalLaunch): Promise<Launched> {
  const [command = "", ...args] = launch.argv;
  const { spawn } = await loadTerminals(launch.package ?? PACKAGE);
  const terminal = spawn(command, args, {
    name: "xterm-256color",
    cols: launch.columns,
    rows: launch.rows,
    cwd: "/",
    env: { ...withoutAbsent(launch.env), TERM: "xterm-256color" },
    encoding: null,
  });
  const stdout = new PassThrough();
  // Back-pressure: a reader that is slow slows the terminal, and memory stays bounded.
  terminal.onData((data) => {
    if (stdout.write(data)) return;
    terminal.pause();
    stdout.once("drain", () => terminal.resume());
  });
  const exited = new Promise<CommandExit>((resolve) => {
    terminal.onExit(({ exitCode, signal }) => {
      stdout.end();
      resolve(signal ? { exitCode: undefined, signal: String(signal) } : { exitCode, signal: undefined });
    });
  });
  return {
    stdout,
    stderr: undefined,
    stdin: terminalInput(terminal),
    pid: terminal.pid,
    startTime: processStartTime(terminal.pid) ?? "",
    exited,
    drop: () => terminal.kill("SIGKILL"),
    unref: () => {},
  };
}

function withoutAbsent(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

async function loadTerminals(name: string): Promise<TerminalModule> {
  try {
    return (await import(name)) as TerminalModule;
  } catch (cause) {
    throw new Fault("environment.unusable", `there is no terminal here: ${messageOf(cause)}`, {
      hint: `Install ${name} beside Nightshift, or start the command without a terminal.`,
      cause,
    });
  }
}

/** The end of input is said as a person says it: Ctrl-D. */
function terminalInput(terminal: Terminal): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      terminal.write(chunk);
      done();
    },
    final(done) {
      terminal.write("\u0004");
      done();
    },
  });
}
