// A folder of its own for each run (S2): fresh, private, and gone when nobody can want it any more.
//
// I1. Removed when the run succeeded, or left nothing in it. Kept when it ended otherwise and holds something: that
//     is what a person looks into in the morning. Retention sweeps the kept ones.
// I2. Only folders whose name is a run's id are ever removed; a link in their place is unlinked, not followed.

import { lstat, mkdir, readdir, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { isId } from "../kernel/ids.ts";
import type { Instant } from "../kernel/time.ts";

/** Kept workspaces live this long by default. */
export const WORKSPACE_KEPT_MS = 7 * 24 * 60 * 60 * 1_000;

/** Makes the run's workspace, empty, 0700; a remnant of the same run (claimed, never begun) is replaced. */
export async function openWorkspace(workspacesFolder: string, runId: string): Promise<string> {
  if (!isId(runId)) throw new Error(`not a run's id: ${runId}`);
  const path = join(workspacesFolder, runId);
  try {
    await mkdir(path, { mode: 0o700 });
  } catch {
    await mkdir(workspacesFolder, { recursive: true, mode: 0o700 });
    await rm(path, { recursive: true, force: true });
    await mkdir(path, { mode: 0o700 });
  }
  return path;
}

/** Ends a workspace (I1). Resolves true when it is gone. */
export async function closeWorkspace(path: string, hasSucceeded: boolean): Promise<boolean> {
  try {
    await rmdir(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return true;
    if (!hasSucceeded && (code === "ENOTEMPTY" || code === "EEXIST")) return false;
    await rm(path, { recursive: true, force: true });
  }
  return true;
}

export interface WorkspaceSweep {
  now: Instant;
  /** Default 7 days, counted from the folder's last change. */
  keptMs?: number;
  /** Whether the run is still open: its workspace stays, however old. */
  isOpen(runId: string): boolean;
}

/** Removes kept workspaces that are old enough; one that cannot be removed does not stop the others. Returns run ids. */
export async function sweepWorkspaces(workspacesFolder: string, sweep: WorkspaceSweep): Promise<string[]> {
  const names = await readdir(workspacesFolder).catch(() => []);
  const removed: string[] = [];
  for (const name of names.filter((candidate) => isId(candidate) && !sweep.isOpen(candidate))) {
    const path = join(workspacesFolder, name);
    try {
      const { mtimeMs } = await lstat(path);
      if (sweep.now - mtimeMs < (sweep.keptMs ?? WORKSPACE_KEPT_MS)) continue;
      await rm(path, { recursive: true, force: true });
      removed.push(name);
    } catch {
      // Removed by somebody else, or not ours to remove: the next sweep looks again.
    }
  }
  return removed;
}
