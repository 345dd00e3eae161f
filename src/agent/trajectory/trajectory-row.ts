// A trajectory: the kept record of an agent's turns as one ShareGPT row, and read back. Pure.
//
// I1. It is made of what was told in events, so nothing that was elided or summarised is missing, and all is redacted.
// I2. All results of one gpt turn stand in one tool turn; a gpt turn without results is followed by none.
// I3. The system turn holds the tools and how to call them. The agent's own instructions are not part of the format.

import * as z from "zod/mini";
import type { Redact } from "../../kernel/redact.ts";
import { mapStrings } from "../../kernel/redact-value.ts";
import { formatInstant, type Instant } from "../../kernel/time.ts";
import type { AgentEndReason } from "../../records/agent-event.ts";
import type { Message, ToolMessage } from "../../records/conversation.ts";
import type { ToolSpec } from "../../records/model.ts";
import { redactMessage } from "../loop/redact-message.ts";
import { countTools } from "./tool-stats.ts";
import { gptText, readGpt, readTools, readToolTurn, systemText, toolText } from "./turn-text.ts";

const turnSchema = z.object({ from: z.enum(["system", "human", "gpt", "tool"]), value: z.string() });
const rowSchema = z.looseObject({ conversations: z.array(turnSchema) });

export type ShareGptTurn = z.infer<typeof turnSchema>;

/** Keys as the format spells them; our own facts stand under `metadata`. */
export interface TrajectoryRow {
  conversations: ShareGptTurn[];
  timestamp: string;
  model: string;
  /** The agent answered. */
  completed: boolean;
  /** It ended before that, with something to show. */
  partial: boolean;
  api_calls: number;
  toolsets_used: string[];
  tool_stats: Record<string, { count: number; success: number; failure: number }>;
  tool_error_counts: Record<string, number>;
  metadata: Record<string, unknown>;
}

export interface TrajectoryFacts {
  /** The whole conversation, as events told it. */
  messages: readonly Message[];
  /** The tools that were granted. */
  tools: readonly (ToolSpec & { toolset: string })[];
  /** Names of every tool there is, granted or not; those granted are added. */
  knownTools: readonly string[];
  reason: AgentEndReason;
  apiCalls: number;
  model: string;
  at: Instant;
  /** Lineage: run, root, image, hashes, seed. */
  metadata: Record<string, unknown>;
  redact: Redact;
}

/** One row. Write it as one line of JSON. */
export function trajectoryRow(facts: TrajectoryFacts): TrajectoryRow {
  const { tools, model, reason, redact } = facts;
  const messages = facts.messages.map((message) => redactMessage(message, redact));
  const names = tools.map(({ name }) => name);
  const { stats, errors } = countTools(messages, [...facts.knownTools, ...names]);
  const hasReply = messages.some(({ role }) => role === "assistant");
  return {
    conversations: conversationsOf(messages, tools).map(({ from, value }) => ({
      from,
      value: redact(value),
    })),
    timestamp: formatInstant(facts.at),
    model,
    completed: reason === "answered",
    partial: reason !== "answered" && hasReply,
    api_calls: facts.apiCalls,
    toolsets_used: [...new Set(tools.map(({ toolset }) => toolset))].sort(),
    tool_stats: stats,
    tool_error_counts: errors,
    metadata: { ...asRecord(mapStrings(facts.metadata, redact)), model, timestamp: formatInstant(facts.at) },
  };
}

/** What a row tells: its tools and its messages, without a system message (I3). Undefined for what is no row. */
export function readTrajectory(row: unknown): { tools: ToolSpec[]; messages: Message[] } | undefined {
  const read = rowSchema.safeParse(row);
  if (!read.success) return undefined;
  const { conversations } = read.data;
  const system = conversations.find(({ from }) => from === "system");
  return { tools: readTools(system?.value ?? "") ?? [], messages: readTurns(conversations) };
}

function conversationsOf(messages: readonly Message[], tools: readonly ToolSpec[]): ShareGptTurn[] {
  const turns: ShareGptTurn[] = [{ from: "system", value: systemText(tools) }];
  let results: ToolMessage[] = [];
  const close = () => {
    if (results.length > 0) turns.push({ from: "tool", value: toolText(results) });
    results = [];
  };
  for (const message of messages) {
    if (message.role === "tool") results.push(message);
    else close();
    if (message.role === "user") turns.push({ from: "human", value: message.text });
    if (message.role === "assistant") turns.push({ from: "gpt", value: gptText(message) });
  }
  close();
  return turns;
}

/** Calls get the ids of the responses that follow, by position. */
function readTurns(turns: readonly ShareGptTurn[]): Message[] {
  return turns.flatMap(({ from, value }, index): Message[] => {
    if (from === "human") return [{ role: "user", text: value }];
    if (from === "tool") return readToolTurn(value).map((result) => ({ role: "tool", ...result }));
    if (from === "system") return [];
    const next = turns[index + 1];
    const results = next?.from === "tool" ? readToolTurn(next.value) : [];
    const { text, reasoning, calls } = readGpt(value);
    const toolCalls = calls.map((call, at) => ({ id: results[at]?.callId ?? `call-${at + 1}`, ...call }));
    return [{ role: "assistant", text, ...(reasoning !== "" && { reasoning }), toolCalls }];
  });
}

function asRecord(value: unknown): object {
  return typeof value === "object" && value !== null ? value : {};
}
