// The files of executors/: which there are, in which state, and what each is taken for (docs/executors.md).
//
// I1. Nothing is run to find out what it is: a plain old script must never run by being looked at.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { Script } from "node:vm";

export type FileRole = "module" | "python" | "script" | "other";

export interface FolderFile {
  /** Relative to the folder. */
  name: string;
  path: string;
  /** Changes whenever the file does. */
  state: string;
  changedAt: number;
}

/** Never executors, whatever they are for. */
const DATA =
  /\.(md|txt|json|ya?ml|toml|lock|cfg|ini|csv|tsv|log|pyc|pyi|map|env|html|css|sql|j2|tmpl)$|\.d\.[cm]?ts$/i;
const MODULE = /\.[cm]?[jt]s$/i;
const SHELL = /\.(sh|bash)$/i;

/** Top-level files that may be executors: no dotfiles, none that begin with `_`, no backups, no data. Sorted. */
export function listFolder(folder: string): FolderFile[] {
  return namesIn(folder).flatMap((name) => {
    if (/^[._]|~$|\.(swp|tmp|bak)$/.test(name) || DATA.test(name)) return [];
    const found = stateOf(join(folder, name));
    return found ? [{ name, path: join(folder, name), ...found }] : [];
  });
}

/** A digest of everything below the folder that code could be made of: packages and helpers count too. */
export function stateOfTree(folder: string, ending: RegExp, depth = 4): string {
  const parts: string[] = [];
  for (const name of namesIn(folder)) {
    if (/^\.|^(node_modules|__pycache__)$/.test(name)) continue;
    const path = join(folder, name);
    if (ending.test(name)) parts.push(`${name}:${stateOf(path)?.state ?? ""}`);
    else if (depth > 0 && !name.includes(".")) parts.push(`${name}/${stateOfTree(path, ending, depth - 1)}`);
  }
  return parts.join("|");
}

export function stateOf(path: string): Pick<FolderFile, "state" | "changedAt"> | undefined {
  try {
    const found = statSync(path);
    if (!found.isFile()) return undefined;
    return { state: `${found.mtimeMs}-${found.size}-${found.ino}`, changedAt: found.mtimeMs };
  } catch {
    return undefined;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

/** What a file is by its name and its text (I1). */
export function roleOf({ name, path }: Pick<FolderFile, "name" | "path">): FileRole {
  if (/\.py$/i.test(name)) return "python";
  const head = headOf(path);
  if (MODULE.test(name)) return head.startsWith("#!") || !exportsAnything(path) ? "script" : "module";
  return head.startsWith("#!") || SHELL.test(name) ? "script" : "other";
}

/** `backup.sh` → `backup`. */
export function nameOf(file: string): string {
  return basename(file, extname(file));
}

function headOf(path: string): string {
  return readFileSync(path, "utf8").slice(0, 200);
}

function exportsAnything(path: string): boolean {
  const source = readFileSync(path, "utf8");
  if (/\bmodule\.exports\b|(^|[\s;])exports\.\w/.test(source)) return true;
  if (!/(^|[\s;}])export\s*(default\b|const\b|let\b|var\b|function\b|class\b|async\b|[{*])/.test(source))
    return false;
  // What compiles as the body of a function exports nothing, whatever its comments say. Compiling runs nothing.
  return /\.[cm]?ts$/i.test(path) || !isFunctionBody(source);
}

function isFunctionBody(source: string): boolean {
  try {
    new Script(`(async function () {${source.replace(/^#!.*/, "")}\n})`);
    return true;
  } catch {
    return false;
  }
}
