// What a model does, as attempts: one call, or an agent with its tools. Loaded with the first executor of such a kind.
//
// I1. A task's params reach a prompt as text, never as instructions of ours: the prompt guard reads what came out (S1).

import { isFault, messageOf, sayFault } from "../../kernel/errors.ts";
import { compileTemplates, scopeOfCall } from "../../orchestrate/executors/templates.ts";
import { outcomeOfAbort } from "../../records/abort-outcome.ts";
import { agentWorkOf } from "../../records/agent-document.ts";
import type { Message } from "../../records/conversation.ts";
import type { ExecutorCall } from "../../records/executor.ts";
import type { ModelWork } from "../../records/executor-config.ts";
import type { Job } from "../../records/job.ts";
import type { ModelReply } from "../../records/model.ts";
import type { Outcome } from "../../records/outcome.ts";
import { agentModels } from "../agent/agent-models.ts";
import { codeOfModelFailure } from "../agent/agent-outcome.ts";
import { requirePass, requirePromptLength } from "../agent/judge-prompt.ts";
import { openCalls } from "../agent/open-calls.ts";
import type { Attempt, Room } from "./room.ts";
import type { CommandPlace } from "./script-attempt.ts";

/** One logical call through the relay and the model port. */
export async function modelAttempt(room: Room, name: string, work: ModelWork): Promise<Attempt> {
  const { prompt = "{{ params.prompt }}", system } = work;
  const render = await compileTemplates({ prompt, system }, `${name}: model`);
  return async (call) => {
    const rendered = render(scopeOfCall(call));
    if (!rendered.ok) return failed("params", `${name}: ${rendered.message}`);
    const said = rendered.value as { prompt: unknown; system?: unknown };
    const messages: Message[] = [
      ...(said.system === undefined ? [] : [{ role: "system" as const, text: textOf(said.system) }]),
      { role: "user", text: textOf(said.prompt), origin: "prompt" },
    ];
    try {
      return await ask(room, { work, messages }, call);
    } catch (error) {
      const reason = call.ctx.abortReason();
      if (reason) return outcomeOfAbort(reason);
      return failed(codeOfModelFailure(error), isFault(error) ? sayFault(error) : messageOf(error));
    }
  };
}

const textOf = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

async function ask(
  { context }: Room,
  { work, messages }: { work: ModelWork; messages: readonly Message[] },
  { ctx }: ExecutorCall,
): Promise<Outcome> {
  const agent = agentWorkOf({ prompt: "", ...(work.model !== undefined && { model: work.model }) }, {});
  for (const { text } of messages) requirePromptLength(context, text);
  const models = await agentModels(context, agent, ctx.signal);
  if (!(await ctx.begin())) return outcomeOfAbort(ctx.abortReason() ?? { kind: "cancel", by: "beforeStart" });
  const calls = await openCalls(context, {
    ...{ models, agent, ctx, redact: context.redact },
    onRecord: (record) => ctx.emit("call-finished", { turn: 1, record }),
  });
  try {
    const reply = await calls.callModel(
      {
        messages,
        tools: [],
        ...(work.maxOutputTokens !== undefined && { maxOutputTokens: work.maxOutputTokens }),
      },
      {
        role: "primary",
        signal: ctx.signal,
        onChunk: () => ctx.touch("writing"),
        onActivity: (activity) => ctx.touch(activity),
      },
    );
    return outcomeOfReply(reply, work);
  } finally {
    await calls.close();
  }
}

function outcomeOfReply(reply: ModelReply, { json }: ModelWork): Outcome {
  const { text, model, finish, costUsd } = reply;
  const usage = {
    tokensIn: reply.usage.inputTokens,
    tokensOut: reply.usage.outputTokens,
    ...(costUsd !== undefined && { costUsd }),
    modelCalls: 1,
  };
  const kept = { ...(text !== "" && { output: text }), usage };
  if (text.trim() === "") return { ...failed("empty", "the model gave no text at all"), usage };
  if (!json)
    return { state: "succeeded", ...kept, output: text, isSilent: false, result: { text, model, finish } };
  const found = jsonIn(text);
  if (!found) return { ...failed("result", "the model's reply is no JSON"), ...kept };
  return { state: "succeeded", ...kept, output: text, isSilent: false, result: found.value };
}

/** The reply as JSON: as it is, or in one fence. */
function jsonIn(text: string): { value: unknown } | undefined {
  const fenced = /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(text)?.[1];
  try {
    return { value: JSON.parse(fenced ?? text) as unknown };
  } catch {
    return undefined;
  }
}

/** An agent's whole work as one attempt: what an agent job does, with the task's params in its texts. */
export async function agentAttempt(
  room: Room,
  name: string,
  { agent, place }: { agent: Readonly<Record<string, unknown>>; place: CommandPlace },
): Promise<Attempt> {
  const render = await compileTemplates(agent, `${name}: agent`);
  return async (call) => {
    const rendered = render(scopeOfCall(call));
    if (!rendered.ok) return failed("params", `${name}: ${rendered.message}`);
    const { context } = room;
    const { commands, agent: options } = room.serving();
    let job: Job;
    try {
      job = jobOf(name, rendered.value as Record<string, unknown>, { room, call, place });
      if (job.work.kind === "agent") requirePass(job.work.agent.prompt, "strict", "the prompt");
    } catch (error) {
      return failed("preflight", isFault(error) ? sayFault(error) : messageOf(error));
    }
    const { runAgentJob } = await import("../agent/run-agent-job.ts");
    const outcome = await runAgentJob(
      { context, commands, ...options },
      { job, definition: undefined },
      call.ctx,
    );
    if (outcome.state !== "succeeded") return outcome;
    return { ...outcome, result: jsonIn(outcome.output)?.value ?? { text: outcome.output } };
  };
}

function jobOf(
  name: string,
  agent: Record<string, unknown>,
  { room, call, place }: { room: Room; call: ExecutorCall; place: CommandPlace },
): Job {
  const { context } = room;
  const { workdir, environment } = call;
  const job = context.resolveDocument(
    {
      id: name.toLowerCase().replace(/[^a-z0-9_-]/g, "-"),
      name,
      run: { agent },
      env: { ...place.env, ...call.env },
      environment: environment ?? place.environment ?? "local",
      timezone: call.timezone,
      effects: place.effects,
      deliver: [],
      onFailure: [],
    },
    { zone: call.timezone, anchor: context.clock.now(), now: context.clock.now() },
  );
  return { ...job, workdir: workdir ?? place.workdir ?? job.workdir };
}

function failed(code: string, message: string): Extract<Outcome, { state: "failed" }> {
  return { state: "failed", error: { code, message } };
}
