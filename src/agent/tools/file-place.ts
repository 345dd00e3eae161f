// Where a file tool's path leads: an absolute, normalised path inside the environment, or a sentence why not.
//
// I1. What the guard has judged is what is opened: the path is normalised before, and never again after.

import { posix } from "node:path";
import { MINUTE } from "../../kernel/time.ts";
import type { Environment } from "../../records/environment.ts";
import { decodeOutput } from "./decode-output.ts";

export interface FileToolDeps {
  environment: Environment;
  /** Why a path may not be touched (S1), or undefined. It gets absolute, normalised paths. */
  guardPath(path: string): string | undefined;
  /** The same for what is to be changed. Default: `guardPath`; skills, for one, may be read and not rewritten. */
  guardWrite?(path: string): string | undefined;
  /** Absolute folders that a search does not enter. What the guard refuses is left out of its results anyway. */
  skipFolders?: readonly string[] | undefined;
}

/** The same deps for a tool that changes files. */
export function writing(deps: FileToolDeps): FileToolDeps {
  return deps.guardWrite === undefined ? deps : { ...deps, guardPath: deps.guardWrite };
}

export type Place = { path: string } | { error: string };

/** Relative paths start at the environment's directory, `~` at its user's home. */
export async function placeOf(deps: FileToolDeps, path: string, signal: AbortSignal): Promise<Place> {
  const { environment, guardPath } = deps;
  if (path.includes("\0")) return { error: "A path cannot hold a NUL character." };
  let from = path;
  if (path === "~" || path.startsWith("~/")) {
    const home = await userHome(environment, signal);
    if (!home.startsWith("/"))
      return { error: "This environment has no home folder; write the path in full." };
    from = `${home}${path.slice(1)}`;
  }
  const absolute = posix.resolve(environment.cwd, from);
  const why = guardPath(absolute);
  return why === undefined ? { path: absolute } : { error: why };
}

async function userHome(environment: Environment, signal: AbortSignal): Promise<string> {
  const { stdout } = await environment.exec('printf %s "$HOME"', { signal, timeoutMs: MINUTE });
  return decodeOutput(stdout, false);
}
