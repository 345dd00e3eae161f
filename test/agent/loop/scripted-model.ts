// A deterministic model: a list of replies, one a call. And a loop around it with real tools and a clock driven by hand.

import * as z from "zod/mini";
import { defineTool } from "../../../src/agent/define-tool.ts";
import type { LoopDeps, LoopEnd } from "../../../src/agent/loop/loop-types.ts";
import { runLoop } from "../../../src/agent/loop/run-loop.ts";
import { estimateMessages } from "../../../src/agent/models/estimate-tokens.ts";
import { makeLog } from "../../../src/kernel/log.ts";
import { makeRedact } from "../../../src/kernel/redact.ts";
import type { AgentEvent } from "../../../src/records/agent-event.ts";
import type { Message, ToolCall } from "../../../src/records/conversation.ts";
import type {
  CallModel,
  CallOptions,
  ModelChunk,
  ModelReply,
  ModelRequest,
} from "../../../src/records/model.ts";
import type { AbortReason } from "../../../src/records/run-context.ts";
import type { Tool, ToolContext, ToolResult } from "../../../src/records/tool.ts";
import { type ManualClock, manualClock } from "../../support/clock.ts";

/** A reply (what is left out is empty), an error to reject with, or whatever a function does. */
export type Step =
  | (Partial<ModelReply> & { chunks?: readonly ModelChunk[] })
  | Error
  | ((request: ModelRequest, options: CallOptions) => Promise<ModelReply>);

export interface ScriptedModel {
  callModel: CallModel;
  requests: ModelRequest[];
  roles: string[];
}

const USAGE = { inputTokens: 0, outputTokens: 5, cachedInputTokens: 0, reasoningTokens: 0 };

export function reply(part: Partial<ModelReply>): ModelReply {
  const hasCalls = (part.toolCalls?.length ?? 0) > 0;
  return {
    text: "",
    reasoning: "",
    toolCalls: [],
    finish: hasCalls ? "toolCalls" : "stop",
    usage: USAGE,
    costUsd: 0.001,
    model: "main",
    ...part,
  };
}

export function scriptedModel(steps: readonly Step[]): ScriptedModel {
  const requests: ModelRequest[] = [];
  const roles: string[] = [];
  return {
    requests,
    roles,
    async callModel(request, options) {
      options.signal.throwIfAborted();
      const step = steps[requests.length];
      requests.push(request);
      roles.push(options.role);
      if (step === undefined) throw new Error(`the script has no step ${requests.length}`);
      if (step instanceof Error) throw step;
      if (typeof step === "function") return await step(request, options);
      const { chunks, ...part } = step;
      const whole = reply(part);
      for (const chunk of chunks ?? chunksOf(whole)) options.onChunk?.(chunk);
      return whole;
    },
  };
}

function chunksOf({ text, reasoning, toolCalls }: ModelReply): ModelChunk[] {
  return [
    ...(reasoning === "" ? [] : [{ kind: "reasoning", text: reasoning } as const]),
    ...(text === "" ? [] : [{ kind: "text", text } as const]),
    ...toolCalls.map(({ name }) => ({ kind: "toolCall", name }) as const),
  ];
}

export function call(name: string, given: unknown, id = `id-${name}`): ToolCall {
  return { id, name, arguments: typeof given === "string" ? given : JSON.stringify(given) };
}

/** A tool that takes `{value: string}`. */
export function tool(
  name: string,
  run: (value: string, context: ToolContext) => Promise<ToolResult> | ToolResult,
  { isParallelSafe = false }: { isParallelSafe?: boolean } = {},
): Tool {
  return defineTool({
    name,
    toolset: "test",
    description: `The tool ${name}.`,
    schema: z.strictObject({ value: z.string() }),
    isParallelSafe,
    summarise: ({ value }) => value,
    run: async ({ value }, context) => await run(value, context),
  });
}

export const echo = tool("echo", (value) => ({ error: null, value }));

export interface World {
  clock: ManualClock;
  abort(reason: AbortReason): void;
  events: AgentEvent[];
  touches: string[];
  logs: { event: string; fields: Record<string, unknown> }[];
  model: ScriptedModel;
  /** Runs the loop. */
  run(prompt?: readonly Message[]): Promise<LoopEnd>;
  kinds(): string[];
  results(): string[];
}

export type WorldOptions = Partial<Pick<LoopDeps, "tools" | "maxTurns" | "limits" | "errorClassOf">> & {
  /** In place of the script. */
  callModel?: CallModel;
  secrets?: readonly string[];
  window?: Partial<LoopDeps["window"]>;
  onEvent?(event: AgentEvent): void;
  onTouch?(activity: string): void;
};

export const PROMPT: readonly Message[] = [
  { role: "system", text: "You are at work." },
  { role: "user", origin: "prompt", text: "Do it." },
];

export function openWorld(steps: readonly Step[], options: WorldOptions = {}): World {
  const {
    callModel,
    secrets = [],
    window,
    tools = [echo],
    maxTurns = 10,
    limits,
    errorClassOf,
    onEvent,
    onTouch,
  } = options;
  const model = scriptedModel(steps);
  const clock = manualClock(0);
  const controller = new AbortController();
  let reason: AbortReason | undefined;
  const world: World = {
    clock,
    model,
    events: [],
    touches: [],
    logs: [],
    abort(given) {
      reason = given;
      controller.abort(given);
    },
    run: (messages = PROMPT) =>
      runLoop(
        {
          callModel: callModel ?? model.callModel,
          tools,
          clock,
          emit: (event) => {
            world.events.push(event);
            onEvent?.(event);
          },
          window: { contextLength: 128_000, maxOutputTokens: 4_000, estimate: estimateMessages, ...window },
          maxTurns,
          redact: makeRedact(secrets),
          log: makeLog((_level, event, fields) => world.logs.push({ event, fields })),
          ...(errorClassOf && { errorClassOf }),
          ...(limits && { limits }),
        },
        { messages, model: "main" },
        {
          run: { id: "run-1" },
          signal: controller.signal,
          abortReason: () => reason,
          touch: (activity) => {
            world.touches.push(activity);
            onTouch?.(activity);
          },
        },
      ),
    kinds: () => world.events.map(({ kind }) => kind),
    results: () =>
      world.events.flatMap((event) =>
        event.kind === "message-added" && event.message.role === "tool" ? [event.message.text] : [],
      ),
  };
  return world;
}
