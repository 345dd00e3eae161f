// One Python worker process (python-worker.py `serve`): started held, given one call at a time, ended with its group.
//
// I1. Held until the first run that uses it has committed it (L10). A run that uses it later commits it as its own, too.
// I2. When its stdin closes, it ends itself: a node that is killed leaves none.
// I3. A call that is aborted ends the worker: nothing else can end a function.

import type { Readable } from "node:stream";
import { captureStream, makeTail } from "../../execute/capture.ts";
import type { ScriptDeps } from "../../execute/run-script.ts";
import { type CommandExit, type HeldProcess, spawnHeld } from "../../execute/spawn-held.ts";
import { endMarked } from "../../execute/terminate.ts";
import type { Clock } from "../../kernel/time.ts";
import {
  type PythonMessage,
  type PythonModule,
  type PythonRequest,
  readMessages,
} from "../../orchestrate/executors/python-protocol.ts";
import type { ProcessIdentity } from "../../records/process.ts";

export interface PythonWorker {
  identity: ProcessIdentity;
  /** Sends a call; its messages come one by one, the last is its result or error. */
  call(request: PythonRequest, listen: PythonListener): void;
  /** Lets it begin. Idempotent. */
  release(): void;
  /** Settles at its end, with the tail of what it wrote to stderr. Never rejects. */
  ended: Promise<WorkerEnd>;
  hasEnded(): boolean;
  /** Ends it and its group: at once when idle, TERM → grace → KILL otherwise. Idempotent. Never rejects. */
  end(graceMs: number): Promise<void>;
}

export interface PythonListener {
  message(message: PythonMessage): void;
  /** What was written past Python: by programs it started, or by C code. */
  raw(chunk: Uint8Array): void;
}

export interface WorkerEnd {
  exit: CommandExit;
  stderr: string;
  /** It broke the protocol, and was ended for that. */
  broken: string | undefined;
}

export interface WorkerStart {
  python: string;
  file: string;
  module: PythonModule;
  cwd: string;
  env: Readonly<Record<string, string>>;
}

const STDERR_BYTES = 64_000;

/** Starts one, held. The text says why it could not be started. */
export async function startPythonWorker(
  deps: { clock: Clock; marks?: ScriptDeps["marks"] },
  start: WorkerStart,
): Promise<PythonWorker | string> {
  const held = await spawnHeld({
    command: start.python,
    args: [start.file, "serve", JSON.stringify(start.module)],
    cwd: start.cwd,
    env: start.env,
    keepsStdin: true,
  });
  if (held.kind === "refused") return held.message;
  return overProcess(deps, held);
}

function overProcess(deps: { clock: Clock; marks?: ScriptDeps["marks"] }, held: HeldProcess): PythonWorker {
  const endSkip = deps.marks?.skip(held.identity.pid) ?? (() => {});
  const tail = makeTail(STDERR_BYTES);
  let listener: PythonListener | undefined;
  let broken: string | undefined;
  let isOver = false;
  const stderr = captureStream(held.stderr, {
    maxBytes: STDERR_BYTES,
    onChunk: (chunk) => {
      tail.push(chunk);
      listener?.raw(chunk);
    },
  });
  const end = async (graceMs: number) => {
    if (isOver) return;
    const known = [held.identity];
    // Its programs carry the marks of their runs, which those runs look for; here its own group is meant.
    await endMarked(deps, { mark: `NIGHTSHIFT_WORKER=${held.identity.pid}`, known, graceMs });
    await held.exited;
  };
  listenTo(held.stdout, {
    message: (message) => listener?.message(message),
    broken: (why) => {
      broken = why;
      void end(0);
    },
  });
  const ended = held.exited.then(async (exit): Promise<WorkerEnd> => {
    isOver = true;
    endSkip();
    await settled(stderr.ended, deps.clock);
    stderr.stop();
    held.stdout.destroy();
    return { exit, stderr: tail.text(), broken };
  });
  return {
    identity: held.identity,
    call(request, to) {
      listener = to;
      held.child.stdin?.write(`${JSON.stringify(request)}\n`);
    },
    release: () => held.release(),
    ended,
    hasEnded: () => isOver,
    end,
  };
}

/** Somebody it left behind may hold the pipe: its last words are waited for a moment only. */
const LAST_WORDS_MS = 200;

async function settled(stream: Promise<void>, clock: Clock): Promise<void> {
  const timer = new AbortController();
  const limit = clock.sleep(LAST_WORDS_MS, timer.signal).catch(() => {});
  await Promise.race([stream, limit]);
  timer.abort();
  await limit;
}

function listenTo(stdout: Readable, on: Parameters<typeof readMessages>[0]): void {
  stdout.on("data", readMessages(on));
  stdout.on("error", () => {});
}
