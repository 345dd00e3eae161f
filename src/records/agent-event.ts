// What the agent loop tells: the only thing surfaces, the ledger and trajectories see of it. Noun-verb, past facts.

import type { Message, ToolCall } from "./conversation.ts";
import type { ModelCallRecord, TokenUsage } from "./model.ts";

/** Why a loop ended. `interrupted` = its signal aborted. */
export type AgentEndReason = "answered" | "maxTurns" | "malformedCalls" | "empty" | "interrupted" | "failed";

export type AgentEvent =
  /** The conversation as it begins: system and prompt, with the tools granted. */
  | { kind: "agent-started"; messages: readonly Message[]; tools: readonly string[]; model: string }
  | { kind: "turn-started"; turn: number }
  /** Streamed content, as it comes. Not kept: the message that follows is. */
  | { kind: "text-arrived"; turn: number; text: string }
  | { kind: "reasoning-arrived"; turn: number; text: string }
  /** The answer broke off and is asked for anew: the text that arrived in this turn is void. */
  | { kind: "reply-restarted"; turn: number }
  | { kind: "call-finished"; turn: number; record: ModelCallRecord }
  | { kind: "message-added"; turn: number; message: Message }
  | { kind: "tool-started"; turn: number; call: ToolCall; summary: string }
  | {
      kind: "tool-finished";
      turn: number;
      callId: string;
      name: string;
      durationMs: number;
      /** Null = success. */
      error: string | null;
      resultBytes: number;
      isTruncated: boolean;
    }
  | { kind: "context-elided"; turn: number; results: number; savedTokens: number }
  | { kind: "context-summarised"; turn: number; messages: number; beforeTokens: number; afterTokens: number }
  | { kind: "turn-finished"; turn: number }
  | {
      kind: "agent-finished";
      reason: AgentEndReason;
      turns: number;
      /** Logical calls of models that gave a reply, those for summaries included. */
      calls: number;
      usage: TokenUsage;
      costUsd: number | undefined;
    };

/** Receives events in order. Must not throw. */
export type EmitAgentEvent = (event: AgentEvent) => void;
