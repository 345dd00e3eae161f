// Invisible characters: which there are, and where they have honest work.
//
// I1. A joiner, a mark or a selector is legal only beside the script or the emoji that needs it; anywhere else it hides
//     something. Soft hyphens are dropped but never blocked: copied text is full of them.
// @source Unicode 16, UAX #9 (bidi), UTS #51 (emoji sequences), UTS #37 (ideographic variation).

/** Whether a character shows nothing: zero-width, bidi control, joiner, selector, tag, filler. */
export function isInvisible(point: number): boolean {
  if (point < 0xad) return point < 0x20 ? point !== 0x09 && point !== 0x0a && point !== 0x0d : point === 0x7f;
  return RANGES.some(([from, to]) => point >= from && point <= to);
}

/** The first invisible character without honest work; its offset and code point. */
export function findInvisible(text: string): { offset: number; point: number } | undefined {
  SUSPECT.lastIndex = 0;
  for (let match = SUSPECT.exec(text); match; match = SUSPECT.exec(text)) {
    const point = match[0].codePointAt(0) ?? 0;
    if (!isLegal(text, match.index, point)) return { offset: match.index, point };
  }
  return undefined;
}

/** The text without the invisible characters that have no honest work there; what loose callers hand on to a model. */
export function stripInvisible(text: string): string {
  return text.replace(SUSPECT, (character, offset: number) =>
    isLegal(text, offset, character.codePointAt(0) ?? 0) ? character : "",
  );
}

const RANGES: readonly (readonly [number, number])[] = [
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x202a, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff9, 0xfffb],
  [0x1d173, 0x1d17a],
  [0xe0000, 0xe0fff],
];

/** All of the above but the soft hyphen and the C0 controls, which terminals and logs hold. */
const SUSPECT =
  /\u034f|[\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u180b-\u180d\u180f]|\u200c|\u200d|[\ufe00-\ufe0f]|[\u{1d173}-\u{1d17a}]|[\u{e0000}-\u{e0fff}]/gu;

function isLegal(text: string, offset: number, point: number): boolean {
  const before = pointBefore(text, offset);
  const after = text.codePointAt(offset + (point > 0xffff ? 2 : 1));
  if (point === 0xfeff) return offset === 0;
  if (point === 0x200c || point === 0x200d) return isLegalJoiner(text, { offset, point, before, after });
  if (point === 0x200e || point === 0x200f || point === 0x61c)
    return RIGHT_TO_LEFT.test(lineAround(text, offset));
  if (point >= 0x180b && point <= 0x180f) return is(/\p{Script=Mongolian}/u, before);
  // "Show the emoji in colour" is left behind by many editors, sometimes twice.
  if (point === 0xfe0f) return before !== 0xfe0f || pointBefore(text, offset - 1) !== 0xfe0f;
  if (point >= 0xfe00 && point < 0xfe0f) return is(/[\p{Emoji}\p{S}\p{Lo}]/u, before);
  if (point >= 0xe0100 && point <= 0xe01ef) return is(/\p{Script=Han}/u, before);
  if (point >= 0xe0020 && point <= 0xe007f) return isInFlag(text, offset);
  if (point === 0x115f || point === 0x1160)
    return is(/[\u1100-\u11ff]/u, after) || is(/[\u1100-\u11ff]/u, before);
  return point === 0x34f && is(/\p{M}/u, before);
}

interface Neighbours {
  offset: number;
  point: number;
  before: number | undefined;
  after: number | undefined;
}

/** Emoji families; Arabic, Persian, Indic and other scripts whose letters change shape at a joiner. */
function isLegalJoiner(text: string, { offset, point, before, after }: Neighbours): boolean {
  if (is(JOINING_SCRIPT, before)) return after === undefined || !is(/[a-z0-9]/iu, after);
  if (point !== 0x200d || !is(/\p{Extended_Pictographic}/u, after)) return false;
  return EMOJI_BEFORE.test(text.slice(Math.max(0, offset - 6), offset));
}

const EMOJI_BEFORE = /[\p{Extended_Pictographic}\p{Emoji_Modifier}]\ufe0f?$/u;
const JOINING_SCRIPT =
  /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}\p{Script=Nko}]/u;
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;

/** The three flags that are spelt with tags: England, Scotland, Wales. */
const TAG_FLAG =
  /\u{1f3f4}\u{e0067}\u{e0062}(?:\u{e0065}\u{e006e}\u{e0067}|\u{e0073}\u{e0063}\u{e0074}|\u{e0077}\u{e006c}\u{e0073})\u{e007f}/gu;

function isInFlag(text: string, offset: number): boolean {
  const start = Math.max(0, offset - 14);
  for (const flag of text.slice(start, offset + 14).matchAll(TAG_FLAG)) {
    const at = start + flag.index;
    if (offset > at && offset < at + flag[0].length) return true;
  }
  return false;
}

function is(kind: RegExp, point: number | undefined): boolean {
  return point !== undefined && kind.test(String.fromCodePoint(point));
}

function pointBefore(text: string, offset: number): number | undefined {
  if (offset === 0) return undefined;
  const unit = text.charCodeAt(offset - 1);
  return unit >= 0xdc00 && unit <= 0xdfff && offset > 1 ? text.codePointAt(offset - 2) : unit;
}

/** The line a character stands in, at most 200 characters to each side. */
function lineAround(text: string, offset: number): string {
  const before = text.slice(Math.max(0, offset - 200), offset);
  const after = text.slice(offset, offset + 200);
  return before.slice(before.lastIndexOf("\n") + 1) + (after.split("\n", 1)[0] ?? "");
}
