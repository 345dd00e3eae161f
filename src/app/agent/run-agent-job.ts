// An agent job from its prompt to its Outcome: checked, its script run, its prompt gathered, its agent run, its answer read.
//
// I1. Nothing is spent before the checks passed (law 8); what they refuse is `blocked`.
// I2. `running` is committed before the first side effect, whichever that is (start-once.ts).

import type { ScriptReport } from "../../agent/prompt/assemble-prompt.ts";
import { readWakeGate } from "../../agent/prompt/wake-gate.ts";
import { isFault, sayFault } from "../../kernel/errors.ts";
import { outcomeOfAbort } from "../../records/abort-outcome.ts";
import type { AgentWork, CommandRunner } from "../../records/agent-work.ts";
import type { Message } from "../../records/conversation.ts";
import type { Job } from "../../records/job.ts";
import type { Outcome } from "../../records/outcome.ts";
import type { RunContext } from "../../records/run-context.ts";
import { preflightFailure, type WorkInput } from "../work.ts";
import type { AgentDeps } from "./agent-deps.ts";
import { outcomeOfReply } from "./agent-outcome.ts";
import { gatherPrompt } from "./gather-prompt.ts";
import { runPreRunScript } from "./pre-run-script.ts";
import { preflightAgent } from "./preflight-agent.ts";
import { replayAgent } from "./replay-agent.ts";
import { runCommandAgent } from "./run-command-agent.ts";
import { runModelAgent } from "./run-model-agent.ts";
import { type Starter, startOnce } from "./start-once.ts";

export async function runAgentJob(deps: AgentDeps, { job }: WorkInput, ctx: RunContext): Promise<Outcome> {
  if (job.work.kind !== "agent") return preflightFailure("this is no agent job");
  try {
    return await checkAndRun(deps, { job, agent: job.work.agent }, ctx);
  } catch (error) {
    const reason = ctx.abortReason();
    if (reason) return outcomeOfAbort(reason);
    if (!isFault(error)) throw error;
    return { state: "failed", error: { code: error.code, message: sayFault(error) } };
  }
}

interface AgentJob {
  job: Job;
  agent: AgentWork;
}

async function checkAndRun(deps: AgentDeps, { job, agent }: AgentJob, ctx: RunContext): Promise<Outcome> {
  const { replay } = deps;
  if (replay) return replayAgent(deps, { job, agent, replay }, ctx);
  const preflight = await preflightAgent(deps, { job, agent }, ctx);
  if (preflight.kind === "refused") return preflightFailure(preflight.why);
  const starter = startOnce(ctx);
  const awake = await wake(deps, { job, agent }, { ctx, starter });
  if (awake.kind === "ended") return awake.outcome;
  if (!(await starter.begin()))
    return outcomeOfAbort(ctx.abortReason() ?? { kind: "cancel", by: "beforeStart" });
  const { plan } = preflight;
  const work = { job, agent, script: awake.script };
  return plan.kind === "command"
    ? runByCommand(deps, { ...work, runner: plan.runner }, { ctx, starter })
    : runModelAgent(deps, { ...work, ...plan }, ctx);
}

type Awake = { kind: "awake"; script: ScriptReport | undefined } | { kind: "ended"; outcome: Outcome };

/** The script that runs first says whether there is anything to do (U3). */
async function wake(
  deps: AgentDeps,
  { job, agent }: AgentJob,
  run: { ctx: RunContext; starter: Starter },
): Promise<Awake> {
  const { script } = agent;
  if (script === undefined) return { kind: "awake", script: undefined };
  const answer = await runPreRunScript(deps, { job, agent, script }, run);
  if (answer.kind === "ended") return answer;
  if (answer.kind === "failed") {
    const { stdout, message, stderrTail } = answer;
    return { kind: "awake", script: { kind: "error", script, why: message, stdout, stderr: stderrTail } };
  }
  const gate = readWakeGate(answer.stdout);
  if (gate.isWoken) return { kind: "awake", script: { kind: "output", script, stdout: gate.text } };
  const outcome: Outcome = { state: "succeeded", output: "", isSilent: true, reason: "notWoken" };
  return { kind: "ended", outcome };
}

async function runByCommand(
  { context, commands, isAttended = false }: AgentDeps,
  { job, agent, script, runner }: AgentJob & { script: ScriptReport | undefined; runner: CommandRunner },
  run: { ctx: RunContext; starter: Starter },
): Promise<Outcome> {
  const facts = { job, agent, run: run.ctx.run, script, cwd: job.workdir, hasSkillTools: false, isAttended };
  const prompt = textOf(await gatherPrompt(context, facts));
  const outcome = await runCommandAgent(commands, { job, runner, prompt }, run);
  if (outcome.state !== "succeeded") return outcome;
  const { isTruncated, media } = outcome;
  return { ...outcomeOfReply(outcome.output), ...(isTruncated && { isTruncated }), ...(media && { media }) };
}

/** A command has one input: what the system says, then what is asked. */
function textOf(messages: readonly Message[]): string {
  return messages.map(({ text }) => text).join("\n\n");
}
