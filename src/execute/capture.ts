// What a command writes, kept within bounds: the tail stays, the head goes, and a flag says so.
//
// I1. Memory is bounded by twice the limit, whatever the size and number of chunks.
// I2. Bytes that are not UTF-8 become U+FFFD, also where a character is cut by a chunk's edge (hermes#42384); so does
//     NUL, which no channel and no PostgreSQL text can carry.

import type { Readable } from "node:stream";

/** Kept of stdout: 1 MB, and of stderr: 64 kB. */
export const STDOUT_LIMIT = 1_000_000;
export const STDERR_LIMIT = 64_000;
/** A cut head is moved on to the next line's start if one begins this close: half a line reads badly and may hold half a secret. */
const LINE_SEARCH = 4_096;

export interface Tail {
  push(chunk: Uint8Array): void;
  text(): string;
  /** The kept bytes as they came, a copy. */
  bytes(): Uint8Array;
  isTruncated(): boolean;
  /** All bytes that went through, kept or not. */
  totalBytes(): number;
}

/** A bounded store that keeps the last `maxBytes`. */
export function makeTail(maxBytes: number): Tail {
  let buffer = Buffer.alloc(0);
  let used = 0;
  let total = 0;

  /** Room for `more` bytes: grow up to twice the limit, then move the tail to the front; each byte moves at most twice. */
  function makeRoom(more: number): void {
    if (used + more <= buffer.length) return;
    if (buffer.length < 2 * maxBytes) {
      const size = Math.min(2 * maxBytes, Math.max(4_096, 2 * buffer.length, used + more));
      const larger = Buffer.allocUnsafe(size);
      buffer.copy(larger, 0, 0, used);
      buffer = larger;
      if (used + more <= size) return;
    }
    const kept = Math.min(used, maxBytes);
    buffer.copyWithin(0, used - kept, used);
    used = kept;
  }

  return {
    push(chunk) {
      total += chunk.length;
      const part = chunk.length > maxBytes ? chunk.subarray(chunk.length - maxBytes) : chunk;
      makeRoom(part.length);
      buffer.set(part, used);
      used += part.length;
    },
    text: () => decodeTail(buffer.subarray(Math.max(0, used - maxBytes), used), total > maxBytes),
    bytes: () => new Uint8Array(buffer.subarray(Math.max(0, used - maxBytes), used)),
    isTruncated: () => total > maxBytes,
    totalBytes: () => total,
  };
}

/** Text of kept bytes (I2); where the head was cut, it starts at a whole line if one begins soon, else at a whole character. */
export function decodeTail(bytes: Buffer, isTruncated: boolean): string {
  let start = 0;
  if (isTruncated) {
    const newline = bytes.subarray(0, LINE_SEARCH).indexOf(10);
    if (newline >= 0 && newline + 1 < bytes.length) start = newline + 1;
    // Continuation bytes (10xxxxxx) of a character whose head was cut off; a character has at most three.
    else while (start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  }
  return withoutNul(bytes.toString("utf8", start));
}

/** NUL → U+FFFD. */
export function withoutNul(text: string): string {
  return text.includes("\0") ? text.replaceAll("\0", "\uFFFD") : text;
}

export interface Capture {
  readonly tail: Tail;
  /** Resolves at the stream's end, error or `stop`. Never rejects. */
  readonly ended: Promise<void>;
  /** Stops reading at once; what a holder of the pipe writes later is lost to it (EPIPE). Idempotent. */
  stop(): void;
}

export interface CaptureOptions {
  maxBytes: number;
  /** Called for each chunk of bytes, before it is kept. Must not throw. */
  onChunk(chunk: Uint8Array): void;
}

/** Reads a stream to its end into a bounded tail. */
export function captureStream(stream: Readable, options: CaptureOptions): Capture {
  const tail = makeTail(options.maxBytes);
  stream.on("data", (chunk: Uint8Array) => {
    options.onChunk(chunk);
    tail.push(chunk);
  });
  // A broken pipe ends the stream like its end does.
  stream.on("error", () => {});
  const ended = new Promise<void>((resolve) => stream.once("close", resolve));
  return { tail, ended, stop: () => void stream.destroy() };
}
