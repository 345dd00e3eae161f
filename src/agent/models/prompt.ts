// Our messages in the form a provider adapter takes. The only line where the conversation leaves our words.
//
// I1. `providerParts` go back to the very model that made them, and only while they fit the message: the opaque parts
//     (signatures of reasoning, item ids) mean nothing to another.

import type {
  LanguageModelV3Message,
  LanguageModelV3Prompt,
  LanguageModelV3ToolCallPart,
  SharedV3ProviderOptions,
} from "@ai-sdk/provider";
import * as z from "zod/mini";
import type { AssistantMessage, Message, ToolCall, ToolMessage } from "../../records/conversation.ts";

/** Whose parts they are. */
export interface PartsOwner {
  provider: string;
  id: string;
}

/** A stretch of an answer with what its provider wants back. Text is not repeated: `length` cuts it from the message. */
export type KeptPart =
  | { type: "text" | "reasoning"; length: number; options?: SharedV3ProviderOptions | undefined }
  | { type: "call"; id: string; options?: SharedV3ProviderOptions | undefined };

const options = z.optional(z.record(z.string(), z.record(z.string(), z.json())));
const keptSchema = z.tuple(
  [z.object({ provider: z.string(), id: z.string() })],
  z.union([
    z.object({ type: z.enum(["text", "reasoning"]), length: z.int(), options }),
    z.object({ type: z.literal("call"), id: z.string(), options }),
  ]),
);

/** What `AssistantMessage.providerParts` holds: the owner, then the parts in order. */
export function keepParts(owner: PartsOwner, parts: readonly KeptPart[]): readonly unknown[] {
  return [owner, ...parts];
}

/** The prompt for `model`. `options` go to the last system message and to the last message (marks for a cache). */
export function toPrompt(
  messages: readonly Message[],
  model: PartsOwner,
  cacheMark?: SharedV3ProviderOptions,
): LanguageModelV3Prompt {
  const prompt: LanguageModelV3Prompt = [];
  for (const message of messages) {
    const last = prompt.at(-1);
    if (message.role === "tool" && last?.role === "tool") last.content.push(resultPart(message));
    else {
      const converted = toMessage(message, model);
      if (converted) prompt.push(converted);
    }
  }
  if (cacheMark) {
    const lastSystem = prompt.findLast(({ role }) => role === "system");
    for (const message of new Set([lastSystem, prompt.at(-1)]))
      if (message) message.providerOptions = cacheMark;
  }
  return prompt;
}

function toMessage(message: Message, model: PartsOwner): LanguageModelV3Message | undefined {
  switch (message.role) {
    case "system":
      return { role: "system", content: message.text };
    case "user":
      return { role: "user", content: [{ type: "text", text: message.text }] };
    case "assistant": {
      const content = ownParts(message, model) ?? plainParts(message);
      // An answer without text or calls: providers refuse an empty message, and it says nothing.
      return content.length > 0 ? { role: "assistant", content } : undefined;
    }
    case "tool":
      return { role: "tool", content: [resultPart(message)] };
  }
}

type AssistantContent = Extract<LanguageModelV3Message, { role: "assistant" }>["content"];

function plainParts({ text, toolCalls }: AssistantMessage): AssistantContent {
  return [
    ...(text === "" ? [] : [{ type: "text" as const, text }]),
    ...toolCalls.map((call) => callPart(call, undefined)),
  ];
}

/** (I1) Undefined when there are none, they are another's, or the message was changed since. */
function ownParts(message: AssistantMessage, model: PartsOwner): AssistantContent | undefined {
  const parsed = keptSchema.safeParse(message.providerParts);
  if (!parsed.success) return undefined;
  const [owner, ...parts] = parsed.data;
  if (owner.provider !== model.provider || owner.id !== model.id) return undefined;
  const content: AssistantContent = [];
  const at = { text: 0, reasoning: 0 };
  const whole = { text: message.text, reasoning: message.reasoning ?? "" };
  const calls = new Map(message.toolCalls.map((call) => [call.id, call]));
  for (const part of parts) {
    if (part.type === "call") {
      const call = calls.get(part.id);
      if (!call || !calls.delete(part.id)) return undefined;
      content.push(callPart(call, part.options));
    } else {
      const text = whole[part.type].slice(at[part.type], at[part.type] + part.length);
      at[part.type] += part.length;
      content.push({ type: part.type, text, ...(part.options ? { providerOptions: part.options } : {}) });
    }
  }
  const isWhole =
    calls.size === 0 && at.text === whole.text.length && at.reasoning === whole.reasoning.length;
  return isWhole ? content : undefined;
}

function callPart(call: ToolCall, options: SharedV3ProviderOptions | undefined): LanguageModelV3ToolCallPart {
  return {
    type: "tool-call",
    toolCallId: call.id,
    toolName: call.name,
    input: inputOf(call.arguments),
    ...(options ? { providerOptions: options } : {}),
  };
}

/** Providers take an object; what a model wrote instead is shown to it as such, so that it can mend it. */
function inputOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text === "" ? "{}" : text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // Not JSON.
  }
  return { malformedArguments: text };
}

function resultPart({ callId, name, text }: ToolMessage) {
  const output = { type: "text" as const, value: text };
  return { type: "tool-result" as const, toolCallId: callId, toolName: name, output };
}
