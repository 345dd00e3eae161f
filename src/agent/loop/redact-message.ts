// Messages as they may leave the loop: in events, in what a loop hands back.

import type { Redact } from "../../kernel/redact.ts";
import { redactJson } from "../../kernel/redact-value.ts";
import type { Message, ToolCall } from "../../records/conversation.ts";

/** A redacted copy. Opaque parts of a provider are left out: they are for that provider alone. */
export function redactMessage(message: Message, redact: Redact): Message {
  switch (message.role) {
    case "assistant":
      return {
        role: "assistant",
        text: redact(message.text),
        ...(message.reasoning !== undefined && { reasoning: redact(message.reasoning) }),
        toolCalls: message.toolCalls.map((call) => redactCall(call, redact)),
      };
    case "tool":
      return { ...message, text: redactJson(message.text, redact) };
    default:
      return { ...message, text: redact(message.text) };
  }
}

export function redactCall(call: ToolCall, redact: Redact): ToolCall {
  return { ...call, name: redact(call.name), arguments: redactJson(call.arguments, redact) };
}
