// Everything about an agent job that can be known before a token is spent (law 8): when it is created or changed, and
// again right before each run.

import { openSkills } from "../../agent/skills/open-skills.ts";
import { findCommand } from "../../execute/find-command.ts";
import { checkWorkdir } from "../../execute/prepare-script.ts";
import { Fault, nearestWord } from "../../kernel/errors.ts";
import type { AgentWork, CommandRunner } from "../../records/agent-work.ts";
import type { Job } from "../../records/job.ts";
import type { Context } from "../context.ts";
import { checkScriptPlace, requireEnvironment, requireThisMachine } from "../environments.ts";
import { type AgentModels, agentModels } from "./agent-models.ts";
import { judgePrompt, requirePromptLength } from "./judge-prompt.ts";
import { grantToolsets } from "./toolsets.ts";

export interface AgentCheck {
  isAttended: boolean;
  signal: AbortSignal;
}

/** Who does the work, and with what: known before a token is spent. */
export type AgentPlan =
  | { kind: "command"; runner: CommandRunner }
  | { kind: "model"; models: AgentModels; toolsets: readonly string[] };

/** At creation and change. Throws as `planAgent`, and `prompt.blocked`, `input.not-found` (`contextFrom`). */
export async function checkAgent(
  context: Context,
  job: Job,
  agent: AgentWork,
  check: AgentCheck,
): Promise<void> {
  judgePrompt(context, agent.prompt);
  await planAgent(context, job, agent, check);
  await checkContextFrom(context, job, agent);
}

/**
 * Right before a run, too: what was said is judged with everything else that the agent will read (gather-prompt.ts).
 * Throws the first of: `job.invalid`, `input.too-large`, `model.*`, `tool.unknown`, `input.refused`, `skill.*`,
 * `script.*`, `environment.unusable`.
 */
export async function planAgent(
  context: Context,
  job: Job,
  agent: AgentWork,
  check: AgentCheck,
): Promise<AgentPlan> {
  requireWork(agent);
  requirePromptLength(context, agent.prompt);
  const plan = agent.runner
    ? await planCommand(context, job, agent.runner)
    : {
        kind: "model" as const,
        models: await agentModels(context, agent, check.signal),
        toolsets: toolsetsOf(context, agent, check),
      };
  await openSkills(context.home.paths.skillsFolder).load(agent.skills);
  await checkPlace(context, job, agent);
  return plan;
}

function requireWork({ prompt, script, skills }: AgentWork): void {
  if (prompt.trim() !== "" || script !== undefined || skills.length > 0) return;
  throw new Fault("job.invalid", "run.agent has neither a prompt, nor a script, nor a skill", {
    hint: "Write what the agent is to do as `prompt`.",
  });
}

/** Throws `tool.unknown`, `input.refused`. */
export function toolsetsOf(
  { config }: Pick<Context, "config">,
  agent: Pick<AgentWork, "toolsets">,
  { isAttended }: Pick<AgentCheck, "isAttended">,
): string[] {
  return grantToolsets({
    asked: agent.toolsets,
    mcpServers: Object.keys(config.mcpServers),
    isAttended,
    mayRunsSchedule: config.http.allowRunsToSchedule,
  });
}

async function planCommand(context: Context, job: Job, runner: CommandRunner): Promise<AgentPlan> {
  const found = await findCommand(runner.command[0] ?? "", job.env.PATH ?? context.env.PATH ?? "");
  if (found.kind === "found") return { kind: "command", runner };
  throw new Fault("environment.unusable", `the agent's command cannot be run: ${found.message}`, {
    hint: "Install it, or name it with its whole path.",
  });
}

async function checkPlace(context: Context, job: Job, agent: AgentWork): Promise<void> {
  if (agent.runner) requireThisMachine(context, job);
  if (agent.script !== undefined) return checkScriptPlace(context, job, { script: agent.script, args: [] });
  await checkWorkdir(job.workdir, context.env.HOME ?? "/");
  await requireEnvironment(context, job);
}

/** `contextFrom` names jobs that exist, or `self`. Throws `input.not-found`. */
async function checkContextFrom(context: Context, job: Job, agent: AgentWork): Promise<void> {
  const others = agent.contextFrom.filter((id) => id !== "self" && id !== job.id);
  if (others.length === 0) return;
  const known = (await context.ledger.jobs()).map(({ definition }) => definition.jobId);
  const missing = others.find((id) => !known.includes(id));
  if (missing === undefined) return;
  const near = nearestWord(missing, known);
  throw new Fault("input.not-found", `contextFrom names the job "${missing}", which there is not`, {
    hint: near ? `Did you mean "${near}"?` : "See `nightshift job list`.",
  });
}
