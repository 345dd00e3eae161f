// Real pipes for stdin, stdout and stderr.
//
// Node gives a child sockets, and a socket cannot be opened again by its name: `echo oops > /dev/stderr`, an everyday
// line of shell, would fail under Nightshift and nowhere else. Node has no call that makes a pipe, so named ones are
// made in batches (one `mkfifo` for many runs), opened at both ends and unlinked: from then on they are pipes.
//
// Stdin is one too wherever stdout is: a program that splices its input into its output (busybox's `cat`) holds the output's
// lock in the kernel while it waits for a socket's next byte, and whoever reads the output (our event loop) hangs with it.
// Between two pipes the kernel waits without the lock. @source splice(2), fs/splice.c: splice_file_to_pipe
//
// I1. A pipe is handed out once, and nothing of it stays on disk: a batch is unlinked as soon as it is open.
// I2. Where pipes cannot be made (no mkfifo, no descriptors left), the answer is undefined and sockets do.

import { execFile } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { Socket } from "node:net";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { promisify } from "node:util";

/** Pipes made by one `mkfifo`; two or three serve one run, so at most 64 descriptors wait. */
const BATCH = 32;

export interface OutputPipe {
  stream: Readable;
  /** The end to hand to a child. The taker closes it once the child has it, or never will. */
  writeEnd: number;
}

export interface InputPipe {
  stream: Writable;
  /** The end to hand to a child. The taker closes it once the child has it, or never will. */
  readEnd: number;
}

/** Owned by the node; shared by its runs. */
export interface PipePool {
  /** Two fresh pipes, for stdout and stderr. */
  take(): Promise<[OutputPipe, OutputPipe] | undefined>;
  /** A fresh pipe for stdin. */
  takeInput(): Promise<InputPipe | undefined>;
  /** Closes what waits. Pipes that were taken go on. Idempotent. */
  close(): Promise<void>;
}

/** Both ends of a pipe, as descriptors that no child inherits by itself. */
interface Ends {
  readEnd: number;
  writeEnd: number;
}

/** A pool that makes its pipes below `folder` (on a local disk; made if absent). */
export function makePipePool(folder: string): PipePool {
  let waiting: Ends[] = [];
  let filling: Promise<void> | undefined;
  let isClosed = false;

  async function takeEnds(count: number): Promise<Ends[] | undefined> {
    while (waiting.length < count) {
      if (isClosed) return undefined;
      filling ??= makeBatch(folder)
        .then((batch) => void waiting.push(...batch))
        .finally(() => {
          filling = undefined;
        });
      await filling;
    }
    return waiting.splice(0, count);
  }

  async function take(): Promise<[OutputPipe, OutputPipe] | undefined> {
    const [first, second] = (await takeEnds(2)) ?? [];
    return first && second && [toOutput(first), toOutput(second)];
  }

  async function takeInput(): Promise<InputPipe | undefined> {
    const [ends] = (await takeEnds(1)) ?? [];
    return ends && { stream: toStream(ends.writeEnd, "writable"), readEnd: ends.readEnd };
  }

  return {
    take: () => take().catch(() => undefined),
    takeInput: () => takeInput().catch(() => undefined),
    async close() {
      isClosed = true;
      await filling?.catch(() => {});
      for (const ends of waiting) closeEnds(ends);
      waiting = [];
    },
  };
}

async function makeBatch(folder: string): Promise<Ends[]> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const own = await mkdtemp(join(folder, "pipes-"));
  const batch: Ends[] = [];
  try {
    const names = Array.from({ length: BATCH }, (_, index) => join(own, String(index)));
    await promisify(execFile)("mkfifo", ["-m", "600", ...names]);
    for (const name of names) batch.push(openEnds(name));
    return batch;
  } catch (error) {
    for (const ends of batch) closeEnds(ends);
    throw error;
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}

function openEnds(path: string): Ends {
  // Not blocking, or the open would wait for a writer; the writer's open finds its reader.
  const readEnd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return { readEnd, writeEnd: openSync(path, constants.O_WRONLY) };
  } catch (error) {
    closeSync(readEnd);
    throw error;
  }
}

function closeEnds(ends: Ends): void {
  closeSync(ends.readEnd);
  closeSync(ends.writeEnd);
}

function toOutput({ readEnd, writeEnd }: Ends): OutputPipe {
  return { stream: toStream(readEnd, "readable"), writeEnd };
}

function toStream(fd: number, kind: "readable" | "writable"): Socket {
  return new Socket({ fd, readable: kind === "readable", writable: kind === "writable" });
}
