// The prompt guard: does a text want the agent to do what nobody would ask of it openly?
//
// I1. Pure: the same text gets the same verdict. Rules read normal forms of the text; the verdict tells a place in the
//     original, so a person sees what was written.
// I2. Linear in the text; every view is scanned once, hidden pieces at most two layers deep.

import { decodeEscapes } from "./decode.ts";
import { fold } from "./fold.ts";
import { findInvisible } from "./invisible.ts";
import { joinWords, pullTogether, squeeze, withoutMarkup, withVariables } from "./join.ts";
import { hiddenPieces } from "./pieces.ts";
import { type Place, placeOf } from "./place.ts";
import type { ScanMode } from "./rule.ts";
import { RULES } from "./rules/index.ts";
import { asLatin, withoutDigits } from "./skeleton.ts";
import { firstHit, indexRules, type TriggerIndex } from "./triggers.ts";
import { originOf, type View } from "./view.ts";

/** `rule` is stable; `reason` is a sentence for the person who wrote the text. */
export type Verdict = { verdict: "pass" } | { verdict: "block"; rule: string; reason: string; at: Place };

/** The rule of characters that show nothing; it needs no words. */
export const INVISIBLE_RULE = {
  id: "invisible-character",
  class: "invisible",
  reason: "It holds a character that shows nothing and has no honest work there.",
  modes: ["strict"],
} as const;

/**
 * Judges a text. Strict, for a prompt that somebody wrote: all rules, and invisible characters are blocked. Loose, for
 * skills and data: only rules on what is said to the model; invisible characters are taken out first. Never throws.
 */
export function scanPrompt(text: string, mode: ScanMode): Verdict {
  if (mode === "strict") {
    const hidden = findInvisible(text);
    if (hidden)
      return block(text, hidden.offset, {
        ...INVISIBLE_RULE,
        reason: `${INVISIBLE_RULE.reason} (${codePoint(hidden.point)})`,
      });
  }
  const found = findThreat(text, mode, 0);
  return found ? block(text, found.offset, found.rule) : { verdict: "pass" };
}

/** How deep pieces in pieces are looked into. */
const MAX_DEPTH = 2;

/** One index per mode, and one for squeezed text, where only phrases written without spaces make sense. */
const INDEXES = {
  strict: once(() => indexRules(RULES, "strict")),
  loose: once(() => indexRules(RULES, "loose")),
  squeezed: once(() =>
    indexRules(
      RULES.filter(({ id }) => id === "prompt-injection-squeezed"),
      "loose",
    ),
  ),
};

/** Built at the first scan: a command that scans nothing does not pay for it. */
function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

interface Threat {
  rule: { id: string; reason: string };
  offset: number;
}

function findThreat(text: string, mode: ScanMode, depth: number): Threat | undefined {
  for (const { view, index } of views(fold(text), mode)) {
    const hit = firstHit(view.text, index);
    if (hit) return { rule: hit.rule, offset: originOf(view, hit.place) };
  }
  if (depth >= MAX_DEPTH) return undefined;
  for (const piece of hiddenPieces(text)) {
    const threat = findThreat(piece.text, mode, depth + 1);
    if (threat) return { rule: threat.rule, offset: piece.offset };
  }
  return undefined;
}

/** The normal forms, each built on the last one and only where it differs. */
function* views(folded: View, mode: ScanMode): Generator<{ view: View; index: TriggerIndex }> {
  const index = INDEXES[mode]();
  yield { view: folded, index };
  let view = folded;
  for (const step of [
    asLatin,
    decodeEscapes,
    asLatin,
    withoutMarkup,
    joinWords,
    withVariables,
    pullTogether,
  ]) {
    const next = step(view);
    if (!next) continue;
    view = next;
    yield { view, index };
  }
  const plain = withoutDigits(view);
  if (plain) yield { view: plain, index: INDEXES.loose() };
  yield { view: squeeze(plain ?? view), index: INDEXES.squeezed() };
}

function block(text: string, offset: number, rule: { id: string; reason: string }): Verdict {
  return { verdict: "block", rule: rule.id, reason: rule.reason, at: placeOf(text, offset) };
}

function codePoint(point: number): string {
  return `U+${point.toString(16).toUpperCase().padStart(4, "0")}`;
}
