// Where agents and environments put things on this machine: what they need only while they run (one folder a run, gone with
// it; housekeeping sweeps what a crash left), and what a shared environment keeps.

import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Context } from "../context.ts";

/** The folder of all of them; below it, one by the run's id. */
export function agentTempFolder(paths: Pick<Context["home"]["paths"], "runFolder">): string {
  return join(paths.runFolder, "agents");
}

/** The folder of what a shared environment keeps for its next run; it outlives all of them. Undefined without a key. */
export function keptFolder(
  paths: Pick<Context["home"]["paths"], "root">,
  scopeKey: string | undefined,
): string | undefined {
  if (scopeKey === undefined) return undefined;
  return join(paths.root, "kept", createHash("sha256").update(scopeKey).digest("hex").slice(0, 24));
}
