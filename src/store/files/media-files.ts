// Files that go out with messages, kept as `output/_media/<runId>/<n>-<name>` until no row names them.
//
// I1. What is kept lies, with every link followed, inside one of the folders given; nothing hidden, no folder, no device.
// I2. A file is whole before a row can name it, mode 0600; one that no row names is swept after an hour.

import { createHash } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { type FileHandle, mkdir, open, readdir, realpath, rm, stat } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import { isId } from "../../kernel/ids.ts";
import type { Redact } from "../../kernel/redact.ts";
import { HOUR, type Instant } from "../../kernel/time.ts";
import { formatBytes, isTextType, type Media, mediaTypeOf, type WantedMedia } from "../../records/media.ts";
import { codeOf, writeFileAtomic } from "./atomic-write.ts";

/** No job's id begins with `_`. */
const FOLDER = "output/_media";
/** @source SEMANTICS U2: as other files that no row names. */
const UNNAMED_MS = HOUR;
/** Longer names are cut: readers see them, file systems limit them. */
const LONGEST_NAME = 100;

export interface MediaFilesOptions {
  /** The home's folder. */
  root: string;
  maxBytes: number;
}

/** A file's bytes, or why it is not kept: "Not sent: <path>: <why>". */
export type FoundMedia = { bytes: Buffer } | { why: string };

export interface MediaFiles {
  /** Looks for a path of this machine inside `folders`; relative ones begin at `cwd`. */
  find(path: string, place: { cwd: string; folders: readonly string[] }): Promise<FoundMedia>;
  /** Keeps a file of a run, as its `index`-th; a text without its secrets. Repeating it replaces the file. */
  keep(
    wanted: WantedMedia,
    bytes: Buffer,
    of: { runId: string; index: number; redact: Redact },
  ): Promise<Media>;
  /** Removes files older than an hour (by `now`) that `known` does not name. Returns what went. */
  sweep(known: (files: readonly string[]) => Promise<ReadonlySet<string>>, now: Instant): Promise<string[]>;
}

export function openMediaFiles({ root, maxBytes }: MediaFilesOptions): MediaFiles {
  return {
    find: (path, place) => findFile(path, { ...place, maxBytes }),
    async keep({ path, caption }, bytes, { runId, index, redact }) {
      const name = safeName(path);
      const type = mediaTypeOf(name);
      const kept = isTextType(type.contentType) ? redactText(bytes, redact) : bytes;
      const folder = join(root, FOLDER, runId);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const file = `${FOLDER}/${runId}/${index}-${name}`;
      await writeFileAtomic(join(root, file), kept);
      const sha256 = createHash("sha256").update(kept).digest("hex");
      return { file, name, ...type, bytes: kept.length, sha256, ...(caption !== undefined && { caption }) };
    },
    sweep: (known, now) => sweep(root, known, now),
  };
}

/** Why a file of this size is not kept; undefined = it may be. */
export function whyWrongSize(bytes: number, maxBytes: number): string | undefined {
  if (bytes === 0) return "it is empty";
  return bytes > maxBytes
    ? `it has ${formatBytes(bytes)}, at most ${formatBytes(maxBytes)} are sent`
    : undefined;
}

/** A path below a folder, as its parts; undefined = it leads out of it, or to something hidden. */
export function isPlainBelow(folder: string, path: string): boolean {
  const parts = relative(folder, path).split(sep);
  return parts[0] !== "" && parts.every((part) => !part.startsWith("."));
}

async function findFile(
  path: string,
  { cwd, folders, maxBytes }: { cwd: string; folders: readonly string[]; maxBytes: number },
): Promise<FoundMedia> {
  if (path.includes("\0")) return { why: "that is no path" };
  const real = await realpath(resolve(cwd, path)).catch(() => undefined);
  if (real === undefined) return { why: "there is no such file" };
  const roots = await Promise.all(folders.map((folder) => realpath(folder).catch(() => undefined)));
  const isInside = roots.some((folder) => folder !== undefined && isPlainBelow(folder, real));
  if (!isInside) return { why: "it lies outside of the run's folders, or is hidden" };
  return readRegular(real, maxBytes);
}

/** The path was resolved: a link in its last place now is somebody's trick. */
async function readRegular(path: string, maxBytes: number): Promise<FoundMedia> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stats: Stats = await handle.stat();
    if (!stats.isFile()) return { why: "it is no file" };
    const why = whyWrongSize(stats.size, maxBytes);
    if (why !== undefined) return { why };
    return { bytes: await handle.readFile() };
  } catch (error) {
    return { why: `it cannot be read (${codeOf(error) ?? "unknown"})` };
  } finally {
    await handle?.close();
  }
}

/** The last part of the path, without what headers, shells and file systems trip over. */
function safeName(path: string): string {
  const last = path.split(/[/\\]/).at(-1) ?? "";
  const name = last.replace(/[\p{Cc}"<>|*?:]/gu, "_").replace(/^\.+/, "");
  if (name.length <= LONGEST_NAME) return name || "file";
  const ending = /\.[A-Za-z0-9]{1,8}$/.exec(name)?.[0] ?? "";
  return `${[...name].slice(0, LONGEST_NAME - ending.length).join("")}${ending}`;
}

/** Bytes that are no UTF-8 are no text, whatever their name says. */
function redactText(bytes: Buffer, redact: Redact): Buffer {
  try {
    return Buffer.from(redact(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)));
  } catch {
    return bytes;
  }
}

async function sweep(
  root: string,
  known: (files: readonly string[]) => Promise<ReadonlySet<string>>,
  now: Instant,
): Promise<string[]> {
  const old: string[] = [];
  for (const runId of (await namesIn(join(root, FOLDER))).filter(isId)) {
    for (const name of await namesIn(join(root, FOLDER, runId))) {
      const file = `${FOLDER}/${runId}/${name}`;
      const stats = await stat(join(root, file)).catch(() => undefined);
      if (stats && now - stats.mtimeMs > UNNAMED_MS) old.push(file);
    }
  }
  const named = old.length === 0 ? new Set<string>() : await known(old);
  const unnamed = old.filter((file) => !named.has(file));
  for (const file of unnamed) await rm(join(root, file), { force: true });
  for (const runId of new Set(unnamed.map((file) => file.split("/")[2] ?? ""))) {
    if ((await namesIn(join(root, FOLDER, runId))).length === 0)
      await rm(join(root, FOLDER, runId), { recursive: true, force: true });
  }
  return unnamed;
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}
