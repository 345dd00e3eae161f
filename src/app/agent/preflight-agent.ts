// What is looked at right before an agent runs (law 8): what its creation looked at, its targets, the disk, and what
// its own history says about its budget.

import { statfs } from "node:fs/promises";
import { requireRoute } from "../../deliver/route.ts";
import { isFault, sayFault } from "../../kernel/errors.ts";
import type { AgentWork } from "../../records/agent-work.ts";
import type { Job } from "../../records/job.ts";
import type { RunContext } from "../../records/run-context.ts";
import type { Context } from "../context.ts";
import type { AgentDeps } from "./agent-deps.ts";
import { type AgentPlan, planAgent } from "./check-agent.ts";
import { whyUnaffordable } from "./predict-cost.ts";

/** Below this the ledger itself could fail in the middle of a run. */
const LEAST_FREE_BYTES = 50_000_000;

/** Why the run is blocked, in a sentence, or what it will do. */
export type Preflight = { kind: "refused"; why: string } | { kind: "ready"; plan: AgentPlan };

export async function preflightAgent(
  { context, isAttended = false }: AgentDeps,
  { job, agent }: { job: Job; agent: AgentWork },
  ctx: RunContext,
): Promise<Preflight> {
  let plan: AgentPlan;
  try {
    plan = await planAgent(context, job, agent, { isAttended, signal: ctx.signal });
    requireRoute([...job.deliver, ...job.onFailure], context.routeFor(job.origin));
  } catch (error) {
    if (!isFault(error)) throw error;
    return { kind: "refused", why: sayFault(error) };
  }
  const why = (await whyNoRoom(context)) ?? (await whyUnaffordable(context, ctx.run.jobId, agent.budget));
  return why === undefined ? { kind: "ready", plan } : { kind: "refused", why };
}

async function whyNoRoom({ home }: Context): Promise<string | undefined> {
  const disk = await statfs(home.paths.root).catch(() => undefined);
  const free = disk && disk.bavail * disk.bsize;
  if (free === undefined || free >= LEAST_FREE_BYTES) return undefined;
  return `the disk of ${home.paths.root} has only ${Math.floor(free / 1_000_000)} MB left. Make room.`;
}
