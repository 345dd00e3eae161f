// The state of one loop: the conversation, whole and as the model sees it, and what was counted.
//
// I1. `whole` only grows and holds what was told in events; `working` is what is sent, and may be compacted.

import type { AgentEvent } from "../../records/agent-event.ts";
import type { Message, ToolMessage } from "../../records/conversation.ts";
import { type ModelReply, NO_TOKENS, type TokenUsage } from "../../records/model.ts";
import type { Tool } from "../../records/tool.ts";
import { type ContextWindow, openWindow } from "./context-window.ts";
import type { Conversation, LoopContext, LoopDeps } from "./loop-types.ts";
import { redactMessage } from "./redact-message.ts";

export interface Session {
  readonly deps: LoopDeps;
  readonly ctx: LoopContext;
  readonly model: string;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly window: ContextWindow;
  readonly whole: Message[];
  working: readonly Message[];
  turn: number;
  calls: number;
  usage: TokenUsage;
  costUsd: number | undefined;
  /** Turns in a row in which every call was malformed. */
  malformedTurns: number;
  /** Turns in a row in which the environment was broken. */
  brokenTurns: number;
}

/** Tells that the agent begins. */
export function openSession(deps: LoopDeps, { messages, model }: Conversation, ctx: LoopContext): Session {
  const session: Session = {
    deps,
    ctx,
    model,
    tools: new Map(deps.tools.map((tool) => [tool.name, tool])),
    window: openWindow(deps),
    whole: messages.map((message) => redactMessage(message, deps.redact)),
    working: messages,
    turn: 0,
    calls: 0,
    usage: NO_TOKENS,
    costUsd: 0,
    malformedTurns: 0,
    brokenTurns: 0,
  };
  deps.emit({
    kind: "agent-started",
    messages: [...session.whole],
    tools: deps.tools.map(({ name }) => name),
    model,
  });
  return session;
}

/** Adds a message to the conversation and tells it. */
export function addMessage(session: Session, message: Message): void {
  const told = redactMessage(message, session.deps.redact);
  session.whole.push(told);
  session.working = [...session.working, message];
  tell(session, { kind: "message-added", turn: session.turn, message: told });
}

export function addResult(session: Session, call: { id: string; name: string }, text: string): void {
  const message: ToolMessage = { role: "tool", callId: call.id, name: call.name, text };
  addMessage(session, message);
}

export function tell(session: Session, event: AgentEvent): void {
  session.deps.emit(event);
}

/** L14: one sign of life. `what` is redacted already, if it needs to be. */
export function touch(session: Session, what: string): void {
  session.ctx.touch(`turn ${session.turn}, ${what}`);
}

/** Counts what a reply took, of the agent's own model or of a helper. */
export function countReply(session: Session, { usage, costUsd }: ModelReply): void {
  const before = session.usage;
  session.calls += 1;
  session.usage = {
    inputTokens: before.inputTokens + usage.inputTokens,
    outputTokens: before.outputTokens + usage.outputTokens,
    cachedInputTokens: before.cachedInputTokens + usage.cachedInputTokens,
    reasoningTokens: before.reasoningTokens + usage.reasoningTokens,
  };
  session.costUsd =
    session.costUsd === undefined || costUsd === undefined ? undefined : session.costUsd + costUsd;
}
