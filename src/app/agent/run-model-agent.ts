// Our own agent: a place, tools and models opened, the loop run, everything ended and kept.

import { runLoop } from "../../agent/loop/run-loop.ts";
import type { ScriptReport } from "../../agent/prompt/assemble-prompt.ts";
import type { AgentWork } from "../../records/agent-work.ts";
import type { Job } from "../../records/job.ts";
import type { MediaSource } from "../../records/media.ts";
import type { Outcome } from "../../records/outcome.ts";
import type { RunContext } from "../../records/run-context.ts";
import type { AgentDeps } from "./agent-deps.ts";
import type { AgentModels } from "./agent-models.ts";
import { outcomeOfLoop } from "./agent-outcome.ts";
import { gatherPrompt } from "./gather-prompt.ts";
import { keepConversation } from "./keep-conversation.ts";
import { loopDeps } from "./loop-deps.ts";
import { openCalls } from "./open-calls.ts";
import { openPlace, type Place } from "./open-place.ts";
import { grantedTools, openTools } from "./open-tools.ts";
import { tellEvents } from "./tell-events.ts";

export interface ModelAgentWork {
  job: Job;
  agent: AgentWork;
  script: ScriptReport | undefined;
  models: AgentModels;
  toolsets: readonly string[];
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
    outcome = (await deps.commands.keepMedia?.(outcome, mediaSource(place, ctx), ctx.run)) ?? outcome;
    return outcome;
  } finally {
    await place.close(outcome);
  }
}

/** On this machine its folders are asked; elsewhere the place itself. */
function mediaSource({ environment, isLocal, allowed, redact }: Place, { signal }: RunContext): MediaSource {
  if (!isLocal) return { kind: "environment", environment, signal, redact };
  const { cwd } = environment;
  return { kind: "folders", cwd, folders: [cwd, ...allowed], redact };
}

async function runInPlace(
  deps: AgentDeps,
  work: ModelAgentWork,
  { ctx, place }: { ctx: RunContext; place: Place },
): Promise<Outcome> {
  const { context, isAttended = false } = deps;
  const { job, agent, models, toolsets } = work;
  const granted = grantedTools(deps, { job, toolsets }, { ctx, place });
  const hasSkillTools = toolsets.includes("skills");
  const facts = { ...work, run: ctx.run, cwd: place.environment.cwd, hasSkillTools, isAttended };
  const messages = await gatherPrompt(context, facts);
  const { name: model, config } = models.primary.first;
  const telling = tellEvents(ctx, deps.onEvent);
  const calls = await openCalls(context, {
    ...{ models, agent, ctx, redact: place.redact },
    onRecord: telling.called,
  });
  try {
    const opened = await openTools(granted, () => true, ctx.signal);
    for (const problem of opened.problems) ctx.emit("tools-missing", { text: problem });
    try {
      const tools = calls.tape?.tools(opened.tools) ?? opened.tools;
      const parts = { callModel: calls.callModel, config, maxTurns: agent.maxTurns, place, telling, tools };
      const end = await runLoop(loopDeps(context, parts), { messages, model }, ctx);
      const cassette = calls.tape?.text();
      await keepConversation(context, { ctx, end, model, redact: place.redact, tools, cassette });
      return outcomeOfLoop(end, ctx.abortReason());
    } finally {
      await opened.close();
    }
  } finally {
    await calls.close();
  }
}
