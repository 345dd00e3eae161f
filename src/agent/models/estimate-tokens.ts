// How many tokens a text is, roughly, at the price of one pass over it: for budgets and for the context window.
//
// I1. Weights by kind of character, set so that prose, code, JSON and East Asian text come out near o200k's count
//     (test/agent/models/estimate-tokens.test.ts holds counts of the real tokenizer). Other vocabularies differ more.

import type { Message } from "../../records/conversation.ts";
import type { ModelRequest, ToolSpec } from "../../records/model.ts";

/** What a message costs beside its text. @source OpenAI's guide to counting tokens */
const MESSAGE_TOKENS = 4;

const SPACE = 32;
const TAB = 9;
/** A run of blanks is one token at most; the first of it usually belongs to the word that follows. */
const FIRST_BLANK = 0.12;
const NEXT_BLANK = 0.05;
const ASCII: Float64Array = Float64Array.from({ length: 128 }, (_, code) => {
  const lower = code | 32;
  if (lower >= 97 && lower <= 122) return 0.225;
  if (code >= 48 && code <= 57) return 0.65;
  return code === 10 || code === 13 ? 0.5 : 0.7;
});

/** Tokens of a text, rounded up. Pure; some 5 ns a character. */
export function estimateTokens(text: string): number {
  let sum = 0;
  let wasBlank = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const isBlank = code === SPACE || code === TAB;
    if (isBlank) sum += wasBlank ? NEXT_BLANK : FIRST_BLANK;
    else sum += code < 128 ? (ASCII[code] ?? 0) : beyondAscii(code);
    wasBlank = isBlank;
  }
  return Math.ceil(sum);
}

function beyondAscii(code: number): number {
  // Latin with accents, Greek, Cyrillic, Hebrew, Arabic: two or three letters a token.
  if (code < 0x0900) return 0.36;
  // Indic and other scripts of South and South-East Asia.
  if (code < 0x1100) return 0.42;
  // Kana, Han, Hangul and full-width forms.
  if ((code >= 0x2e80 && code <= 0xd7ff) || (code >= 0xf900 && code <= 0xffef)) return 0.75;
  // Halves of what lies beyond (emoji, rare Han), and symbols.
  return 1.2;
}

/** Tokens of these messages with everything that goes along. */
export function estimateMessages(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + estimateMessage(message), 0);
}

/** Tokens of a whole request. */
export function estimateRequest({ messages, tools }: Pick<ModelRequest, "messages" | "tools">): number {
  return estimateMessages(messages) + estimateTools(tools);
}

function estimateMessage(message: Message): number {
  const own = MESSAGE_TOKENS + estimateTokens(message.text);
  if (message.role !== "assistant") return own;
  const calls = message.toolCalls.map(
    (call) => estimateTokens(call.name) + estimateTokens(call.arguments) + 8,
  );
  return own + calls.reduce((sum, tokens) => sum + tokens, estimateTokens(message.reasoning ?? ""));
}

/** What a model is told of its tools. */
function estimateTools(tools: readonly ToolSpec[]): number {
  return tools.reduce(
    (sum, tool) =>
      sum + 8 + estimateTokens(tool.description) + estimateTokens(JSON.stringify(tool.parameters)),
    0,
  );
}
