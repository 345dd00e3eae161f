// A recorded run once more (`run retry --replay`, `--fork N`): its conversation begins as it began then, its calls and tool
// results come from the tape, and what is asked now is compared with what was asked then.
//
// I1. Without a fork nothing is executed and no network is used: no script, no command, no server, no key is needed.
// I2. What differs is told; the recorded reply is used all the same, so that one change does not hide the next.

import { runLoop } from "../../agent/loop/run-loop.ts";
import type { Difference } from "../../agent/relay/cassette-lines.ts";
import { firstRequest } from "../../agent/relay/first-request.ts";
import { type Cassette, openCassette } from "../../agent/relay/open-cassette.ts";
import { outcomeOfAbort } from "../../records/abort-outcome.ts";
import type { AgentWork } from "../../records/agent-work.ts";
import type { Job } from "../../records/job.ts";
import type { CallModel, ToolSpec } from "../../records/model.ts";
import type { ModelConfig } from "../../records/models-config.ts";
import type { Outcome } from "../../records/outcome.ts";
import type { RunContext } from "../../records/run-context.ts";
import type { Tool } from "../../records/tool.ts";
import type { Replay } from "../node-options.ts";
import type { AgentDeps } from "./agent-deps.ts";
import { agentModels } from "./agent-models.ts";
import { outcomeOfLoop } from "./agent-outcome.ts";
import { toolsetsOf } from "./check-agent.ts";
import { loopDeps } from "./loop-deps.ts";
import { openCalls } from "./open-calls.ts";
import { openPlace, type Place } from "./open-place.ts";
import { grantedTools, openTools } from "./open-tools.ts";
import { startOnce } from "./start-once.ts";
import { type Telling, tellEvents } from "./tell-events.ts";

export interface ReplayWork {
  job: Job;
  agent: AgentWork;
  replay: Replay;
}

/** Rejects with `cassette.missing` for a tape that cannot be played, `model.*` where a fork has no model. */
export async function replayAgent(deps: AgentDeps, work: ReplayWork, ctx: RunContext): Promise<Outcome> {
  if (!(await startOnce(ctx).begin()))
    return outcomeOfAbort(ctx.abortReason() ?? { kind: "cancel", by: "beforeStart" });
  const place = await openPlace(deps, work.job, ctx);
  let outcome: Outcome | undefined;
  try {
    outcome = await replayInPlace(deps, work, { ctx, place });
    return outcome;
  } finally {
    await place.close(outcome);
  }
}

interface InPlace {
  ctx: RunContext;
  place: Place;
}

async function replayInPlace(deps: AgentDeps, work: ReplayWork, at: InPlace): Promise<Outcome> {
  const { ctx, place } = at;
  const { job, agent, replay } = work;
  const { isAttended = false } = deps;
  const telling = tellEvents(ctx, deps.onEvent);
  const live = replay.forkTurns === undefined ? undefined : await openLive(deps, work, { ...at, telling });
  const played = openPlayed(work, at, live);
  // Servers are asked only by who goes live: a replay alone uses no network (I1).
  const opened = await openTools(
    grantedTools(deps, { job, toolsets: toolsetsOf(deps.context, agent, { isAttended }) }, at),
    (name) => live !== undefined || !(name in deps.context.config.mcpServers),
    ctx.signal,
  );
  try {
    const { messages, tools: specs } = firstRequest(replay.tape);
    const tools = played.cassette.tools(specs.map((spec) => toolOf(spec, opened.tools)));
    const callModel = played.cassette.call;
    const { maxTurns } = agent;
    const parts = { callModel, config: live?.config ?? {}, maxTurns, place, telling, tools };
    const end = await runLoop(
      loopDeps(deps.context, parts),
      { messages, model: live?.name ?? "recorded" },
      ctx,
    );
    const outcome = outcomeOfLoop(end, ctx.abortReason());
    return live ? outcome : compared(outcome, played);
  } finally {
    await opened.close();
    await live?.close();
  }
}

interface Live {
  name: string;
  config: ModelConfig;
  callModel: CallModel;
  close(): Promise<void>;
}

async function openLive(
  { context }: AgentDeps,
  { agent }: ReplayWork,
  { ctx, place, telling }: InPlace & { telling: Telling },
): Promise<Live> {
  const models = await agentModels(context, agent, ctx.signal);
  const { callModel, close } = await openCalls(context, {
    ...{ models, agent, ctx, redact: place.redact },
    onRecord: telling.called,
  });
  const { name, config } = models.primary.first;
  return { name, config, callModel, close };
}

interface Played {
  cassette: Cassette;
  differences: (Difference & { call: number })[];
}

function openPlayed({ replay }: ReplayWork, { ctx, place }: InPlace, live: Live | undefined): Played {
  const differences: Played["differences"] = [];
  const cassette = openCassette(replay.tape, {
    redact: place.redact,
    onDifference: (difference) => {
      differences.push(difference);
      ctx.emit("replay-differed", { ...difference });
    },
    ...(live && { fork: { turns: replay.forkTurns ?? 0, live: live.callModel } }),
  });
  return { cassette, differences };
}

/** One of ours, which judges its arguments as it did; a server's tool only stands for its recorded results. */
function toolOf(spec: ToolSpec, tools: readonly Tool[]): Tool {
  const known = tools.find(({ name }) => name === spec.name);
  if (known) return known;
  const run = () => Promise.reject(new Error(`${spec.name} is not here; its results are on the tape`));
  const call = { summary: spec.name, run };
  return { ...spec, toolset: "recorded", isParallelSafe: false, prepare: () => ({ ok: true, call }) };
}

/** A replay that differs is a failure, with the first difference; what it said is kept. */
function compared(outcome: Outcome, { cassette, differences }: Played): Outcome {
  const [first] = differences;
  const unused = cassette.unused();
  if (!first && unused.length === 0)
    return outcome.state === "succeeded" ? { ...outcome, reason: "replayed" } : outcome;
  const message = first
    ? `call ${first.call} differs from the recording at ${first.path || "its form"}: recorded ${first.recorded}, now ${first.now} (${differences.length} in all)`
    : `the run ended before the recorded calls ${unused.join(", ")}`;
  const { output, usage } = outcome;
  return {
    state: "failed",
    ...(output !== undefined && { output }),
    ...(usage && { usage }),
    error: { code: "cassette.differs", message },
  };
}
