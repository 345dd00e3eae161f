// How many tokens messages take, roughly: what the context window measures with until a provider's count corrects it.

import type { Message } from "../../records/conversation.ts";
import { estimateMessageTokens } from "../models/estimate-tokens.ts";

/** Tokens of these messages as a request carries them. */
export function estimateTokens(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + estimateMessageTokens(message), 0);
}
