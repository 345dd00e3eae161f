// One prepared tool call: told, run under its own signal, and its result finalised. Never rejects.
//
// I1. Between `tool-started` and `tool-finished` of one call nothing of it is told again, and both are always told.
// I2. An aborted tool is waited for a bounded time; what it gives back then is kept.

import { linkAbort } from "../../kernel/abort.ts";
import { isFault, messageOf } from "../../kernel/errors.ts";
import { SECOND } from "../../kernel/time.ts";
import type { ToolContext, ToolResult } from "../../records/tool.ts";
import { errorResult, type FinalResult, finaliseResult, sayThrown } from "./finalise-result.ts";
import type { Prepared } from "./prepare-call.ts";
import { redactCall } from "./redact-message.ts";
import { type Session, tell, touch } from "./session.ts";
import { withinGrace } from "./within-grace.ts";

const GRACE_MS = 10 * SECOND;
const SUMMARY_CHARACTERS = 80;
/** The place itself is broken; other codes of its boundary are about one file, which a model can mend. */
const BROKEN: readonly string[] = ["environment.broken", "environment.unusable"];

export type ReadyCall = Extract<Prepared, { kind: "ready" }>;

export interface CallEnding extends FinalResult {
  /** The environment's own fault, untouched: the place is broken, not the call. */
  fault?: unknown;
}

/** `characters` bounds the result's text. */
export async function runCall(session: Session, ready: ReadyCall, characters: number): Promise<CallEnding> {
  const { deps, turn } = session;
  const summary = oneLine(deps.redact(ready.prepared.summary));
  const about = `tool ${ready.tool.name}${summary === "" ? "" : ` (${summary})`}`;
  const startedMs = deps.clock.monotonicMs();
  tell(session, { kind: "tool-started", turn, call: redactCall(ready.call, deps.redact), summary });
  touch(session, `${about}: started`);
  const ending = await execute(session, ready, { about, characters });
  touch(session, `${about}: ended`);
  tell(session, {
    kind: "tool-finished",
    turn,
    callId: ready.call.id,
    name: ready.tool.name,
    durationMs: Math.round(deps.clock.monotonicMs() - startedMs),
    error: ending.error,
    resultBytes: Buffer.byteLength(ending.text),
    isTruncated: ending.isTruncated,
  });
  return ending;
}

async function execute(
  session: Session,
  ready: ReadyCall,
  { about, characters }: { about: string; characters: number },
): Promise<CallEnding> {
  const { deps, ctx } = session;
  const to = { characters, redact: deps.redact };
  const link = linkAbort(ctx.signal);
  let isOver = false;
  const context: ToolContext = {
    callId: ready.call.id,
    runId: ctx.run.id,
    signal: link.signal,
    touch: (activity) => {
      if (!isOver) touch(session, `${about}: ${oneLine(deps.redact(activity))}`);
    },
  };
  try {
    const result = await withinGrace(start(ready, context), {
      signal: ctx.signal,
      graceMs: () => graceOf(session),
      clock: deps.clock,
    });
    return result ? finaliseResult(result, to) : leftBehind(session, ready, to);
  } catch (error) {
    return thrown(session, ready, { error, to });
  } finally {
    isOver = true;
    link.release();
  }
}

/** A tool that throws before its first await rejects like any other. */
async function start({ prepared }: ReadyCall, context: ToolContext): Promise<ToolResult> {
  return await prepared.run(context);
}

function thrown(
  { deps, ctx }: Session,
  { tool }: ReadyCall,
  { error, to }: { error: unknown; to: Parameters<typeof errorResult>[1] },
): CallEnding {
  if (ctx.signal.aborted)
    return errorResult("The run was interrupted; what the tool had done is not known.", to);
  deps.log.warn("tool-threw", { runId: ctx.run.id, tool: tool.name, error: deps.redact(messageOf(error)) });
  const isBroken = isFault(error) && BROKEN.includes(error.code);
  return { ...errorResult(sayThrown(tool.name, error), to), ...(isBroken && { fault: error }) };
}

function leftBehind(
  { deps, ctx }: Session,
  { tool }: ReadyCall,
  to: Parameters<typeof errorResult>[1],
): CallEnding {
  deps.log.warn("tool-left-behind", { runId: ctx.run.id, tool: tool.name });
  return errorResult(
    "The run was interrupted, and the tool did not stop in time; it may still be at work.",
    to,
  );
}

/** Somebody who is in a hurry shortens it. */
function graceOf({ deps, ctx }: Session): number {
  const graceMs = deps.limits?.toolGraceMs ?? GRACE_MS;
  const reason = ctx.abortReason();
  return reason?.kind === "nodeStopped" ? Math.min(graceMs, reason.graceMs ?? graceMs) : graceMs;
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > SUMMARY_CHARACTERS ? `${line.slice(0, SUMMARY_CHARACTERS - 1)}…` : line;
}
