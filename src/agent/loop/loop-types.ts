// What the agent loop needs and what it gives back.

import type { Log } from "../../kernel/log.ts";
import type { Redact } from "../../kernel/redact.ts";
import type { Clock } from "../../kernel/time.ts";
import type { AgentEndReason, EmitAgentEvent } from "../../records/agent-event.ts";
import type { Message } from "../../records/conversation.ts";
import type { CallModel, ModelErrorClass, TokenUsage } from "../../records/model.ts";
import type { Run } from "../../records/run.ts";
import type { RunContext } from "../../records/run-context.ts";
import type { Tool } from "../../records/tool.ts";

/** The model's context, and how to stay inside. */
export interface WindowDeps {
  /** Tokens of input and output together. */
  contextLength: number;
  /** Kept free for the reply, and asked for as its maximum. Undefined = a quarter of the context, at most 8,192, kept free. */
  maxOutputTokens?: number | undefined;
  /** Tokens of these messages, roughly; `estimateMessages` unless something better is at hand. Called once a message. */
  estimate(messages: readonly Message[]): number;
  /** The cheap model, asked with role `auxiliary`. Absent = the middle is left out with a note instead. */
  summarise?: CallModel | undefined;
}

export interface LoopLimits {
  /** Characters of one tool result. Default 50,000; less where the context is small. */
  resultCharacters?: number;
  /** How long an aborted tool may take to give back what it has. Default 10 s. */
  toolGraceMs?: number;
  /** Calls that run side by side. Default 8. */
  parallelCalls?: number;
}

export interface LoopDeps {
  callModel: CallModel;
  tools: readonly Tool[];
  clock: Pick<Clock, "monotonicMs" | "sleep">;
  /** Gets every event redacted. */
  emit: EmitAgentEvent;
  window: WindowDeps;
  /** Turns in which tools may be called; at least 1. After them the model gets one more turn to answer. */
  maxTurns: number;
  redact: Redact;
  log: Log;
  /** Tells a conversation that is too long from other failures. Absent = such a failure ends the loop. */
  errorClassOf?(error: unknown): ModelErrorClass;
  limits?: LoopLimits;
}

/** The part of a run's context that a loop needs. */
export type LoopContext = Pick<RunContext, "signal" | "abortReason" | "touch"> & { run: Pick<Run, "id"> };

export interface Conversation {
  /** System messages, then the prompt. */
  messages: readonly Message[];
  /** The configured name of the model, for people. */
  model: string;
}

export interface LoopEnd {
  reason: AgentEndReason;
  /** The answer for `answered` and `maxTurns`; otherwise the newest text there is, which is none. Redacted. */
  text: string;
  /** The reply reached its maximum length, so `text` is not all of it. */
  isCut: boolean;
  /** Why, in one line for people; "" where it answered. Redacted. */
  why: string;
  /** What the model port or an environment threw, untouched; only for `failed`, and not for a refusing filter. */
  error: unknown;
  turns: number;
  /** Logical calls of models that gave a reply, those for summaries included. */
  calls: number;
  usage: TokenUsage;
  /** Undefined as soon as one reply had no price. */
  costUsd: number | undefined;
  /** The whole conversation, nothing elided, as the events told it: redacted. */
  messages: readonly Message[];
}
