// The conversation and the turns that the lines of a run's log tell, for people and for what comes after. Pure.
//
// I1. What a log cut away, or a line of another version, is passed over; reading never throws.

import * as z from "zod/mini";
import type { Message } from "../../records/conversation.ts";
import type { EventLine } from "./event-lines.ts";

const toolCall = z.object({ id: z.string(), name: z.string(), arguments: z.string() });
const message = z.union([
  z.object({ role: z.literal("system"), text: z.string() }),
  z.object({
    role: z.literal("user"),
    text: z.string(),
    origin: z.optional(z.enum(["prompt", "summary", "lastTurn", "malformed"])),
  }),
  z.object({
    role: z.literal("assistant"),
    text: z.string(),
    reasoning: z.optional(z.string()),
    toolCalls: z.array(toolCall),
  }),
  z.object({ role: z.literal("tool"), callId: z.string(), name: z.string(), text: z.string() }),
]);
const started = z.object({ messages: z.array(message), tools: z.array(z.string()), model: z.string() });
const added = z.intersection(z.object({ turn: z.number() }), message);
const toolStarted = z.object({ turn: z.number(), call: toolCall, summary: z.string() });
const toolFinished = z.object({
  turn: z.number(),
  callId: z.string(),
  durationMs: z.number(),
  error: z.nullable(z.string()),
  resultBytes: z.number(),
  isTruncated: z.boolean(),
});
const callFinished = z.object({
  turn: z.number(),
  role: z.string(),
  model: z.string(),
  attempts: z.number(),
  durationMs: z.number(),
  firstTokenMs: z.optional(z.nullable(z.number())),
  end: z.string(),
  usage: z.object({ inputTokens: z.number(), outputTokens: z.number() }),
  costUsd: z.optional(z.nullable(z.number())),
});

/** A tool call as `run show` tells it. What is undefined had not happened when the log ended. */
export interface ToolCallView {
  callId: string;
  name: string;
  arguments: string;
  summary: string;
  /** Undefined = not finished: interrupted, or the process died. */
  durationMs: number | undefined;
  /** Null = success; undefined = no result. */
  error: string | null | undefined;
  resultBytes: number | undefined;
  isTruncated: boolean;
}

/** One logical call of a model. */
export interface ModelCallView {
  /** `primary`, or `auxiliary` for a summary. */
  role: string;
  model: string;
  attempts: number;
  durationMs: number;
  firstTokenMs: number | undefined;
  end: string;
  inputTokens: number;
  outputTokens: number;
  costUsd: number | undefined;
}

export interface TurnView {
  turn: number;
  text: string;
  reasoning: string;
  tools: readonly ToolCallView[];
  calls: readonly ModelCallView[];
}

/** The conversation that the lines tell, system and prompt first. */
export function messagesOf(lines: readonly EventLine[]): Message[] {
  const messages: Message[] = [];
  for (const { kind, data } of lines) {
    if (kind === "agent-started") {
      messages.push(...(started.safeParse(data).data?.messages ?? []).map(withoutAbsent));
    }
    const read = kind === "message-added" ? message.safeParse(data).data : undefined;
    if (read) messages.push(withoutAbsent(read));
  }
  return messages;
}

/** The turns that the lines tell, in order. */
export function turnsOf(lines: readonly EventLine[]): TurnView[] {
  const turns = new Map<number, MutableTurn>();
  const at = (turn: number) => {
    const known = turns.get(turn) ?? { turn, text: "", reasoning: "", tools: [], calls: [] };
    turns.set(turn, known);
    return known;
  };
  for (const line of lines) readInto(at, line);
  return [...turns.values()].sort((a, b) => a.turn - b.turn);
}

type MutableTurn = Omit<TurnView, "tools" | "calls"> & { tools: ToolCallView[]; calls: ModelCallView[] };

function readInto(at: (turn: number) => MutableTurn, { kind, data }: EventLine): void {
  switch (kind) {
    case "message-added": {
      const read = added.safeParse(data).data;
      if (read?.role === "assistant") addReply(at(read.turn), withoutAbsent(read));
      if (read?.role === "tool") markMalformed(at(read.turn), read);
      return;
    }
    case "tool-started": {
      const read = toolStarted.safeParse(data).data;
      const tool = read && at(read.turn).tools.find(({ callId }) => callId === read.call.id);
      if (tool) tool.summary = read.summary;
      return;
    }
    case "tool-finished": {
      const read = toolFinished.safeParse(data).data;
      const tool = read && at(read.turn).tools.find(({ callId }) => callId === read.callId);
      if (read && tool) {
        const { durationMs, error, resultBytes, isTruncated } = read;
        Object.assign(tool, { durationMs, error, resultBytes, isTruncated });
      }
      return;
    }
    case "call-finished": {
      const read = callFinished.safeParse(data).data;
      if (read) at(read.turn).calls.push(viewOf(read));
      return;
    }
  }
}

function addReply(turn: MutableTurn, reply: Message): void {
  if (reply.role !== "assistant") return;
  turn.text = reply.text;
  turn.reasoning = reply.reasoning ?? "";
  turn.tools.push(
    ...reply.toolCalls.map(({ id, name, arguments: text }) => ({
      callId: id,
      name,
      arguments: text,
      summary: "",
      durationMs: undefined,
      error: undefined,
      resultBytes: undefined,
      isTruncated: false,
    })),
  );
}

/** A malformed call never started: its result alone says what was wrong. */
function markMalformed(turn: MutableTurn, { callId, text }: { callId: string; text: string }): void {
  const tool = turn.tools.find((one) => one.callId === callId);
  if (!tool || tool.error !== undefined) return;
  tool.error = errorIn(text);
  tool.resultBytes = Buffer.byteLength(text);
}

function errorIn(text: string): string | null {
  try {
    return z.object({ error: z.nullable(z.string()) }).safeParse(JSON.parse(text)).data?.error ?? null;
  } catch {
    return null;
  }
}

function viewOf({ usage, firstTokenMs, costUsd, ...read }: z.infer<typeof callFinished>): ModelCallView {
  const { role, model, attempts, durationMs, end } = read;
  return {
    role,
    model,
    attempts,
    durationMs,
    firstTokenMs: firstTokenMs ?? undefined,
    end,
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    costUsd: costUsd ?? undefined,
  };
}

/** As the loop makes messages: what is absent has no key. */
function withoutAbsent(read: z.infer<typeof message>): Message {
  switch (read.role) {
    case "system":
      return { role: "system", text: read.text };
    case "user":
      return { role: "user", text: read.text, ...(read.origin && { origin: read.origin }) };
    case "assistant":
      return {
        role: "assistant",
        text: read.text,
        ...(read.reasoning !== undefined && { reasoning: read.reasoning }),
        toolCalls: read.toolCalls,
      };
    case "tool":
      return { role: "tool", callId: read.callId, name: read.name, text: read.text };
  }
}
