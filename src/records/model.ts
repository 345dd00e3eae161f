// The port to a model: one logical call, whatever attempts it takes. Retry, usage, cost and budget belong to who
// implements it (S4); who observes it wraps it.

import type { Instant } from "../kernel/time.ts";
import type { Message, ToolCall } from "./conversation.ts";

/** What a model is told of a tool. */
export interface ToolSpec {
  name: string;
  description: string;
  /** JSON Schema (draft 2020-12 subset every provider takes) of the arguments, an object. */
  parameters: Record<string, unknown>;
}

export type ReasoningEffort = "none" | "minimal" | "low" | "medium" | "high";

export interface ModelRequest {
  /** System messages first. A tool call is never separated from its result. */
  messages: readonly Message[];
  tools: readonly ToolSpec[];
  /** `none` forbids calls (the last turn). Default `auto`. */
  toolChoice?: "auto" | "none";
  maxOutputTokens?: number;
}

export interface TokenUsage {
  inputTokens: number;
  outputTokens: number;
  /** Part of `inputTokens` that a provider read from its cache. */
  cachedInputTokens: number;
  /** Part of `outputTokens`. */
  reasoningTokens: number;
}

export const NO_TOKENS: TokenUsage = {
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: 0,
  reasoningTokens: 0,
};

export type FinishReason = "stop" | "toolCalls" | "length" | "filter" | "other";

export interface ModelReply {
  text: string;
  reasoning: string;
  /** Their ids differ, and none is empty. */
  toolCalls: readonly ToolCall[];
  finish: FinishReason;
  usage: TokenUsage;
  /** Undefined where the model has no price. */
  costUsd: number | undefined;
  /** The configured name of the model that answered: the fallback's, if it came to that. */
  model: string;
  /** Opaque parts for `AssistantMessage.providerParts`. */
  providerParts?: readonly unknown[];
}

/**
 * What arrives while a reply is made. `restart` = the answer broke off and is asked for anew: what came so far is void.
 * Nothing has been done with it, for tools are called only when a reply is whole.
 */
export type ModelChunk =
  | { kind: "text"; text: string }
  | { kind: "reasoning"; text: string }
  | { kind: "toolCall"; name: string }
  | { kind: "restart" };

/** Who asks: the agent itself, or a helper (summary, probe). */
export type CallRole = "primary" | "auxiliary";

/** What an observer learns while a call goes on: never content. */
export type CallProgress =
  | { kind: "attempt-started"; model: string; provider: string; isStreaming: boolean }
  /** The first piece of an attempt's answer. */
  | { kind: "content-arrived" }
  /** What the attempt cost, done or not; an estimate where its provider did not say. */
  | { kind: "attempt-ended"; usage: TokenUsage; costUsd: number | undefined };

export interface CallOptions {
  role: CallRole;
  /** Aborting it ends the call at once with the signal's reason. */
  signal: AbortSignal;
  /** Called in order as content arrives; must not throw. */
  onChunk?(chunk: ModelChunk): void;
  /** Called for signs of life without content: an attempt that begins, a header that arrived. */
  onActivity?(activity: string): void;
  /** For who observes a call (the relay): it changes nothing. Must not throw. */
  onProgress?(progress: CallProgress): void;
}

/**
 * One logical call. Resolves with a whole reply, or rejects: a provider's own error unchanged, the signal's reason, or a
 * Fault `model.*`/`budget.*` of ours.
 */
export type CallModel = (request: ModelRequest, options: CallOptions) => Promise<ModelReply>;

/** Why a call failed, by status and kind, never by message text. */
export type ModelErrorClass =
  | "auth"
  | "quota"
  | "rateLimit"
  | "network"
  | "timeout"
  | "server"
  | "invalidRequest"
  | "contextLength"
  | "badReply"
  | "budget"
  | "cancelled"
  | "other";

export type CallEnd = "done" | "failed" | "cancelled";

/** What the relay knows of one logical call. No content: no prompt, reply, path, key or error text (law 7). */
export interface ModelCallRecord {
  id: string;
  runId: string;
  rootId: string;
  role: CallRole;
  /** Configured name and provider. */
  model: string;
  provider: string;
  isStreaming: boolean;
  startedAt: Instant;
  /** Attempts over all models of the chain. */
  attempts: number;
  /** From the start to the first content; undefined = none came. */
  firstTokenMs: number | undefined;
  durationMs: number;
  end: CallEnd;
  usage: TokenUsage;
  costUsd: number | undefined;
  errorClass: ModelErrorClass | undefined;
}
