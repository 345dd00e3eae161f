// Where agents put what they need only while they run: one folder a run, gone with it; housekeeping sweeps what a crash left.

import { join } from "node:path";
import type { Context } from "../context.ts";

/** The folder of all of them; below it, one by the run's id. */
export function agentTempFolder(paths: Pick<Context["home"]["paths"], "runFolder">): string {
  return join(paths.runFolder, "agents");
}
