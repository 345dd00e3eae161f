// Plays a recorded run: calls and tool results come from the tape, without a network and without effects.
//
// I1. A call is answered by the recorded call whose request is the same; none such is a difference, and the next
//     recorded call of that role is what it is compared with.
// I2. With `fork: N` the first N calls of the agent itself come from the tape, everything after is live; so do the tools
//     that the recorded replies called.
// I3. A result belongs to the reply before it on the tape: servers that number calls anew in each answer give several
//     calls of a run one id.

import { Fault, type FaultCode } from "../../kernel/errors.ts";
import type { Redact } from "../../kernel/redact.ts";
import { mapStrings } from "../../kernel/redact-value.ts";
import type { CallModel, CallOptions, ModelReply } from "../../records/model.ts";
import type { Tool } from "../../records/tool.ts";
import { aroundRuns } from "./around-runs.ts";
import {
  type CassetteLine,
  type Difference,
  firstDifference,
  parseCassette,
  type TapedCall,
  type TapedTool,
  tapedRequest,
} from "./cassette-lines.ts";

export interface CassetteOptions {
  /** The same secrets as at recording: requests are compared redacted. */
  redact: Redact;
  /** Told of each difference, and the recorded reply is used all the same. Default: Fault `cassette.differs`. */
  onDifference?: ((difference: Difference & { call: number }) => void) | undefined;
  /** Goes live after the agent's first `turns` calls. */
  fork?: { turns: number; live: CallModel } | undefined;
}

export interface Cassette {
  runId: string | undefined;
  call: CallModel;
  /** The tools, answered from the tape. Nothing is run, except after a fork. */
  tools(tools: readonly Tool[]): Tool[];
  /** Numbers of recorded calls that were not asked for: a run that ended early. */
  unused(): number[];
}

/** Opens a tape's text. Throws Fault `cassette.missing` when it holds nothing to play. */
export function openCassette(text: string, options: CassetteOptions): Cassette {
  const lines = parseCassette(text);
  const head = lines.find((line) => line.kind === "cassette");
  const calls = lines.filter((line): line is TapedCall => line.kind === "call");
  const results = resultsByCall(lines);
  const waiting = new Set(calls);
  /** The results, by id, of calls whose reply was played and that were not run since (I2). */
  const due = new Map<string, TapedTool | undefined>();
  let primaryCalls = 0;

  const call: CallModel = async (request, callOptions) => {
    callOptions.signal.throwIfAborted();
    const { fork } = options;
    if (fork && primaryCalls >= fork.turns) return fork.live(request, callOptions);
    if (callOptions.role === "primary") primaryCalls++;
    const now = mapStrings(tapedRequest(request, callOptions.role), options.redact);
    const taped = pickCall(waiting, { now, role: callOptions.role });
    if (!taped) throw endOfTape(calls.length);
    waiting.delete(taped);
    const difference = firstDifference(taped.request, now);
    if (difference) {
      if (!options.onDifference) throw differs(taped.number, difference);
      options.onDifference({ ...difference, call: taped.number });
    }
    const reply = play(taped, callOptions);
    for (const { id } of reply.toolCalls) due.set(id, results.get(taped)?.get(id));
    return reply;
  };

  return {
    runId: head?.runId,
    call,
    tools: (tools) => tools.map((tool) => playedTool(tool, { due, isForked: options.fork !== undefined })),
    unused: () => [...waiting].map(({ number }) => number),
  };
}

/** The results of each call of the agent itself, by id (I3). */
function resultsByCall(lines: readonly CassetteLine[]): ReadonlyMap<TapedCall, Map<string, TapedTool>> {
  const results = new Map<TapedCall, Map<string, TapedTool>>();
  let newest = new Map<string, TapedTool>();
  for (const line of lines) {
    if (line.kind === "tool") newest.set(line.callId, line);
    if (line.kind !== "call" || line.role !== "primary") continue;
    newest = new Map();
    results.set(line, newest);
  }
  return results;
}

/** (I1) */
function pickCall(
  waiting: ReadonlySet<TapedCall>,
  { now, role }: { now: unknown; role: TapedCall["role"] },
): TapedCall | undefined {
  const candidates = [...waiting].filter((call) => call.role === role);
  return candidates.find(({ request }) => !firstDifference(request, now)) ?? candidates[0];
}

function differs(call: number, difference: Difference): Fault {
  const { path, recorded, now } = difference;
  return new Fault(
    "cassette.differs",
    `Call ${call} differs from the recording at ${path || "its form"}: recorded ${recorded}, now ${now}`,
    {
      hint: `Fork before it (\`--fork ${Math.max(0, call - 1)}\`) to go live from there.`,
      details: { call, ...difference },
    },
  );
}

function endOfTape(count: number): Fault {
  return new Fault("cassette.missing", `The recording has ${count} calls, and the run asks for one more`, {
    hint: `Fork after them (\`--fork ${count}\`) to go live from there.`,
  });
}

/** Tells what was told then, and ends as it ended then. */
function play(taped: TapedCall, { onChunk, onActivity, onProgress }: CallOptions): ModelReply {
  const { reply, failure, provider, isStreaming } = taped;
  onActivity?.(`playing call ${taped.number}`);
  onProgress?.({ kind: "attempt-started", model: reply?.model ?? "", provider, isStreaming });
  const chunks = taped.chunks ?? (reply ? chunksOf(reply) : []);
  if (chunks.length > 0) onProgress?.({ kind: "content-arrived" });
  for (const chunk of chunks) onChunk?.(chunk);
  if (!reply) throw errorOf(failure);
  onProgress?.({ kind: "attempt-ended", usage: reply.usage, costUsd: reply.costUsd });
  const { costUsd, providerParts, ...rest } = reply;
  return { ...rest, costUsd, ...(providerParts ? { providerParts } : {}) };
}

function chunksOf({ reasoning, text, toolCalls }: NonNullable<TapedCall["reply"]>) {
  return [
    ...(reasoning === "" ? [] : [{ kind: "reasoning" as const, text: reasoning }]),
    ...(text === "" ? [] : [{ kind: "text" as const, text }]),
    ...toolCalls.map(({ name }) => ({ kind: "toolCall" as const, name })),
  ];
}

/** Of the same class as then: name, status and code are what errors are told apart by. */
function errorOf(failure: TapedCall["failure"]): Error {
  const { name = "Error", message = "the recorded call failed", statusCode, faultCode, hint } = failure ?? {};
  // A code that this version does not know any more is still a code.
  if (faultCode !== undefined)
    return new Fault(faultCode as FaultCode, message, { hint: hint ?? "Try again." });
  return Object.assign(new Error(message), { name }, statusCode === undefined ? {} : { statusCode });
}

interface Tape {
  due: Map<string, TapedTool | undefined>;
  isForked: boolean;
}

function playedTool(tool: Tool, { due, isForked }: Tape): Tool {
  return aroundRuns(tool, ({ call, context }) => {
    const { callId } = context;
    const taped = due.get(callId);
    if (isForked && !due.has(callId)) return call.run(context);
    due.delete(callId);
    return taped ? Promise.resolve(taped.result) : Promise.reject(noResult(tool.name, callId));
  });
}

function noResult(name: string, callId: string): Fault {
  return new Fault("cassette.missing", `The recording has no result of ${name} (${callId})`, {
    hint: "Fork before the turn that called it to go live from there.",
  });
}
