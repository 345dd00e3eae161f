// An agent job from its prompt to its Outcome.

import type { Outcome } from "../../records/outcome.ts";
import type { RunContext } from "../../records/run-context.ts";
import type { AgentDeps } from "../agent-work.ts";
import { preflightFailure, type WorkInput } from "../work.ts";
import { runCommandAgent } from "./run-command-agent.ts";
import { startOnce } from "./start-once.ts";

export async function runAgentJob(
  { commands }: AgentDeps,
  { job }: WorkInput,
  ctx: RunContext,
): Promise<Outcome> {
  if (job.work.kind !== "agent") return preflightFailure("this is no agent job");
  const { agent } = job.work;
  const starter = startOnce(ctx);
  if (agent.runner)
    return runCommandAgent(commands, { job, runner: agent.runner, prompt: agent.prompt }, { ctx, starter });
  return preflightFailure("no model");
}
