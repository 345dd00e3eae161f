// What is said between a person, a model and its tools: rich until the one line that converts it to a provider's form.

/** A model's wish to call a tool. `arguments` is the text as the model wrote it: parsing it is the loop's affair. */
export interface ToolCall {
  id: string;
  name: string;
  /** JSON, if the model did well. */
  arguments: string;
}

export interface SystemMessage {
  role: "system";
  text: string;
}

export interface UserMessage {
  role: "user";
  text: string;
  /** `summary` stands for messages that were left out; `lastTurn` asks for the answer when no turn is left. */
  origin?: "prompt" | "summary" | "lastTurn" | "malformed";
}

export interface AssistantMessage {
  role: "assistant";
  text: string;
  /** What a model thought aloud, where its provider shows it. */
  reasoning?: string;
  toolCalls: readonly ToolCall[];
  /** Opaque parts a provider wants back unchanged with the next request (signatures of its reasoning). */
  providerParts?: readonly unknown[];
}

export interface ToolMessage {
  role: "tool";
  callId: string;
  name: string;
  /** JSON text, bounded: what the tool's `ToolResult` became. */
  text: string;
  /** Replaced by a note to win room; the log and the trajectory have it whole. */
  isElided?: boolean;
}

export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;
