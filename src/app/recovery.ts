// After a death: finds claims whose owner is gone, ends what is left of their processes, and closes them (L3–L6, L10).
//
// I1. Fence first, clean up second, declare third: the claim is ours with a higher token before anything is ended,
//     and the row becomes `unknown` only after its process group and its containers were looked for.
// I2. Unknown is not failed (law 4): what may run again is decided by the declared effects alone.

import { messageOf } from "../kernel/errors.ts";
import type { Random } from "../kernel/ids.ts";
import type { Log } from "../kernel/log.ts";
import { type Clock, MINUTE } from "../kernel/time.ts";
import type { NewDelivery } from "../records/delivery.ts";
import type { Closing, TakenRun } from "../records/ledger/claims.ts";
import type { Ledger } from "../records/ledger/index.ts";
import type { NodeRecord } from "../records/node.ts";
import type { Outcome } from "../records/outcome.ts";
import type { HostIdentity, ProcessIdentity, ProcessRecord } from "../records/process.ts";
import { untilStored } from "./until-stored.ts";

/** L7: a run that began this short before its node died may have killed it. */
const YOUNG_MS = MINUTE;

export interface EndedRun {
  taken: TakenRun;
  outcome: Outcome;
  /** What was ended, for the run's log. */
  cleanup: Record<string, unknown>;
  isStrike: boolean;
}

export type UnknownPlan = Pick<Closing, "state" | "reason" | "next" | "settle" | "usage">;

export interface UnknownPlans {
  plans: readonly UnknownPlan[];
  /** After the closing: what the transaction could not put, because another node had closed the row that carried it. */
  leftover(): NewDelivery[];
}

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
  /** Ends what of these runs goes on in containers, in one look. Never rejects. */
  endContainers(taken: readonly TakenRun[]): Promise<readonly { runId: string; name: string }[]>;
  /** State, next attempt and alerts of each, in order; together, so that one digest can speak for all. */
  planUnknowns(ended: readonly EndedRun[], finishedAt: number): Promise<UnknownPlans>;
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

/**
 * One sweep. Returns how many runs were taken over. Throws what the store throws as long as nothing was taken; what was
 * taken is ours alone, so its closing waits for the store until `signal` aborts (our death then hands it on).
 */
export async function recover(deps: RecoveryDeps, signal: AbortSignal): Promise<number> {
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
  if (taken.length > 0) {
    const byId = new Map(nodes.map((node) => [node.id, node]));
    await untilStored(deps, "close recovered runs", () => closeAsUnknown(deps, taken, byId), signal);
  }
  return requeued.length + taken.length;
}

/** All of one sweep in one transaction, so that its alerts can be one digest per target (O1). */
async function closeAsUnknown(
  deps: RecoveryDeps,
  taken: readonly TakenRun[],
  nodes: ReadonlyMap<string, NodeRecord>,
): Promise<void> {
  const containers = await deps.endContainers(taken);
  const cleaned = await Promise.all(
    taken.map(async (one) => {
      const ended = containers.filter(({ runId }) => runId === one.run.id).map(({ name }) => name);
      const cleanup = { ...(await cleanUp(deps, one)), ...(ended.length > 0 && { containers: ended }) };
      return { taken: one, cleanup };
    }),
  );
  const finishedAt = await deps.ledger.now();
  const ended: EndedRun[] = cleaned.map(({ taken: one, cleanup }) => {
    const owner = nodes.get(one.previousOwner ?? "");
    const outcome: Outcome = { state: "unknown", why: ownerDied(one.run.state, owner) };
    return { taken: one, outcome, cleanup, isStrike: isStrike(one, owner) };
  });
  const { plans, leftover } = await deps.planUnknowns(ended, finishedAt);
  const closings = ended.map((one, index) => closingOf(deps, one, { plan: plans[index], finishedAt }));
  const answers = await deps.ledger.closeRuns(closings);
  const unput = leftover();
  if (unput.length > 0) await deps.ledger.putDeliveries(unput, finishedAt);
  for (const [index, { taken: one, cleanup, isStrike: isYoung }] of ended.entries()) {
    const { id: runId, jobId, isSuspect } = one.run;
    deps.log.warn("run-recovered", { runId, jobId, ...cleanup, answer: answers[index] });
    if (answers[index] === "closed" && isSuspect && isYoung && jobId && deps.isQuarantineOn) {
      await deps.quarantine(jobId, "its node died again within a minute of starting it, alone");
    }
  }
}

/** I1: ends what the dead owner left on this host. */
async function cleanUp(
  deps: RecoveryDeps,
  { run, processes, previousOwner }: TakenRun,
): Promise<Record<string, unknown>> {
  const ours = processes.filter((process) => process.hostId === deps.host.hostId);
  const onOtherHosts = processes.length - ours.length;
  const facts = { owner: previousOwner, ...(onOtherHosts > 0 && { onOtherHosts }) };
  try {
    return { ...(await deps.endLeftovers(ours, run.id)), ...facts };
  } catch (error) {
    return { error: messageOf(error), ...facts };
  }
}

function closingOf(
  deps: RecoveryDeps,
  ended: EndedRun,
  close: { plan: UnknownPlan | undefined; finishedAt: number },
): Closing {
  const { run, claim, processes } = ended.taken;
  const { plan, finishedAt } = close;
  return {
    state: "unknown",
    reason: undefined,
    ...plan,
    claim,
    outcome: ended.outcome,
    finishedAt,
    endedProcesses: processes
      .filter(({ hostId }) => hostId === deps.host.hostId)
      .map(({ id }) => ({ id, exitCode: undefined })),
    ...(ended.isStrike && deps.isQuarantineOn && { strike: "strike" as const }),
    events: [
      { runId: run.id, jobId: run.jobId, at: finishedAt, kind: "processes-ended", data: ended.cleanup },
    ],
  };
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
