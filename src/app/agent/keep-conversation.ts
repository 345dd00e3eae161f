// What is kept of an agent's run beside its output: the conversation as a trajectory, and its calls for a replay.

import type { LoopEnd } from "../../agent/loop/loop-types.ts";
import { trajectoryRow } from "../../agent/trajectory/trajectory-row.ts";
import { messageOf } from "../../kernel/errors.ts";
import type { Redact } from "../../kernel/redact.ts";
import type { RunContext } from "../../records/run-context.ts";
import type { Tool } from "../../records/tool.ts";
import { JOBLESS_FOLDER, openOutputFiles, type RunFileName } from "../../store/files/output-files.ts";
import type { Context } from "../context.ts";
import { BUILT_IN_TOOLS } from "./open-tools.ts";

export interface Kept {
  ctx: RunContext;
  end: LoopEnd;
  model: string;
  tools: readonly Tool[];
  redact: Redact;
  /** JSON lines; undefined = nothing was recorded. */
  cassette: string | undefined;
}

/** A disk that cannot take it fails no run: the conversation is in the run's log as well. */
export async function keepConversation(context: Context, kept: Kept): Promise<void> {
  const { run, log } = kept.ctx;
  const files = openOutputFiles(context.home.paths.root);
  const name: RunFileName = {
    jobId: run.jobId ?? JOBLESS_FOLDER,
    runId: run.id,
    slot: run.slot,
    createdAt: run.createdAt,
  };
  try {
    await files.writeBeside(name, "trajectory", `${JSON.stringify(rowOf(context, kept))}\n`);
    if (kept.cassette !== undefined) await files.writeBeside(name, "cassette", kept.cassette);
  } catch (error) {
    log.error("conversation-not-kept", { runId: run.id, error: messageOf(error) });
  }
}

function rowOf(context: Context, { ctx, end, model, tools, redact }: Kept) {
  const { run } = ctx;
  return trajectoryRow({
    messages: end.messages,
    tools,
    knownTools: BUILT_IN_TOOLS,
    reason: end.reason,
    apiCalls: end.calls,
    model,
    at: context.clock.now(),
    metadata: {
      run: run.id,
      root: run.rootId,
      job: run.jobId ?? null,
      attempt: run.attempt,
      reason: end.reason,
    },
    redact,
  });
}
