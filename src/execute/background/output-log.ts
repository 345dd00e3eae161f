// What a background process printed: a tail in memory for whoever asks, and a file with all of it up to a cap.
//
// I1. Memory is bounded whatever a process prints: bytes are kept, not text, so that a flood makes no garbage. Characters
//     are whole also where a chunk's edge cuts them.
// I2. The file is written in order, 0600, and never grows beyond its cap; at the cap it says so and stops.
// I3. Text is redacted where it leaves (`text`, the file), so a value cut by a chunk's edge is hidden in `text` too.

import { type FileHandle, open } from "node:fs/promises";
import type { Redact } from "../../kernel/redact.ts";
import { makeTail } from "../capture.ts";

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
  const file = options.path === undefined ? undefined : makeLogFile({ ...options, path: options.path });
  const unfinished = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  // A character has 4 bytes at most; more than `kept` of shorter ones are cut when they are read.
  const tail = makeTail(4 * kept);
  let total = 0;

  function keep(bytes: Uint8Array): void {
    tail.push(bytes);
    file?.push(bytes);
  }

  return {
    push(stream, chunk) {
      total += chunk.length;
      const held = unfinished[stream];
      const bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      const whole = bytes.length - unfinishedBytes(bytes);
      unfinished[stream] = Buffer.from(bytes.subarray(whole));
      keep(bytes.subarray(0, whole));
    },
    text() {
      const text = tail.text();
      return options.redact(text.length > kept ? fromLineStart(text.slice(-kept)) : text);
    },
    totalBytes: () => total,
    isCut: () => tail.isTruncated() || (total > kept && tail.text().length > kept),
    isBehind: () => (file?.waitingBytes() ?? 0) > MOST_WAITING,
    flushed: async () => file?.flushed(),
    async close() {
      for (const stream of ["stdout", "stderr"] as const) {
        keep(unfinished[stream]);
        unfinished[stream] = Buffer.alloc(0);
      }
      await file?.close();
    },
  };
}

/** A cut head begins with a whole line where one is near: half a line may hold half a secret, or half a character. */
function fromLineStart(text: string): string {
  const newline = text.slice(0, 4_096).indexOf("\n");
  return newline >= 0 ? text.slice(newline + 1) : text.replace(/^[\uDC00-\uDFFF]/, "");
}

/** How many bytes at the end belong to a UTF-8 character that is not complete yet: 0 to 3. */
function unfinishedBytes(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte < 0xc0) continue;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return needed > back ? back : 0;
  }
  return 0;
}

interface LogFile {
  /** Whole characters. */
  push(bytes: Uint8Array): void;
  waitingBytes(): number;
  flushed(): Promise<void>;
  close(): Promise<void>;
}

function makeLogFile(options: OutputLogOptions & { path: string }): LogFile {
  const writer = makeCappedWriter(options);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
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

  function push(bytes: Uint8Array): void {
    if (writer.isOver() || bytes.length === 0) return;
    unfinished += decoder.decode(bytes);
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
