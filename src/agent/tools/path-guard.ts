// S1: which paths of this machine the file tools may touch: all but the home, of which only the run's own folders.
//
// I1. Folders are compared by what they are (device and inode), not by name: links, `..`, another case and a bind mount
//     lead to the same answer.
// I2. A file that does not exist yet is judged by the folder it would be made in, also behind a dangling link.
// I3. What the kernel shows of processes is refused: a node's environment holds its keys.

import { lstatSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { dirname, join, normalize, resolve } from "node:path";

/** Links are followed this often, as kernels do. */
const MAX_LINKS = 40;
const PROCESS_FILES = /^\/proc\/(\d+|self|thread-self)(\/|$)/;

/** The sentence that refuses a path, or undefined. The path is absolute and normalised. */
export type PathGuard = (path: string) => string | undefined;

export interface PathGuardOptions {
  /** The home whose files are denied. */
  home: string;
  /** Folders inside it that are allowed: the run's workspace and output. One that does not exist allows nothing. */
  allowed: readonly string[];
}

/** The guard for an environment that sees this machine's own files. */
export function makePathGuard({ home, allowed }: PathGuardOptions): PathGuard {
  return (path) => {
    const real = realPathOf(resolve(normalize(path)), 0);
    if (real === undefined) return `${path} leads in a circle of links.`;
    if (PROCESS_FILES.test(real) || PROCESS_FILES.test(path))
      return `${path} is refused: what the kernel shows of processes may hold their secrets.`;
    if (!isInside(real, home) || allowed.some((folder) => isInside(real, folder))) return undefined;
    return `${path} is refused: it belongs to Nightshift itself. Work in the run's own folder instead.`;
  };
}

/** Where a path really leads; of what does not exist, the real parent and the name. Undefined = a circle. */
function realPathOf(path: string, links: number): string | undefined {
  if (links > MAX_LINKS) return undefined;
  try {
    return realpathSync.native(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ELOOP") return undefined;
  }
  const parent = dirname(path);
  if (parent === path) return path;
  const target = linkTarget(path);
  if (target !== undefined) return realPathOf(resolve(parent, target), links + 1);
  const realParent = realPathOf(parent, links);
  return realParent === undefined ? undefined : join(realParent, path.slice(parent.length));
}

function linkTarget(path: string): string | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the folder itself or one of its ancestors is `folder`. */
function isInside(path: string, folder: string): boolean {
  const wanted = identityOf(folder);
  if (wanted === undefined) return false;
  for (let current = path; ; current = dirname(current)) {
    if (identityOf(current) === wanted) return true;
    if (dirname(current) === current) return false;
  }
}

function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}
