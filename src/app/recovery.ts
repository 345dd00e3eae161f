// After a death: finds claims whose owner is gone, ends what is left of their processes, and closes them (L3–L6, L10).
//
// I1. Fence first, clean up second, declare third: the claim is ours with a higher token before anything is ended,
//     and the row becomes `unknown` only after its process group was looked for.
// I2. Unknown is not failed (law 4): what may run again is decided by the declared effects alone.

import { messageOf } from "../kernel/errors.ts";
import type { Random } from "../kernel/ids.ts";
import type { Log } from "../kernel/log.ts";
import { type Clock, MINUTE } from "../kernel/time.ts";
import type { Closing, TakenRun } from "../records/ledger/claims.ts";
import type { Ledger } from "../records/ledger/index.ts";
import type { NodeRecord } from "../records/node.ts";
import type { Outcome } from "../records/outcome.ts";
import type { HostIdentity, ProcessIdentity, ProcessRecord } from "../records/process.ts";

/** L7: a run that began this short before its node died may have killed it. */
const YOUNG_MS = MINUTE;

export interface RecoveryDeps {
  ledger: Ledger;
  clock: Clock;
  random: Random;
  log: Log;
  nodeId: string;
  host: HostIdentity;
  leaseMs: number;
  isAlive(process: Pick<ProcessIdentity, "pid" | "startTime">): boolean;
  endLeftovers(
    processes: readonly ProcessRecord[],
    runId: string,
  ): Promise<{ ended: readonly number[]; survivors: readonly number[] }>;
  /** State, next attempt and alerts of an `unknown` outcome. */
  planUnknown(
    taken: TakenRun,
    outcome: Outcome,
    finishedAt: number,
  ): Promise<Pick<Closing, "state" | "reason" | "next" | "settle">>;
  /** L7 switched off (`limits.quarantine: false`). */
  isQuarantineOn: boolean;
  /** A suspect died alone: it waits for a person (L7). */
  quarantine(jobId: string, reason: string): Promise<void>;
}

/** Nodes of our host (machine, boot, pid namespace) whose process is provably gone (L4). Others must let their lease run out. */
export function provablyDead(
  nodes: readonly NodeRecord[],
  deps: Pick<RecoveryDeps, "host" | "isAlive" | "nodeId">,
): string[] {
  return nodes
    .filter((node) => node.id !== deps.nodeId && node.hostId === deps.host.hostId && !deps.isAlive(node))
    .map((node) => node.id);
}

/** One sweep. Returns how many runs were taken over. Throws what the store throws; nothing is half done then. */
export async function recover(deps: RecoveryDeps): Promise<number> {
  const nodes = await deps.ledger.nodes();
  const deadNodes = provablyDead(nodes, deps);
  const now = await deps.ledger.now();
  const { requeued, taken } = await deps.ledger.takeOver({
    nodeId: deps.nodeId,
    now,
    leaseMs: deps.leaseMs,
    deadNodes,
  });
  for (const runId of requeued)
    deps.log.warn("run-requeued", { runId, why: "its node died before it began" });
  const byId = new Map(nodes.map((node) => [node.id, node]));
  for (const one of taken) await closeAsUnknown(deps, one, byId.get(one.previousOwner ?? ""));
  return requeued.length + taken.length;
}

async function closeAsUnknown(
  deps: RecoveryDeps,
  taken: TakenRun,
  owner: NodeRecord | undefined,
): Promise<void> {
  const { run, claim } = taken;
  const ours = taken.processes.filter((process) => process.hostId === deps.host.hostId);
  const cleanup = await deps
    .endLeftovers(ours, run.id)
    .catch((error) => ({ ended: [], survivors: [], error: messageOf(error) }));
  const finishedAt = await deps.ledger.now();
  const outcome: Outcome = { state: "unknown", why: ownerDied(run.state, owner) };
  const plan = await deps.planUnknown(taken, outcome, finishedAt);
  const elsewhere = taken.processes.length - ours.length;
  const data = { ...cleanup, ...(elsewhere > 0 && { onOtherHosts: elsewhere }), owner: taken.previousOwner };
  const isYoung = isStrike(taken, owner);
  const [answer] = await deps.ledger.closeRuns([
    {
      ...plan,
      claim,
      outcome,
      finishedAt,
      endedProcesses: ours.map(({ id }) => ({ id, exitCode: undefined })),
      ...(isYoung && deps.isQuarantineOn && { strike: "strike" as const }),
      events: [{ runId: run.id, jobId: run.jobId, at: finishedAt, kind: "processes-ended", data }],
    },
  ]);
  deps.log.warn("run-recovered", { runId: run.id, jobId: run.jobId, state: plan.state, ...data, answer });
  if (answer === "closed" && run.isSuspect && isYoung && run.jobId && deps.isQuarantineOn) {
    await deps.quarantine(run.jobId, "its node died a third time within a minute of starting it, alone");
  }
}

function ownerDied(state: string, owner: NodeRecord | undefined): string {
  const name = owner ? `node ${owner.name}` : "its node";
  return state === "cancelling" ? `${name} died while cancelling it` : `${name} died while running it`;
}

/** L7: same boot, not asked to stop, and the run was young when the node was last seen. */
function isStrike({ run }: TakenRun, owner: NodeRecord | undefined): boolean {
  if (!owner || owner.stoppingAt !== undefined || run.startedAt === undefined) return false;
  return owner.lastSeenAt - run.startedAt <= YOUNG_MS;
}
