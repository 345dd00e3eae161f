// Finding where rules may begin: one pass over the text, by the first two characters of their words.
//
// I1. The cost of a pass is the text's length plus the bounded work of the forms whose word stands there.

import { invariant } from "../../kernel/errors.ts";
import { type Pass, passOver } from "./pass.ts";
import type { Form, Rule, ScanMode } from "./rule.ts";

/** A word, its third unit (NaN for two-letter words: compared before the whole), and the forms it begins. */
interface Entry {
  word: string;
  third: number;
  forms: { rule: Rule; form: Form }[];
}

/** The words of all rules that hold in a mode, in buckets by their first two characters. */
export interface TriggerIndex {
  /** Per bucket: 0 nothing begins so · 1 only words that begin a word · 2 also words that may stand inside one. */
  kinds: Uint8Array;
  buckets: readonly (readonly Entry[])[];
}

/** Where a rule holds in a folded text. */
export interface Hit {
  rule: Rule;
  place: number;
}

export function indexRules(rules: readonly Rule[], mode: ScanMode): TriggerIndex {
  const kinds = new Uint8Array(BUCKETS);
  const buckets: Entry[][] = Array.from({ length: BUCKETS }, () => []);
  for (const rule of rules.filter(({ modes }) => modes.includes(mode))) {
    for (const form of rule.forms) {
      for (const word of form.words) {
        invariant(word.length >= 2, `a word of rule ${rule.id} has two characters`);
        const bucket = bucketOf(word.charCodeAt(0), word.charCodeAt(1));
        kinds[bucket] = Math.max(kinds[bucket] ?? 0, form.isWord ? 1 : 2);
        const known = buckets[bucket]?.find((entry) => entry.word === word);
        if (known) known.forms.push({ rule, form });
        else buckets[bucket]?.push({ word, third: word.charCodeAt(2), forms: [{ rule, form }] });
      }
    }
  }
  return { kinds, buckets };
}

/** The first place where a rule holds; at one place, the first rule of the table. */
export function firstHit(text: string, { kinds, buckets }: TriggerIndex): Hit | undefined {
  const pass = passOver(text);
  let isInside = false;
  let current = text.charCodeAt(0);
  for (let place = 0; place < text.length - 1; place++) {
    const next = text.charCodeAt(place + 1);
    const bucket = bucketOf(current, next);
    const kind = kinds[bucket] ?? 0;
    if (kind === 2 || (kind === 1 && !isInside)) {
      const third = text.charCodeAt(place + 2);
      for (const entry of buckets[bucket] ?? []) {
        if (entry.third !== third && entry.word.length > 2) continue;
        if (!text.startsWith(entry.word, place)) continue;
        const rule = ruleAt({ pass, place, entry, isInside });
        if (rule) return { rule, place };
      }
    }
    isInside = isWordUnit(current);
    current = next;
  }
  return undefined;
}

interface Candidate {
  pass: Pass;
  place: number;
  entry: Entry;
  isInside: boolean;
}

function ruleAt({ pass, place, entry, isInside }: Candidate): Rule | undefined {
  const isCutOff = isInside && isInsideWord(pass.text, place);
  return entry.forms.find(
    ({ form }) =>
      !(form.isWord && isCutOff) &&
      (!form.needs || pass.mentions(form.needs)) &&
      form.holds(pass, place, entry.word),
  )?.rule;
}

const BUCKETS = 1 << 14;

function bucketOf(first: number, second: number): number {
  return ((first << 7) ^ second) & (BUCKETS - 1);
}

/** Latin letters and digits; of other scripts only those that are written with spaces. */
function isWordUnit(unit: number): boolean {
  return IS_WORD[unit] === 1;
}

/** Before a word that begins with a sign (`/bin/rm`) a letter changes nothing. */
function isInsideWord(text: string, place: number): boolean {
  return isWordUnit(text.charCodeAt(place));
}

/** By UTF-16 unit; what is beyond the table is none. */
const IS_WORD = new Uint8Array(0x0e00).fill(1, 0xc0).fill(1, 0x61, 0x7b).fill(1, 0x30, 0x3a);
// ×, ÷, and the Arabic and Indic marks that end words.
for (const sign of [0xd7, 0xf7, 0x60c, 0x61b, 0x61f, 0x6d4, 0x964, 0x965]) IS_WORD[sign] = 0;
