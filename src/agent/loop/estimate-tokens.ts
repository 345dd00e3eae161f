// How many tokens a conversation takes, roughly and fast: no tokenizer is loaded, the provider's own count corrects it.

import type { Message } from "../../records/conversation.ts";

/** @source common tokenizers: about four characters of Latin text a token, and nearer one of Chinese, Japanese, Korean. */
const TOKENS_PER_ASCII = 1 / 4;
const TOKENS_PER_OTHER = 3 / 4;
/** Role, separators. */
const PER_MESSAGE = 4;

/** Tokens of a text, rounded up. */
export function estimateText(text: string): number {
  let others = 0;
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 127) others += 1;
  return Math.ceil((text.length - others) * TOKENS_PER_ASCII + others * TOKENS_PER_OTHER);
}

/** Tokens of messages as a request carries them. */
export function estimateTokens(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + PER_MESSAGE + estimateMessage(message), 0);
}

function estimateMessage(message: Message): number {
  if (message.role !== "assistant") return estimateText(message.text);
  const calls = message.toolCalls.map(({ name, arguments: text }) => estimateText(`${name}${text}`));
  const reasoning = message.providerParts ? estimateText(message.reasoning ?? "") : 0;
  return (
    estimateText(message.text) + reasoning + calls.reduce((sum, tokens) => sum + tokens + PER_MESSAGE, 0)
  );
}
