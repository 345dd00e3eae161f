// What files there are, here and inside, told alike: so that only what differs is sent.
//
// I1. `.env`, `config.yaml` and files that are not whole yet are in no list, wherever they lie: what is not listed is
//     neither sent, fetched, nor deleted.
// I2. A path that is absolute, holds `..`, a newline or a NUL is in no list either.

import { createHash } from "node:crypto";
import type { Dirent } from "node:fs";
import { lstat, readdir, readlink, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Environment } from "../../records/environment.ts";
import { areOrphansWords, ownerWords } from "./owner.ts";

export interface ListedFile {
  kind: "file" | "link";
  size: number;
  /** Whole seconds: what every tar and stat tells. */
  mtimeSeconds: number;
  mode: number;
  /** Of a link. */
  target: string | undefined;
}

export type FileList = ReadonlyMap<string, ListedFile>;

const EXCLUDED: ReadonlySet<string> = new Set([".env", "config.yaml"]);

/** Files that are looked at together. */
const AT_ONCE = 64;

const FRESH = /^\.nightshift-(.+)\.new$/;

/** The name that a file of the folder has here until it is whole: it says whose it is. */
export function freshName(path: string): string {
  const digest = createHash("sha256").update(path).digest("hex").slice(0, 8);
  return `.nightshift-${ownerWords()}.${digest}.new`;
}

/** Whether it may be synced at all (I1, I2). */
export function isSyncable(path: string): boolean {
  if (path === "" || path.startsWith("/") || /[\n\0]/.test(path)) return false;
  const mayHave = (part: string) =>
    part !== ".." && part !== "." && part !== "" && !EXCLUDED.has(part) && !FRESH.test(part);
  return path.split("/").every(mayHave);
}

/**
 * Files and links below a folder of this machine; sockets, pipes and devices are left out. Links are not followed. What a
 * process that died left half written (`freshName`) is removed on the way.
 */
export async function listHere(folder: string): Promise<Map<string, ListedFile>> {
  const list = new Map<string, ListedFile>();
  const look = async (entry: Dirent, path: string): Promise<void> => {
    const isLeft = areOrphansWords(FRESH.exec(entry.name)?.[1] ?? "");
    if (isLeft) await rm(join(folder, path), { force: true });
    if (!isSyncable(path)) return;
    if (entry.isDirectory()) return walk(path);
    if (!entry.isFile() && !entry.isSymbolicLink()) return;
    const found = await lookHere(join(folder, path));
    if (found) list.set(path, found);
  };
  const walk = async (below: string): Promise<void> => {
    const entries = await readdir(join(folder, below), { withFileTypes: true });
    for (let at = 0; at < entries.length; at += AT_ONCE) {
      const some = entries.slice(at, at + AT_ONCE);
      await Promise.all(
        some.map((entry) => look(entry, below === "" ? entry.name : `${below}/${entry.name}`)),
      );
    }
  };
  await walk("");
  return list;
}

/** One file or link; undefined when it is gone, or something else. */
export async function lookHere(path: string): Promise<ListedFile | undefined> {
  const found = await lstat(path).catch(() => undefined);
  if (!found || (!found.isFile() && !found.isSymbolicLink())) return undefined;
  const target = found.isSymbolicLink() ? await readlink(path) : undefined;
  return {
    kind: target === undefined ? "file" : "link",
    size: target === undefined ? found.size : 0,
    mtimeSeconds: Math.floor(found.mtimeMs / 1_000),
    mode: found.mode & 0o7777,
    target,
  };
}

/** GNU, busybox and BSD: mode in octal or hex, size, seconds, name; then each link's target, asked for one by one. */
const LIST = `cd "$NS_FOLDER" || exit 1
if stat -c %s . >/dev/null 2>&1; then
  find . -type f -exec stat -c 'f %a %s %Y %n' {} +
else
  find . -type f -exec stat -f 'f %Lp %z %m %N' {} +
fi
find . -type l -exec sh -c 'for path do printf "l %s\\n%s\\n" "$path" "$(readlink "$path")"; done' sh {} +`;

/** As `listHere`, for a folder inside. Throws the environment's faults; a folder that cannot be read throws a plain Error. */
export async function listInside(
  environment: Environment,
  folder: string,
  signal: AbortSignal,
): Promise<Map<string, ListedFile>> {
  const result = await environment.exec(LIST, {
    ...{ signal, cwd: folder, env: { NS_FOLDER: folder } },
    ...{ maxBytes: MOST_LIST_BYTES, timeoutMs: LIST_TIMEOUT_MS },
  });
  if (result.exitCode !== 0 || result.truncated)
    throw new Error(`the files in ${environment.label} cannot be listed (exit ${result.exitCode})`);
  return parseList(Buffer.from(result.stdout).toString("utf8"));
}

const MOST_LIST_BYTES = 64_000_000;
const LIST_TIMEOUT_MS = 60_000;

function parseList(text: string): Map<string, ListedFile> {
  const list = new Map<string, ListedFile>();
  const lines = text.split("\n");
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const file = /^f ([0-7]+) (\d+) (\d+) \.\/(.+)$/.exec(line);
    const link = /^l \.\/(.+)$/.exec(line)?.[1];
    if (file?.[4] !== undefined && isSyncable(file[4]))
      list.set(file[4], {
        ...{ kind: "file", target: undefined, size: Number(file[2]) },
        ...{ mtimeSeconds: Number(file[3]), mode: Number.parseInt(file[1] ?? "", 8) },
      });
    if (link === undefined) continue;
    at += 1;
    if (isSyncable(link))
      list.set(link, { kind: "link", size: 0, mtimeSeconds: 0, mode: 0o777, target: lines[at] ?? "" });
  }
  return list;
}

/** Paths of `list` that are not the same in `other`. A link is its target; a file its size, seconds and mode. */
export function differing(list: FileList, other: FileList): string[] {
  return [...list].filter(([path, file]) => !isSame(file, other.get(path))).map(([path]) => path);
}

export function isSame(one: ListedFile, other: ListedFile | undefined): boolean {
  if (!other || one.kind !== other.kind) return false;
  if (one.kind === "link") return one.target === other.target;
  return one.size === other.size && one.mtimeSeconds === other.mtimeSeconds && one.mode === other.mode;
}
