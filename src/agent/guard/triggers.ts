// Finding where rules may begin: one pass over the text, by the first two characters of their words.
//
// I1. The cost of a pass is the text's length plus the bounded work of the forms whose word stands there.

import { invariant } from "../../kernel/errors.ts";
import type { Form, Rule, ScanMode } from "./rule.ts";

interface Entry {
  word: string;
  rule: Rule;
  form: Form;
}

/** The words of all rules that hold in a mode, by their first two characters. */
export interface TriggerIndex {
  /** Whether any word begins with two characters of this hash. */
  flags: Uint8Array;
  entries: ReadonlyMap<number, readonly Entry[]>;
}

/** Where a rule holds in a folded text. */
export interface Hit {
  rule: Rule;
  place: number;
}

export function indexRules(rules: readonly Rule[], mode: ScanMode): TriggerIndex {
  const flags = new Uint8Array(HASHES);
  const entries = new Map<number, Entry[]>();
  for (const rule of rules.filter(({ modes }) => modes.includes(mode))) {
    for (const form of rule.forms) {
      for (const word of form.words) {
        invariant(word.length >= 2, `a word of rule ${rule.id} has two characters`);
        const key = keyAt(word, 0);
        flags[hash(word.charCodeAt(0), word.charCodeAt(1))] = 1;
        const known = entries.get(key);
        if (known) known.push({ word, rule, form });
        else entries.set(key, [{ word, rule, form }]);
      }
    }
  }
  return { flags, entries };
}

/** The first place where a rule holds; at one place, the first rule of the table. */
export function firstHit(text: string, { flags, entries }: TriggerIndex): Hit | undefined {
  const last = text.length - 1;
  let current = text.charCodeAt(0);
  for (let place = 0; place < last; place++) {
    const next = text.charCodeAt(place + 1);
    if (flags[hash(current, next)] === 1) {
      for (const { word, rule, form } of entries.get(keyAt(text, place)) ?? []) {
        if (!text.startsWith(word, place) || (form.isWord && isInsideWord(text, place))) continue;
        if (form.holds(text, place, word)) return { rule, place };
      }
    }
    current = next;
  }
  return undefined;
}

const HASHES = 1 << 14;

function hash(first: number, second: number): number {
  return ((first << 7) ^ second) & (HASHES - 1);
}

function keyAt(text: string, place: number): number {
  return text.charCodeAt(place) * 0x10000 + text.charCodeAt(place + 1);
}

/** A word that a letter or digit stands before begins no word. */
function isInsideWord(text: string, place: number): boolean {
  if (place === 0) return false;
  const before = text.charCodeAt(place - 1);
  if (before < 0x80) return (before >= 0x61 && before <= 0x7a) || (before >= 0x30 && before <= 0x39);
  return (
    LETTER.test(text[place - 1] ?? "") &&
    LETTER.test(text[place] ?? "") &&
    !UNSPACED.test(text[place - 1] ?? "")
  );
}

const LETTER = /\p{L}/u;
/** Scripts whose letters may stand right before a Latin word. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;
