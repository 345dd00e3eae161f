// How large the conversation is and may be: an estimate that the provider's own counts correct.
//
// I1. The room only shrinks below what is configured when a provider has refused a request as too long.

import type { Message } from "../../records/conversation.ts";
import type { TokenUsage } from "../../records/model.ts";
import type { Tool } from "../../records/tool.ts";
import type { WindowDeps } from "./loop-types.ts";
import type { ContextLimits, SizeOf } from "./plan-context.ts";

/** For what an estimate gets wrong. */
const MARGIN_SHARE = 0.05;
/** Coming down well below the room keeps the provider's cache of the beginning warm for some turns. */
const TARGET_SHARE = 0.7;
/** After a refusal: a request that was too long, less a quarter. */
const SHRINK_SHARE = 0.75;
const KEEP_TURNS = 4;
const KEEP_RESULTS = 3;
const MOST_SUMMARY_TOKENS = 1_500;
const MOST_UNSET_OUTPUT = 8_192;
/** A count beyond these bounds is not a count of our request. */
const FACTOR_BOUNDS = { least: 0.5, most: 4 };
const CHARACTERS_PER_TOKEN = 4;
const RESULT_CHARACTERS = 50_000;

export interface ContextWindow {
  sizeOf: SizeOf;
  limits(): ContextLimits;
  /** Corrects the estimate by what a provider counted for these messages. */
  learn(sent: readonly Message[], usage: TokenUsage): void;
  /** A provider refused these messages as too long, whatever we thought. */
  shrink(sent: readonly Message[]): void;
  /** What each of so many results of one turn may take, so that all of them fit half the context. */
  resultCharacters(calls: number): number;
}

/** The window of one loop. */
export function openWindow(deps: {
  window: WindowDeps;
  tools: readonly Tool[];
  limits?: { resultCharacters?: number };
}): ContextWindow {
  const { contextLength, maxOutputTokens, estimate } = deps.window;
  const plain = rememberSizes(estimate);
  const toolTokens = estimate([{ role: "system", text: JSON.stringify(deps.tools.map(specOf)) }]);
  const output = maxOutputTokens ?? Math.min(contextLength / 4, MOST_UNSET_OUTPUT);
  let factor = 1;
  let refused = Number.POSITIVE_INFINITY;

  const sizeOf: SizeOf = (message) => Math.ceil(plain(message) * factor);
  const sum = (messages: readonly Message[]) => messages.reduce((total, one) => total + plain(one), 0);

  function room(): number {
    const free = contextLength * (1 - MARGIN_SHARE) - output - toolTokens * factor;
    // A maximum output as large as the context must not leave nothing to ask with.
    return Math.floor(Math.min(Math.max(free, contextLength / 4), refused * factor));
  }

  return {
    sizeOf,
    limits() {
      const most = room();
      return {
        room: most,
        target: Math.floor(most * TARGET_SHARE),
        keepTurns: KEEP_TURNS,
        keepResults: KEEP_RESULTS,
        summaryTokens: Math.min(MOST_SUMMARY_TOKENS, Math.max(100, Math.floor(most / 8))),
      };
    },
    learn(sent, { inputTokens }) {
      const guess = sum(sent) + toolTokens;
      if (inputTokens <= 0 || guess <= 0) return;
      factor = Math.min(FACTOR_BOUNDS.most, Math.max(FACTOR_BOUNDS.least, inputTokens / guess));
    },
    shrink(sent) {
      refused = Math.min(refused, sum(sent) * SHRINK_SHARE);
    },
    resultCharacters(calls) {
      const most = deps.limits?.resultCharacters ?? RESULT_CHARACTERS;
      return Math.min(most, Math.floor((contextLength * CHARACTERS_PER_TOKEN) / 2 / Math.max(1, calls)));
    },
  };
}

/** What a model is told of a tool. */
export function specOf({ name, description, parameters }: Tool) {
  return { name, description, parameters };
}

/** Messages never change, so each is measured once. */
function rememberSizes(estimate: WindowDeps["estimate"]): (message: Message) => number {
  const known = new WeakMap<Message, number>();
  return (message) => {
    const size = known.get(message) ?? estimate([message]);
    known.set(message, size);
    return size;
  };
}
