// Records a run: each logical call with its request, pieces and end, each tool with its result, as lines for a writer.
//
// I1. A recorder that breaks is detached and reported once: the run goes on, its tape ends (S4).
// I2. Everything is redacted before it is written. The caller's writer owns the file (mode 0600) and its size.

import { isFault } from "../../kernel/errors.ts";
import type { Redact } from "../../kernel/redact.ts";
import { mapStrings } from "../../kernel/redact-value.ts";
import type { CallModel, ModelChunk } from "../../records/model.ts";
import type { Tool } from "../../records/tool.ts";
import { classOfModelError } from "../models/model-error.ts";
import { aroundRuns } from "./around-runs.ts";
import { type CassetteLine, formatLine, type TapedCall, tapedRequest } from "./cassette-lines.ts";
import { type DetachDeps, detachable } from "./detachable-sink.ts";

export interface RecordDeps extends DetachDeps {
  runId: string;
  /** Appends a line, its end included. Lines come in order. */
  write(line: string): void | Promise<void>;
  redact: Redact;
}

export interface CassetteRecorder {
  /** The model, recorded. Goes around the port, inside the relay. */
  call: CallModel;
  /** The tools, recorded. */
  tools(tools: readonly Tool[]): Tool[];
  /** Resolves when everything was written or given up. */
  settled(): Promise<void>;
}

export function recordCassette(callModel: CallModel, deps: RecordDeps): CassetteRecorder {
  const sink = detachable((line: CassetteLine) => deps.write(formatLine(redacted(line, deps.redact))), deps);
  sink.put({ kind: "cassette", version: 1, runId: deps.runId });
  let calls = 0;

  const call: CallModel = async (request, options) => {
    const number = ++calls;
    const chunks: ModelChunk[] = [];
    const seen = { provider: "", isStreaming: false };
    const { onChunk } = options;
    const put = (end: Pick<TapedCall, "reply" | "failure">) =>
      sink.put({
        kind: "call",
        number,
        role: options.role,
        ...seen,
        request: tapedRequest(request, options.role),
        ...(onChunk ? { chunks: [...chunks] } : {}),
        ...end,
      });
    try {
      const reply = await callModel(request, {
        ...options,
        // Only where somebody listens: a listener forbids a second attempt (model-port I1).
        ...(onChunk ? { onChunk: both((chunk) => chunks.push(chunk), onChunk) } : {}),
        onProgress(progress) {
          if (progress.kind === "attempt-started")
            Object.assign(seen, { provider: progress.provider, isStreaming: progress.isStreaming });
          options.onProgress?.(progress);
        },
      });
      put({
        reply: { ...reply, toolCalls: [...reply.toolCalls], providerParts: copyOf(reply.providerParts) },
      });
      return reply;
    } catch (error) {
      // A cancelled call has no end of its own to repeat.
      if (!options.signal.aborted) put({ failure: failureOf(error) });
      throw error;
    }
  };

  return {
    call,
    tools: (tools) => tools.map((tool) => recordedTool(tool, (line) => sink.put(line))),
    settled: () => sink.settled(),
  };
}

const both =
  (first: (chunk: ModelChunk) => void, second: (chunk: ModelChunk) => void) => (chunk: ModelChunk) => {
    first(chunk);
    second(chunk);
  };

const copyOf = (parts: readonly unknown[] | undefined) => (parts ? [...parts] : undefined);

function redacted(line: CassetteLine, redact: Redact): CassetteLine {
  // A map over strings keeps the form.
  return mapStrings(line, redact) as CassetteLine;
}

function recordedTool(tool: Tool, put: (line: CassetteLine) => void): Tool {
  return aroundRuns(tool, async ({ value, call, context }) => {
    const result = await call.run(context);
    if (!context.signal.aborted)
      put({ kind: "tool", callId: context.callId, name: tool.name, arguments: value, result });
    return result;
  });
}

function failureOf(error: unknown): NonNullable<TapedCall["failure"]> {
  const isError = error instanceof Error;
  const status = isError && "statusCode" in error ? error.statusCode : undefined;
  return {
    name: isError ? error.name : "Error",
    message: isError ? error.message : String(error),
    errorClass: classOfModelError(error),
    ...(typeof status === "number" ? { statusCode: status } : {}),
    ...(isFault(error) ? { faultCode: error.code, hint: error.hint } : {}),
  };
}
