// What a process has printed and how it ended, read from its folder by whoever wants to know (shim.ts writes there).
//
// I1. Reading changes nothing, and never holds more than was asked for.
// I2. Pieces come and go while one reads: a piece that vanished is left out, and the answer says that something is missing.

import { open, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";

interface Piece {
  /** Of its first byte in the whole output. */
  offset: number;
  size: number;
  path: string;
}

/** Some of the output. */
export interface SpoolText {
  bytes: Uint8Array;
  /** Where it begins and ends in the whole output. */
  from: number;
  to: number;
  /** Whether nothing came before it. */
  isWhole: boolean;
}

/** How a command ended. */
export interface SpoolExit {
  exitCode: number;
  /** Wall time. */
  endedAt: number;
}

/** The first piece's path: what people are shown as the log file. */
export const firstPiece = (folder: string): string => join(folder, "output.0");

/** All bytes printed so far, also those that are no longer kept. */
export async function spooledBytes(folder: string): Promise<number> {
  const last = (await piecesOf(folder)).at(-1);
  return last ? last.offset + last.size : 0;
}

/** The last `maxBytes`, or fewer where older ones are gone. */
export async function spoolTail(folder: string, maxBytes: number): Promise<SpoolText> {
  const pieces = await piecesOf(folder);
  const last = pieces.at(-1);
  const to = last ? last.offset + last.size : 0;
  let from = to;
  for (const piece of pieces.toReversed()) {
    if (piece.offset + piece.size < from || to - from >= maxBytes) break;
    from = piece.offset;
  }
  from = Math.max(from, to - maxBytes);
  return { ...(await readPieces(pieces, from, to)), isWhole: from === 0 };
}

/** At most `maxBytes` from byte `from` on; where those are gone, from the oldest that follow them. */
export async function spoolFrom(folder: string, from: number, maxBytes: number): Promise<SpoolText> {
  const pieces = await piecesOf(folder);
  const holding = pieces.find(({ offset, size }) => offset + size > from);
  if (!holding) return { bytes: new Uint8Array(), from, to: from, isWhole: true };
  const start = Math.max(from, holding.offset);
  const end = Math.min(holding.offset + holding.size, start + maxBytes);
  return { ...(await readPieces([holding], start, end)), isWhole: start === from };
}

/** Undefined while it runs, or when nobody wrote its end down. */
export async function spooledExit(folder: string): Promise<SpoolExit | undefined> {
  const path = join(folder, "exit");
  try {
    const [text, { mtimeMs }] = await Promise.all([readFile(path, "utf8"), stat(path)]);
    const exitCode = Number.parseInt(text, 10);
    return Number.isNaN(exitCode) ? undefined : { exitCode, endedAt: Math.floor(mtimeMs) };
  } catch {
    return undefined;
  }
}

/** Pid of whoever holds the command's stdin open. */
export async function stdinKeeper(folder: string): Promise<number | undefined> {
  const text = await readFile(join(folder, "keeper"), "utf8").catch(() => "");
  const pid = Number.parseInt(text, 10);
  return pid > 1 ? pid : undefined;
}

export const stdinPath = (folder: string): string => join(folder, "stdin");

async function piecesOf(folder: string): Promise<Piece[]> {
  const names = await readdir(folder).catch(() => []);
  const found = await Promise.all(
    names.map(async (name): Promise<Piece | undefined> => {
      const offset = /^output\.(\d+)$/.exec(name)?.[1];
      if (offset === undefined) return undefined;
      const path = join(folder, name);
      const size = await stat(path).then(
        (one) => one.size,
        () => undefined,
      );
      return size === undefined ? undefined : { offset: Number(offset), size, path };
    }),
  );
  return found.filter((piece) => piece !== undefined).sort((a, b) => a.offset - b.offset);
}

async function readPieces(
  pieces: readonly Piece[],
  from: number,
  to: number,
): Promise<{ bytes: Uint8Array; from: number; to: number }> {
  const chunks: Uint8Array[] = [];
  let start = from;
  for (const { offset, size, path } of pieces) {
    const [first, end] = [Math.max(from, offset), Math.min(to, offset + size)];
    if (first >= end) continue;
    const chunk = await readRange(path, first - offset, end - first);
    // I2. What came before a piece that vanished is no longer next to what follows.
    if (chunk.length < end - first) {
      chunks.length = 0;
      start = end;
    } else chunks.push(chunk);
  }
  return { bytes: Buffer.concat(chunks), from: start, to };
}

async function readRange(path: string, position: number, length: number): Promise<Uint8Array> {
  try {
    const file = await open(path, "r");
    try {
      const buffer = Buffer.alloc(length);
      const { bytesRead } = await file.read(buffer, 0, length, position);
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  } catch {
    return new Uint8Array();
  }
}

/** Text of bytes that may begin or end inside a character. */
export function textOfBytes(bytes: Uint8Array): string {
  let start = 0;
  while (start < Math.min(3, bytes.length) && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(start), { stream: true });
}
