// The closing word of a call, found in the stream it ends and taken out of it.
//
// I1. Bytes before the word pass unchanged, whatever they are and however they are cut into chunks.
// I2. Bytes after it belong to whoever outlived the command: they are not the call's.

const MARK = 0x1e;
/** A word holds a path; longer than this it is none. */
const LONGEST_WORD = 65_536;

export interface ClosingWord {
  exitCode: number;
  isSaved: boolean;
  cwd: string;
}

export interface TrailerFilter {
  /** What of this chunk is the call's own output (and what was held back before). */
  push(chunk: Uint8Array): Uint8Array;
  /** What was held back, at the stream's end without a word. */
  end(): Uint8Array;
  word(): ClosingWord | undefined;
}

const EMPTY = new Uint8Array();

/** A filter for one stream of one call. */
export function makeTrailerFilter(nonce: string): TrailerFilter {
  const head = Buffer.concat([Buffer.of(MARK), Buffer.from(`${nonce}:`)]);
  const foot = Buffer.concat([Buffer.of(MARK), Buffer.from(nonce), Buffer.of(MARK)]);
  let held: Buffer = Buffer.alloc(0);
  let word: ClosingWord | undefined;

  function push(chunk: Uint8Array): Uint8Array {
    if (word) return EMPTY;
    const bytes = held.length > 0 ? Buffer.concat([held, chunk]) : viewOf(chunk);
    const start = bytes.indexOf(head);
    const end = start < 0 ? -1 : bytes.indexOf(foot, start + head.length);
    if (end >= 0) {
      word = parseWord(bytes.toString("utf8", start + head.length, end));
      held = Buffer.alloc(0);
      return bytes.subarray(0, start);
    }
    const keepFrom = start >= 0 && bytes.length - start < LONGEST_WORD ? start : partialStart(bytes, head);
    held = Buffer.from(bytes.subarray(keepFrom));
    return bytes.subarray(0, keepFrom);
  }

  return {
    push,
    end() {
      const rest = held;
      held = Buffer.alloc(0);
      return rest;
    },
    word: () => word,
  };
}

const viewOf = (chunk: Uint8Array) => Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);

/** Where a head that is not whole yet may begin; the length when nowhere. */
function partialStart(bytes: Buffer, head: Buffer): number {
  const from = Math.max(0, bytes.length - head.length + 1);
  for (let at = bytes.indexOf(MARK, from); at >= 0; at = bytes.indexOf(MARK, at + 1))
    if (bytes.subarray(at).equals(head.subarray(0, bytes.length - at))) return at;
  return bytes.length;
}

function parseWord(text: string): ClosingWord | undefined {
  const match = /^(\d+):([01]):(.*)$/s.exec(text);
  if (!match) return undefined;
  const [, code, saved, cwd = ""] = match;
  return { exitCode: Number(code), isSaved: saved === "1", cwd };
}
