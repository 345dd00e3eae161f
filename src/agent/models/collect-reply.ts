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

/** What has come so far. */
interface Gathered {
  tell(chunk: ModelChunk): void;
  texts: { text: string[]; reasoning: string[] };
  parts: (OpenPart | { type: "call"; id: string; options: Metadata })[];
  calls: ToolCall[];
  toldCalls: Set<string>;
  ending: { finish: LanguageModelV3FinishReason; usage: LanguageModelV3Usage } | undefined;
}

/** Gathers parts and tells chunks. `tell` must not throw. */
export function collectReply(tell: (chunk: ModelChunk) => void): ReplyCollector {
  const gathered: Gathered = {
    tell,
    texts: { text: [], reasoning: [] },
    ...{ parts: [], calls: [], toldCalls: new Set() },
    ending: undefined,
  };
  return {
    add: (part) => addPart(gathered, part),
    addWhole(content) {
      content.forEach((part, index) => {
        if (part.type === "text" || part.type === "reasoning")
          grow(gathered, part.type, {
            id: `whole-${index}`,
            text: part.text,
            metadata: part.providerMetadata,
          });
        else if (part.type === "tool-call") addCall(gathered, part);
      });
    },
    end(finish, usage) {
      gathered.ending = { finish, usage };
    },
    soFar: () => ({ ...textsOf(gathered), calls: gathered.calls }),
    reply: () => replyOf(gathered),
  };
}

function addPart(gathered: Gathered, part: LanguageModelV3StreamPart): void {
  switch (part.type) {
    case "text-start":
    case "text-end":
      grow(gathered, "text", { id: part.id, text: "", metadata: part.providerMetadata });
      return;
    case "text-delta":
      grow(gathered, "text", { id: part.id, text: part.delta, metadata: part.providerMetadata });
      return;
    case "reasoning-start":
    case "reasoning-end":
      grow(gathered, "reasoning", { id: part.id, text: "", metadata: part.providerMetadata });
      return;
    case "reasoning-delta":
      grow(gathered, "reasoning", { id: part.id, text: part.delta, metadata: part.providerMetadata });
      return;
    case "tool-input-start":
      if (!part.providerExecuted) tellCall(gathered, part.id, part.toolName);
      return;
    case "tool-call":
      addCall(gathered, part);
      return;
    case "finish":
      gathered.ending = { finish: part.finishReason, usage: part.usage };
      return;
    case "error":
      throw streamError(part.error);
    default:
      // Metadata, sources, files, what a provider's own tools said: nothing an agent acts upon.
      return;
  }
}

/** A piece of the part with this id, which it opens if need be. */
function grow(
  gathered: Gathered,
  type: OpenPart["type"],
  piece: { id: string; text: string; metadata: Metadata },
): void {
  const last = gathered.parts.findLast((part) => part.type === type && part.id === piece.id);
  const part: OpenPart =
    last && last.type !== "call" ? last : { type, id: piece.id, length: 0, options: undefined };
  if (part !== last) gathered.parts.push(part);
  part.options = merged(part.options, piece.metadata);
  if (piece.text === "") return;
  part.length += piece.text.length;
  gathered.texts[type].push(piece.text);
  gathered.tell({ kind: type, text: piece.text });
}

function tellCall({ toldCalls, tell }: Gathered, id: string, name: string): void {
  if (toldCalls.has(id)) return;
  toldCalls.add(id);
  tell({ kind: "toolCall", name });
}

function addCall(gathered: Gathered, call: Extract<LanguageModelV3StreamPart, { type: "tool-call" }>): void {
  if (call.providerExecuted) return;
  const { calls, parts } = gathered;
  tellCall(gathered, call.toolCallId, call.toolName);
  const id = freeId(call.toolCallId, calls);
  calls.push({ id, name: call.toolName, arguments: call.input });
  parts.push({ type: "call", id, options: call.providerMetadata });
}

function textsOf({ texts }: Gathered): { text: string; reasoning: string } {
  return { text: texts.text.join(""), reasoning: texts.reasoning.join("") };
}

function replyOf(gathered: Gathered): CollectedReply {
  const { ending, calls, parts } = gathered;
  const isCut = !ending || (ending.finish.unified === "other" && ending.finish.raw === undefined);
  if (!ending || (isCut && calls.length === 0)) throw incomplete();
  return {
    ...textsOf(gathered),
    toolCalls: calls,
    finish: finishOf(ending.finish, calls.length > 0),
    usage: ending.usage,
    parts: parts
      .filter((part) => part.type === "call" || part.length > 0 || part.options !== undefined)
      .map((part) =>
        part.type === "call" ? part : { type: part.type, length: part.length, options: part.options },
      ),
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
