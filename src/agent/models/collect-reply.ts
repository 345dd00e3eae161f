// A provider adapter's answer, streamed or whole, gathered into ours.
//
// I1. An error inside a stream is thrown as it is. A stream that ends without a reason to end is no answer.
// I2. Each piece is told once, in order, as it arrives.

import type {
  JSONObject,
  LanguageModelV3Content,
  LanguageModelV3FinishReason,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
  SharedV3ProviderMetadata,
} from "@ai-sdk/provider";
import { Fault } from "../../kernel/errors.ts";
import type { ToolCall } from "../../records/conversation.ts";
import type { FinishReason, ModelChunk } from "../../records/model.ts";
import type { KeptPart } from "./prompt.ts";

/** All of an answer. */
export interface CollectedReply {
  text: string;
  reasoning: string;
  toolCalls: readonly ToolCall[];
  finish: FinishReason;
  usage: LanguageModelV3Usage;
  /** In order, for `providerParts`. */
  parts: readonly KeptPart[];
}

export interface ReplyCollector {
  add(part: LanguageModelV3StreamPart): void;
  /** Takes the content of a whole answer. */
  addWhole(content: readonly LanguageModelV3Content[]): void;
  /** The end of a whole answer; a stream brings its own. */
  end(finish: LanguageModelV3FinishReason, usage: LanguageModelV3Usage): void;
  /** Content so far, however it ends. */
  soFar(): { text: string; reasoning: string; calls: readonly ToolCall[] };
  /** Throws Fault `model.unreachable` when the end is missing. */
  reply(): CollectedReply;
}

interface OpenPart {
  type: "text" | "reasoning";
  id: string;
  length: number;
  options: SharedV3ProviderMetadata | undefined;
}

/** Gathers parts and tells chunks. `tell` must not throw. */
export function collectReply(tell: (chunk: ModelChunk) => void): ReplyCollector {
  const texts = { text: [] as string[], reasoning: [] as string[] };
  const parts: (OpenPart | { type: "call"; id: string; options: SharedV3ProviderMetadata | undefined })[] =
    [];
  const calls: ToolCall[] = [];
  const toldCalls = new Set<string>();
  let ending: { finish: LanguageModelV3FinishReason; usage: LanguageModelV3Usage } | undefined;

  const open = (type: OpenPart["type"], id: string): OpenPart => {
    const last = parts.findLast((part) => part.type === type && part.id === id);
    if (last && last.type !== "call") return last;
    const part: OpenPart = { type, id, length: 0, options: undefined };
    parts.push(part);
    return part;
  };
  const grow = (type: OpenPart["type"], piece: { id: string; text: string; metadata: Metadata }) => {
    const part = open(type, piece.id);
    part.options = merged(part.options, piece.metadata);
    if (piece.text === "") return;
    part.length += piece.text.length;
    texts[type].push(piece.text);
    tell({ kind: type, text: piece.text });
  };
  const tellCall = (id: string, name: string) => {
    if (toldCalls.has(id)) return;
    toldCalls.add(id);
    tell({ kind: "toolCall", name });
  };
  const addCall = (call: Extract<LanguageModelV3StreamPart, { type: "tool-call" }>) => {
    if (call.providerExecuted) return;
    tellCall(call.toolCallId, call.toolName);
    const id = freeId(call.toolCallId, calls);
    calls.push({ id, name: call.toolName, arguments: call.input });
    parts.push({ type: "call", id, options: call.providerMetadata });
  };

  return {
    add(part) {
      switch (part.type) {
        case "text-start":
        case "text-end":
          return grow("text", { id: part.id, text: "", metadata: part.providerMetadata });
        case "text-delta":
          return grow("text", { id: part.id, text: part.delta, metadata: part.providerMetadata });
        case "reasoning-start":
        case "reasoning-end":
          return grow("reasoning", { id: part.id, text: "", metadata: part.providerMetadata });
        case "reasoning-delta":
          return grow("reasoning", { id: part.id, text: part.delta, metadata: part.providerMetadata });
        case "tool-input-start":
          return part.providerExecuted ? undefined : tellCall(part.id, part.toolName);
        case "tool-call":
          return addCall(part);
        case "finish":
          ending = { finish: part.finishReason, usage: part.usage };
          return;
        case "error":
          throw streamError(part.error);
        default:
          // Metadata, sources, files, what a provider's own tools said: nothing an agent acts upon.
          return;
      }
    },
    addWhole(content) {
      content.forEach((part, index) => {
        if (part.type === "text" || part.type === "reasoning")
          grow(part.type, { id: `whole-${index}`, text: part.text, metadata: part.providerMetadata });
        else if (part.type === "tool-call") addCall(part);
      });
    },
    end(finish, usage) {
      ending = { finish, usage };
    },
    soFar: () => ({ text: texts.text.join(""), reasoning: texts.reasoning.join(""), calls }),
    reply() {
      const isCut = !ending || (ending.finish.unified === "other" && ending.finish.raw === undefined);
      if (!ending || (isCut && calls.length === 0)) throw incomplete();
      return {
        text: texts.text.join(""),
        reasoning: texts.reasoning.join(""),
        toolCalls: calls,
        finish: finishOf(ending.finish, calls.length > 0),
        usage: ending.usage,
        parts: parts
          .filter((part) => part.type === "call" || part.length > 0 || part.options !== undefined)
          .map((part) =>
            part.type === "call" ? part : { type: part.type, length: part.length, options: part.options },
          ),
      };
    },
  };
}

type Metadata = SharedV3ProviderMetadata | undefined;

/** A signature may come at a part's start, in a piece, or at its end. */
function merged(before: Metadata, more: Metadata): Metadata {
  if (!more) return before;
  const sum: Record<string, JSONObject> = { ...before };
  for (const [provider, fields] of Object.entries(more)) sum[provider] = { ...sum[provider], ...fields };
  return sum;
}

/** Some servers number calls anew in each answer, or not at all: a result must find its call. */
function freeId(id: string, calls: readonly ToolCall[]): string {
  const isFree = (candidate: string) => candidate !== "" && !calls.some((call) => call.id === candidate);
  if (isFree(id)) return id;
  for (let number = calls.length + 1; ; number++)
    if (isFree(`${id || "call"}-${number}`)) return `${id || "call"}-${number}`;
}

function finishOf({ unified }: LanguageModelV3FinishReason, hasCalls: boolean): FinishReason {
  // Several servers say `stop` after a call.
  if (hasCalls && (unified === "stop" || unified === "other")) return "toolCalls";
  switch (unified) {
    case "stop":
    case "length":
      return unified;
    case "tool-calls":
      return "toolCalls";
    case "content-filter":
      return "filter";
    case "error":
    case "other":
      return "other";
  }
}

/** (I1) What is no Error, providers' plain objects, becomes one with the object as its cause. */
function streamError(error: unknown): unknown {
  if (error instanceof Error) return error;
  return new Fault("model.unreachable", `The model broke off with an error: ${sentenceIn(error)}`, {
    hint: "Try again later, or use another model.",
    retry: "later",
    cause: error,
  });
}

function sentenceIn(error: unknown): string {
  const inner = typeof error === "object" && error !== null && "message" in error ? error.message : error;
  return (typeof inner === "string" ? inner : (JSON.stringify(inner) ?? "unknown")).slice(0, 500);
}

function incomplete(): Fault {
  return new Fault("model.unreachable", "The model's answer ended before it was whole", {
    hint: "Try again later; if it happens often, set `stream: false` for this model.",
    retry: "later",
  });
}
