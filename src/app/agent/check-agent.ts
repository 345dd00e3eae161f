// Everything about an agent job that can be known before a token is spent (law 8): when it is created or changed, and
// again right before each run.

import { scanPrompt } from "../../agent/guard/scan-prompt.ts";
import { openSkills } from "../../agent/skills/open-skills.ts";
import { findCommand } from "../../execute/find-command.ts";
import { checkWorkdir } from "../../execute/prepare-script.ts";
import { Fault, nearestWord } from "../../kernel/errors.ts";
import type { AgentWork } from "../../records/agent-work.ts";
import type { Job } from "../../records/job.ts";
import type { Context } from "../context.ts";
import { checkScriptPlace, requireEnvironment, requireThisMachine } from "../environments.ts";
import { agentModels } from "./agent-models.ts";
import { grantToolsets } from "./toolsets.ts";

export interface AgentCheck {
  isAttended: boolean;
  signal: AbortSignal;
}

/**
 * Throws the first of: `job.invalid`, `input.too-large`, `prompt.blocked`, `model.*`, `skill.*`, `tool.unknown`,
 * `input.refused`, `script.*`, `environment.unusable`.
 */
export async function checkAgent(
  context: Context,
  job: Job,
  agent: AgentWork,
  check: AgentCheck,
): Promise<void> {
  checkPrompt(context, agent);
  if (agent.runner) await checkRunner(context, job, agent.runner.command[0] ?? "");
  else {
    await agentModels(context, agent, check.signal);
    grantToolsets({
      asked: agent.toolsets,
      mcpServers: Object.keys(context.config.mcpServers),
      isAttended: check.isAttended,
      mayRunsSchedule: context.config.http.allowRunsToSchedule,
    });
  }
  await openSkills(context.home.paths.skillsFolder).load(agent.skills);
  await checkPlace(context, job, agent);
}

function checkPrompt(context: Context, agent: AgentWork): void {
  const { prompt, script, skills } = agent;
  if (prompt.trim() === "" && script === undefined && skills.length === 0)
    throw new Fault("job.invalid", "run.agent has neither a prompt, nor a script, nor a skill", {
      hint: "Write what the agent is to do as `prompt`.",
    });
  const { promptBytes } = context.config.limits;
  const bytes = Buffer.byteLength(prompt);
  if (bytes > promptBytes)
    throw new Fault("input.too-large", `the prompt has ${bytes} bytes; at most ${promptBytes} are taken`, {
      hint: "Shorten it, or let the agent read it from a file.",
    });
  requireHarmless(prompt);
}

/** The strict scan of what a person or an agent wrote as a prompt. Throws `prompt.blocked`. */
export function requireHarmless(prompt: string): void {
  const answer = scanPrompt(prompt, "strict");
  if (answer.verdict === "pass") return;
  const { rule, reason, at } = answer;
  throw new Fault("prompt.blocked", `the prompt is refused by rule ${rule}: ${reason} (line ${at.line})`, {
    hint: "Say it otherwise; `nightshift guard` tells what it thinks of a text.",
    details: { rule, line: at.line, column: at.column },
  });
}

async function checkRunner(context: Context, job: Job, command: string): Promise<void> {
  const found = await findCommand(command, job.env.PATH ?? context.env.PATH ?? "");
  if (found.kind === "found") return;
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

/** At creation: `contextFrom` names jobs that exist, or `self`. Throws `input.not-found`. */
export async function checkContextFrom(context: Context, job: Job, agent: AgentWork): Promise<void> {
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
