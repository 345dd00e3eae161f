// What recovery works with on a real home.

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { endLeftovers } from "../execute/terminate.ts";
import { SECOND } from "../kernel/time.ts";
import { agentTempFolder } from "./agent/temp-folder.ts";
import { makePlanUnknowns } from "./close-run.ts";
import type { Context } from "./context.ts";
import { endContainersOf, mayHaveContainer } from "./environments.ts";
import { changeJob } from "./job-changes.ts";
import { jobOfRunOrNothing } from "./job-of-run.ts";
import type { RecoveryDeps } from "./recovery.ts";

/** What a dead node left had its time: TERM → KILL. */
const GRACE_MS = 2 * SECOND;

/** `isQuarantineOn` undefined = what the config says (L7). */
export function recoveryDeps(
  context: Context,
  node: { nodeId: string; leaseMs: number; isQuarantineOn: boolean | undefined },
): RecoveryDeps {
  return {
    ...context,
    nodeId: node.nodeId,
    leaseMs: node.leaseMs,
    isQuarantineOn: node.isQuarantineOn ?? context.config.limits.quarantine,
    async endLeftovers(processes, runId) {
      const ended = await endLeftovers(context, processes, { runId, graceMs: GRACE_MS });
      // What only the run needed goes with it; a folder that cannot be removed is swept later.
      await rm(join(agentTempFolder(context.home.paths), runId), { recursive: true, force: true }).catch(
        () => {},
      );
      return ended;
    },
    endContainers: (taken) => {
      // An engine that hangs must not hold up runs that never used it.
      const contained = taken.filter((one) => mayHaveContainer(context, jobOfRunOrNothing(context, one)));
      return endContainersOf(
        context,
        contained.map(({ run }) => run.id),
      );
    },
    planUnknowns: makePlanUnknowns(context),
    quarantine: async (jobId, reason) => {
      const by = `node:${node.nodeId}`;
      await changeJob(context, jobId, { kind: "suspend", suspension: "quarantined", by, reason });
    },
  };
}
