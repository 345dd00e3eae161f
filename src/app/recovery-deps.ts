// What recovery works with on a real home.

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { endLeftovers } from "../execute/terminate.ts";
import { SECOND } from "../kernel/time.ts";
import type { Job } from "../records/job.ts";
import { agentTempFolder } from "./agent/temp-folder.ts";
import { makePlanUnknowns } from "./close-run.ts";
import { endCloudsOf, mayHaveSandbox } from "./cloud-environments.ts";
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
    async endContainers(taken) {
      // An engine that hangs must not hold up runs that never used it.
      const idsWhere = (mayHave: (home: Context, job: Job | undefined) => boolean) =>
        taken.filter((one) => mayHave(context, jobOfRunOrNothing(context, one))).map(({ run }) => run.id);
      const ended = [
        endContainersOf(context, idsWhere(mayHaveContainer)),
        endCloudsOf(context, idsWhere(mayHaveSandbox)),
      ];
      return (await Promise.all(ended)).flat();
    },
    planUnknowns: makePlanUnknowns(context),
    quarantine: async (jobId, reason) => {
      const by = `node:${node.nodeId}`;
      await changeJob(context, jobId, { kind: "suspend", suspension: "quarantined", by, reason });
    },
  };
}
