// What a background process printed: a tail in memory for whoever asks, and a file with all of it up to a cap.
//
// I1. Memory is bounded whatever a process prints. Characters are whole also where a chunk's edge cuts them.
// I2. The file is written in order, 0600, and never grows beyond its cap; at the cap it says so and stops.
// I3. Text is redacted where it leaves (`text`, the file), so a value cut by a chunk's edge is hidden in `text` too.

import { type FileHandle, open } from "node:fs/promises";
import type { Redact } from "../../kernel/redact.ts";

/** Characters kept. @source upstream.md 1.9 */
export const KEPT_CHARACTERS = 200_000;
/** Bytes of the log file. */
export const DEFAULT_FILE_BYTES = 50_000_000;
/** A line longer than this goes to the file in pieces. */
const LONGEST_LINE = 65_536;

export interface OutputLog {
  push(stream: "stdout" | "stderr", chunk: Uint8Array): void;
  /** The kept text, redacted. */
  text(): string;
  totalBytes(): number;
  isCut(): boolean;
  /** Whether so much waits for the disk that the process should be read more slowly. */
  isBehind(): boolean;
  /** Resolves when what was pushed is in the file, or the file has failed. */
  flushed(): Promise<void>;
  /** Ends the file. Idempotent. Never rejects. */
  close(): Promise<void>;
}

export interface OutputLogOptions {
  redact: Redact;
  /** Absent = no file. */
  path?: string;
  maxFileBytes?: number;
  keptCharacters?: number;
  /** Called once when the file cannot be written; the process goes on without it. */
  onFileError(error: unknown): void;
}

/** Most bytes that may wait for the disk. */
const MOST_WAITING = 4_000_000;

/** Opens a log. Nothing is created before the first output. */
export function openOutputLog(options: OutputLogOptions): OutputLog {
  const kept = options.keptCharacters ?? KEPT_CHARACTERS;
  const decoders = { stdout: makeDecoder(), stderr: makeDecoder() };
  const file = options.path === undefined ? undefined : makeLogFile({ ...options, path: options.path });
  let tail = "";
  let total = 0;
  let isCut = false;

  function keep(text: string): void {
    tail += text;
    // Cut in steps, so that a flood does not copy the whole tail for each chunk.
    if (tail.length <= 2 * kept) return;
    tail = tail.slice(-kept);
    isCut = true;
  }

  return {
    push(stream, chunk) {
      total += chunk.length;
      const text = decoders[stream].push(chunk);
      keep(text);
      file?.push(text);
    },
    text() {
      return options.redact(tail.length > kept || isCut ? fromLineStart(tail.slice(-kept)) : tail);
    },
    totalBytes: () => total,
    isCut: () => isCut || tail.length > kept,
    isBehind: () => (file?.waitingBytes() ?? 0) > MOST_WAITING,
    flushed: async () => file?.flushed(),
    async close() {
      const rest = decoders.stdout.end() + decoders.stderr.end();
      keep(rest);
      file?.push(rest);
      await file?.close();
    },
  };
}

/** A cut head begins with a whole line where one is near: half a line may hold half a secret, or half a character. */
function fromLineStart(text: string): string {
  const newline = text.slice(0, 4_096).indexOf("\n");
  return newline >= 0 ? text.slice(newline + 1) : text.replace(/^[\uDC00-\uDFFF]/, "");
}

function makeDecoder(): { push(chunk: Uint8Array): string; end(): string } {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return { push: (chunk) => decoder.decode(chunk, { stream: true }), end: () => decoder.decode() };
}

interface LogFile {
  push(text: string): void;
  waitingBytes(): number;
  flushed(): Promise<void>;
  close(): Promise<void>;
}

function makeLogFile(options: OutputLogOptions & { path: string }): LogFile {
  const writer = makeCappedWriter(options);
  let unfinished = "";
  let waiting = "";
  let writing: Promise<void> | undefined;

  async function writeAll(): Promise<void> {
    while (waiting !== "") {
      const text = waiting;
      waiting = "";
      await writer.write(text);
    }
  }

  function startWriting(): void {
    writing ??= writeAll().finally(() => {
      writing = undefined;
      if (waiting !== "") startWriting();
    });
  }

  function push(text: string): void {
    if (writer.isOver() || text === "") return;
    unfinished += text;
    const end = unfinished.length > LONGEST_LINE ? unfinished.length : unfinished.lastIndexOf("\n") + 1;
    waiting += unfinished.slice(0, end);
    unfinished = unfinished.slice(end);
    if (waiting !== "") startWriting();
  }

  async function flushed(): Promise<void> {
    while (writing) await writing;
  }

  return {
    push,
    waitingBytes: () => waiting.length,
    flushed,
    async close() {
      waiting += writer.isOver() ? "" : unfinished;
      unfinished = "";
      if (waiting !== "") startWriting();
      await flushed();
      await writer.close();
    },
  };
}

/** Appends to the file until the cap. Never rejects: a file that fails is over, and was told of. */
function makeCappedWriter(options: OutputLogOptions & { path: string }): {
  write(text: string): Promise<void>;
  isOver(): boolean;
  close(): Promise<void>;
} {
  const maxBytes = options.maxFileBytes ?? DEFAULT_FILE_BYTES;
  let handle: FileHandle | undefined;
  let written = 0;
  let isOver = false;

  async function append(text: string): Promise<void> {
    handle ??= await open(options.path, "a", 0o600);
    const bytes = Buffer.from(options.redact(text));
    const room = maxBytes - written;
    isOver = bytes.length > room;
    await handle.write(isOver ? bytes.subarray(0, room) : bytes);
    written += Math.min(bytes.length, room);
    if (isOver) await handle.write(`\n[the log ends here: ${maxBytes} bytes]\n`);
  }

  return {
    async write(text) {
      if (isOver) return;
      await append(text).catch((error: unknown) => {
        isOver = true;
        options.onFileError(error);
      });
    },
    isOver: () => isOver,
    async close() {
      await handle?.close().catch(() => {});
      handle = undefined;
    },
  };
}
