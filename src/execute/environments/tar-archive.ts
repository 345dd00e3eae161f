// Archives as every tar reads and writes them (ustar with GNU's long names; pax is read), in memory and on no disk.
//
// I1. Reading trusts nothing: what it yields is names and bytes, for the caller to judge. No file is touched here.

/** A plain file or a link. Folders are made on the way. */
export type ArchiveEntry =
  | { kind: "file"; path: string; mode: number; mtimeSeconds: number; bytes: Uint8Array }
  | { kind: "link"; path: string; mode: number; mtimeSeconds: number; target: string };

const BLOCK = 512;
/** Bytes of a name or a target that fit a header. */
const SHORT = 100;

/** Paths are relative and use `/`. */
export function packArchive(entries: readonly ArchiveEntry[]): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const entry of entries) {
    const target = entry.kind === "link" ? entry.target : "";
    if (Buffer.byteLength(entry.path) > SHORT) parts.push(...longWord("L", entry.path));
    if (Buffer.byteLength(target) > SHORT) parts.push(...longWord("K", target));
    const size = entry.kind === "file" ? entry.bytes.length : 0;
    parts.push(header({ ...entry, type: entry.kind === "file" ? "0" : "2", size, target }));
    if (entry.kind === "file") parts.push(...padded(entry.bytes));
  }
  parts.push(new Uint8Array(2 * BLOCK));
  return Buffer.concat(parts);
}

function longWord(type: "L" | "K", word: string): Uint8Array[] {
  const bytes = Buffer.from(`${word}\0`);
  const facts = { path: "././@LongLink", mode: 0o644, mtimeSeconds: 0, target: "" };
  return [header({ ...facts, type, size: bytes.length }), ...padded(bytes)];
}

function padded(bytes: Uint8Array): Uint8Array[] {
  return [bytes, new Uint8Array((BLOCK - (bytes.length % BLOCK)) % BLOCK)];
}

interface HeaderFacts {
  path: string;
  mode: number;
  mtimeSeconds: number;
  type: string;
  size: number;
  target: string;
}

/** @source POSIX ustar: offsets and widths of the fields */
function header({ path, mode, mtimeSeconds, type, size, target }: HeaderFacts): Uint8Array {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, width: number) =>
    block.write(
      `${Math.max(0, value)
        .toString(8)
        .padStart(width - 1, "0")}\0`,
      at,
      "latin1",
    );
  Buffer.from(path).copy(block, 0, 0, SHORT);
  octal(mode & 0o7777, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(mtimeSeconds, 136, 12);
  block.write("        ", 148, "latin1");
  block.write(type, 156, "latin1");
  Buffer.from(target).copy(block, 157, 0, SHORT);
  block.write("ustar\x0000", 257, "latin1");
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}

/** Files and links of an archive, in its order; folders, devices and what is cut off are left out. */
export function unpackArchive(archive: Uint8Array): ArchiveEntry[] {
  const bytes = Buffer.from(archive.buffer, archive.byteOffset, archive.length);
  const entries: ArchiveEntry[] = [];
  const files = new Map<string, Uint8Array>();
  let words = new Map<string, string>();
  for (let at = 0; at + BLOCK <= bytes.length; ) {
    const block = bytes.subarray(at, at + BLOCK);
    // An end; another archive may follow it (xargs makes several where the names are many).
    if (block.every((byte) => byte === 0)) {
      at += BLOCK;
      continue;
    }
    const type = String.fromCharCode(block[156] ?? 0);
    const size = numberAt(block, 124, 12);
    const body = bytes.subarray(at + BLOCK, at + BLOCK + size);
    if (body.length < size) break;
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
    if (type === "L" || type === "K") words.set(type === "L" ? "path" : "linkpath", textOf(body));
    else if (type === "x") for (const [key, value] of paxWords(body)) words.set(key, value);
    else if (type !== "g") {
      const entry = entryOf({ block, type, body, words, files });
      if (entry) entries.push(entry);
      words = new Map();
    }
  }
  return entries;
}

function entryOf(read: {
  block: Buffer;
  type: string;
  body: Buffer;
  words: ReadonlyMap<string, string>;
  files: Map<string, Uint8Array>;
}): ArchiveEntry | undefined {
  const { block, type, body, words, files } = read;
  const prefix = textOf(block.subarray(345, 500));
  const isPosix = block.subarray(257, 263).toString("latin1") === "ustar\0";
  const name = textOf(block.subarray(0, SHORT));
  const path = clean(words.get("path") ?? (isPosix && prefix ? `${prefix}/${name}` : name));
  const facts = {
    path,
    mode: numberAt(block, 100, 8) & 0o7777,
    mtimeSeconds: Math.floor(Number(words.get("mtime") ?? numberAt(block, 136, 12))),
  };
  const target = words.get("linkpath") ?? textOf(block.subarray(157, 257));
  if (type === "2") return { kind: "link", ...facts, target };
  // A second name of a file that came before.
  const same = type === "1" ? files.get(clean(target)) : undefined;
  if (type !== "0" && type !== "\0" && type !== "7" && !same) return undefined;
  const bytes = same ?? new Uint8Array(body);
  files.set(path, bytes);
  return { kind: "file", ...facts, bytes };
}

const clean = (path: string) => path.replace(/^(?:\.\/)+/, "");

function textOf(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return Buffer.from(end < 0 ? bytes : bytes.subarray(0, end)).toString("utf8");
}

function numberAt(block: Buffer, at: number, width: number): number {
  // GNU's form for what octal digits cannot hold.
  if (((block[at] ?? 0) & 0x80) !== 0) return Number(block.readBigUInt64BE(at + width - 8));
  const text = textOf(block.subarray(at, at + width)).trim();
  return text === "" ? 0 : Number.parseInt(text, 8);
}

/** `LENGTH KEY=VALUE\n`, the length in bytes and its own digits counted. */
function paxWords(body: Buffer): [string, string][] {
  const words: [string, string][] = [];
  for (let at = 0; at < body.length; ) {
    const space = body.indexOf(0x20, at);
    const length = space < 0 ? 0 : Number(body.subarray(at, space).toString("latin1"));
    if (!(length > 0)) break;
    const text = body.subarray(space + 1, at + length - 1).toString("utf8");
    words.push([text.slice(0, text.indexOf("=")), text.slice(text.indexOf("=") + 1)]);
    at += length;
  }
  return words;
}
