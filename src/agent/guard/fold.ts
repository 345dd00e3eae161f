// Folding: case, width, compatibility forms and accents are taken away, invisible characters are dropped.
//
// I1. Patterns are folded by the same function as texts, so both spell a word alike in any language.

import { isInvisible } from "./invisible.ts";
import { type View, ViewBuilder } from "./view.ts";

/** The folded view of a text. Pure ASCII costs one lower-casing. */
export function fold(text: string): View {
  if (isAscii(text)) return { text: text.toLowerCase() };
  const builder = new ViewBuilder(text.length);
  for (let place = 0; place < text.length; place++) {
    const unit = text.charCodeAt(place);
    if (unit < 0x80) builder.addUnit(unit >= 0x41 && unit <= 0x5a ? unit + 0x20 : unit, place);
    else if (isSelfFolded(unit)) builder.addUnit(unit, place);
    else {
      const point = text.codePointAt(place) ?? 0;
      builder.add(foldPoint(point), place);
      if (point > 0xffff) place += 1;
    }
  }
  return builder.build();
}

/** A pattern's own words, folded as texts are. */
export function foldWord(word: string): string {
  return fold(word).text;
}

/** One code point in folded form; empty for what is invisible or an accent. */
export function foldPoint(point: number): string {
  if (point < 0x80) return String.fromCharCode(point).toLowerCase();
  if (isSelfFolded(point)) return String.fromCodePoint(point);
  const known = FOLDED.get(point);
  if (known !== undefined) return known;
  const folded = computeFold(point);
  if (FOLDED.size < MEMO_LIMIT) FOLDED.set(point, folded);
  return folded;
}

/** Remembers what normalisation gave: pure, bounded, only for speed. */
const FOLDED = new Map<number, string>();
const MEMO_LIMIT = 8_192;

/** Typographic signs that stand for an ASCII one and that compatibility forms leave alone. */
const SIGNS: ReadonlyMap<string, string> = new Map([
  ..."‘’‚‛ʼ′`´".split("").map((sign) => [sign, "'"] as const),
  ..."“”„‟″«»".split("").map((sign) => [sign, '"'] as const),
  ..."‐‑‒–—―−".split("").map((sign) => [sign, "-"] as const),
  ["\u2028", "\n"],
  ["\u2029", "\n"],
  ["\u0085", "\n"],
  ["∕", "/"],
  ["⁄", "/"],
  ["∖", "\\"],
  ["ı", "i"],
  ["ł", "l"],
  ["ø", "o"],
]);

function computeFold(point: number): string {
  if (isInvisible(point)) return "";
  const character = String.fromCodePoint(point);
  const sign = SIGNS.get(character);
  if (sign !== undefined) return sign;
  return character
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/g, "")
    .normalize("NFC")
    .toLowerCase();
}

/** Han, kana and Hangul syllables, lower-case Cyrillic and common CJK marks fold to themselves. */
function isSelfFolded(point: number): boolean {
  return (
    (point >= 0x4e00 && point <= 0x9fff) ||
    (point >= 0xac00 && point <= 0xd7a3) ||
    (point >= 0x3041 && point <= 0x3096) ||
    (point >= 0x30a1 && point <= 0x30fa) ||
    (point >= 0x430 && point <= 0x44f && point !== 0x439)
  );
}

function isAscii(text: string): boolean {
  for (let place = 0; place < text.length; place++) if (text.charCodeAt(place) > 0x7f) return false;
  return true;
}
