// Our own agent: a place, tools and models opened, the loop run, everything ended and kept.

import { scanPrompt } from "../../agent/guard/scan-prompt.ts";
import { estimateTokens } from "../../agent/loop/estimate-tokens.ts";
import type { LoopDeps } from "../../agent/loop/loop-types.ts";
import { runLoop } from "../../agent/loop/run-loop.ts";
import { classOfModelError } from "../../agent/models/model-error.ts";
import { DEFAULT_CONTEXT_TOKENS } from "../../agent/models/price.ts";
import type { ScriptReport } from "../../agent/prompt/assemble-prompt.ts";
import type { AgentWork } from "../../records/agent-work.ts";
import type { Job } from "../../records/job.ts";
import type { Outcome } from "../../records/outcome.ts";
import type { RunContext } from "../../records/run-context.ts";
import type { Tool } from "../../records/tool.ts";
import { makeCronjobTool } from "../agent-tools/cronjob.ts";
import type { AgentDeps } from "../agent-work.ts";
import { type AgentModels, agentModels } from "./agent-models.ts";
import { outcomeOfLoop } from "./agent-outcome.ts";
import { gatherPrompt } from "./gather-prompt.ts";
import { keepConversation } from "./keep-conversation.ts";
import { type Calls, openCalls } from "./open-calls.ts";
import { openPlace, type Place } from "./open-place.ts";
import { type OpenedTools, openTools } from "./open-tools.ts";
import { type Telling, tellEvents } from "./tell-events.ts";
import { grantToolsets } from "./toolsets.ts";

export interface ModelAgentWork {
  job: Job;
  agent: AgentWork;
  script: ScriptReport | undefined;
}

/** Rejects with a Fault for what stood in its way before the first call; whatever was opened is closed. */
export async function runModelAgent(
  deps: AgentDeps,
  work: ModelAgentWork,
  ctx: RunContext,
): Promise<Outcome> {
  const place = await openPlace(deps, work.job, ctx);
  let outcome: Outcome | undefined;
  try {
    outcome = await runInPlace(deps, work, { ctx, place });
    return outcome;
  } finally {
    await place.close(outcome);
  }
}

async function runInPlace(
  deps: AgentDeps,
  work: ModelAgentWork,
  { ctx, place }: { ctx: RunContext; place: Place },
): Promise<Outcome> {
  const { context, isAttended = false } = deps;
  const { job, agent } = work;
  const toolsets = grantToolsets({
    asked: agent.toolsets,
    mcpServers: Object.keys(context.config.mcpServers),
    isAttended,
    mayRunsSchedule: context.config.http.allowRunsToSchedule,
  });
  const hasSkillTools = toolsets.includes("skills");
  const facts = { ...work, run: ctx.run, cwd: place.environment.cwd, hasSkillTools, isAttended };
  const messages = await gatherPrompt(context, facts);
  const models = await agentModels(context, agent, ctx.signal);
  const telling = tellEvents(ctx, deps.onEvent);
  const calls = await openCalls(context, { models, agent, ctx, onRecord: telling.called });
  const tools = await openTools(
    { context, place, cronjob: () => cronjobFor(deps, job, ctx) },
    toolsets,
    ctx.signal,
  );
  for (const problem of tools.problems) ctx.emit("tools-missing", { text: problem });
  try {
    const loop = loopDeps(deps, { agent, place, models, calls, telling, tools });
    const model = models.primary.first.name;
    const end = await runLoop(loop, { messages, model }, ctx);
    await keepConversation(context, {
      ...{ ctx, end, model, redact: place.redact },
      tools: tools.tools,
      cassette: undefined,
    });
    return outcomeOfLoop(end, ctx.abortReason());
  } finally {
    await tools.close();
    await calls.close();
  }
}

interface Opened {
  agent: AgentWork;
  place: Place;
  models: AgentModels;
  calls: Calls;
  telling: Telling;
  tools: OpenedTools;
}

function loopDeps({ context }: AgentDeps, opened: Opened): LoopDeps {
  const { agent, place, models, calls, telling, tools } = opened;
  const { config } = models.primary.first;
  return {
    callModel: calls.callModel,
    tools: tools.tools,
    clock: context.clock,
    emit: telling.emit,
    window: {
      contextLength: config.contextLength ?? DEFAULT_CONTEXT_TOKENS,
      maxOutputTokens: config.maxOutputTokens,
      estimate: estimateTokens,
      summarise: calls.callModel,
    },
    maxTurns: agent.maxTurns,
    redact: place.redact,
    log: context.log,
    errorClassOf: classOfModelError,
  };
}

/** A person's own session schedules freely; a run that the config lets schedule is still known as a run (S1). */
function cronjobFor({ context, isAttended }: AgentDeps, job: Job, { run }: RunContext): Tool {
  return makeCronjobTool({
    context: { ...context, actor: `agent:${run.id}` },
    scan: (text) => scanPrompt(text, "strict"),
    ...(job.origin && { origin: job.origin }),
    ...(!isAttended && { caller: { runId: run.id, jobId: run.jobId } }),
  });
}
