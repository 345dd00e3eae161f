// An MCP server that is a program: it speaks through its stdin and stdout, and ends with us.
//
// I1. It leads a process group of its own; closing ends the whole group, so that what a launcher (npx, uvx) started goes
//     with it. If we die, its stdin ends, which is how such servers are told.
// I2. It sees an allow-list of the environment and what its own `env` names, never a model's key (S2).

import { type ChildProcess, spawn } from "node:child_process";
import { keepTail } from "../../kernel/bound-text.ts";
import { messageOf } from "../../kernel/errors.ts";
import { type Clock, SECOND } from "../../kernel/time.ts";
import type { Transport } from "./mcp-sdk.ts";

const DEFAULT_GRACE_MS = 2 * SECOND;
const MAX_STDERR = 2_000;
/** @source S2, without the run's own variables, which come as `marks`. */
const INHERITED = new Set(["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR"]);

export interface StdioServer {
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd: string | undefined;
}

export interface Patience {
  clock: Pick<Clock, "sleep">;
  /** For it to end after its stdin has ended, and again after TERM. Default 2,000. */
  graceMs?: number | undefined;
}

export interface StdioTransport extends Transport {
  /** The end of what it wrote to stderr. */
  stderrTail(): string;
  /** How it ended by itself; undefined while it runs, and when we ended it. */
  endedBy(): string | undefined;
}

type Sdk = Pick<typeof import("./mcp-sdk.ts"), "ReadBuffer" | "serializeMessage">;

/** What a server's process may know of the node's environment (I2). */
export function serverEnv(
  nodeEnv: Readonly<Record<string, string | undefined>>,
  own: Readonly<Record<string, string>>,
): Record<string, string> {
  const inherited = Object.entries(nodeEnv).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && (INHERITED.has(entry[0]) || entry[0].startsWith("LC_")),
  );
  return { ...Object.fromEntries(inherited), ...own };
}

/** Starts nothing before `start`, which rejects when the program cannot be started. `close` is idempotent. */
export function makeStdioTransport(sdk: Sdk, server: StdioServer, patience: Patience): StdioTransport {
  let child: ChildProcess | undefined;
  let stderr = "";
  let ending: string | undefined;
  let closing: Promise<void> | undefined;
  const buffer = new sdk.ReadBuffer();
  const transport: StdioTransport = {
    start: () =>
      new Promise((resolve, reject) => {
        const started = launch(server);
        child = started;
        started.once("spawn", resolve);
        started.once("error", (error) => {
          ending ??= messageOf(error);
          reject(error);
        });
        started.once("exit", (code, signal) => {
          // That it ends when we close it is no news; that it fails then may be why we do.
          if (closing !== undefined && (code ?? 0) === 0) return;
          ending ??= signal === null ? `it exited ${code}` : `it was ended by ${signal}`;
        });
        started.once("close", () => transport.onclose?.());
        started.stdin?.on("error", () => {});
        started.stderr?.on("data", (chunk: Buffer) => {
          stderr = keepTail(stderr + chunk.toString("utf8"), MAX_STDERR).text;
        });
        started.stdout?.on("data", (chunk: Buffer) => {
          if (!receive(transport, buffer, chunk)) void transport.close();
        });
      }),
    send: (message) => write(child, sdk.serializeMessage(message)),
    close() {
      closing ??= child === undefined ? Promise.resolve() : end(child, patience);
      return closing;
    },
    stderrTail: () => stderr.trim(),
    endedBy: () => ending,
  };
  return transport;
}

function launch({ command, args, env, cwd }: StdioServer): ChildProcess {
  return spawn(command, [...args], {
    env: { ...env },
    ...(cwd === undefined ? {} : { cwd }),
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
}

/** False when it floods us with what is no message. A line that is none by itself is told and passed over. */
function receive(transport: Transport, buffer: InstanceType<Sdk["ReadBuffer"]>, chunk: Buffer): boolean {
  try {
    buffer.append(chunk);
  } catch {
    return false;
  }
  for (;;) {
    try {
      const message = buffer.readMessage();
      if (message === null) return true;
      transport.onmessage?.(message);
    } catch (error) {
      transport.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }
}

function write(child: ChildProcess | undefined, text: string): Promise<void> {
  const stdin = child?.stdin;
  if (!stdin?.writable) return Promise.reject(new Error("the server's process has ended"));
  return new Promise((resolve, reject) => {
    stdin.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

/** End of stdin, TERM, KILL, each with a grace; then nothing of the group is left (I1). */
async function end(child: ChildProcess, { clock, graceMs = DEFAULT_GRACE_MS }: Patience): Promise<void> {
  const { pid } = child;
  if (pid === undefined) return;
  const over = new AbortController();
  if (child.stdout?.closed && child.stderr?.closed) over.abort();
  child.once("close", () => over.abort());
  child.stdin?.end();
  const waits = async () => {
    if (!over.signal.aborted) await clock.sleep(graceMs, over.signal).catch(() => {});
    return !over.signal.aborted;
  };
  if (await waits()) {
    signalGroup(pid, "SIGTERM");
    await waits();
  }
  signalGroup(pid, "SIGKILL");
  if (await waits()) for (const stream of [child.stdout, child.stderr]) stream?.destroy();
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // Nobody is left in it.
  }
}
