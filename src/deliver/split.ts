// Splitting a message for a platform's length: between paragraphs, else lines, else words, else characters.
//
// I1. The parts put together are the text, character for character (verbatim, DESIGN §6), unless `maxParts` cut it.
// I2. No part is longer than asked, and none ends inside a surrogate pair.

/** More parts than this flood a chat: the rest is named and left in the archive. */
const MAX_PARTS = 20;

export interface SplitOptions {
  /** UTF-16 units; Infinity = one part. */
  maxLength: number;
  /** Default 20. */
  maxParts?: number;
  /** Stands at the end of the last part when the text was cut. */
  cutNote?: string;
}

/** At least one part for any text but the empty one, which has none. */
export function splitMessage(text: string, options: SplitOptions): string[] {
  const { maxLength, maxParts = MAX_PARTS } = options;
  const parts: string[] = [];
  let rest = text;
  while (rest.length > maxLength && parts.length < maxParts - 1) {
    const end = breakPoint(rest, maxLength);
    parts.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
  if (rest.length > maxLength) {
    const note = options.cutNote ?? "\n[cut: the whole text is in the run's output file]";
    const room = Math.max(0, maxLength - note.length);
    rest = rest.slice(0, safeEnd(rest, room)) + note.slice(0, maxLength);
  }
  if (rest !== "") parts.push(rest);
  return parts;
}

/** Where to cut, in (0, maxLength]. A break in the first half would leave a stub, so it is not taken. */
function breakPoint(text: string, maxLength: number): number {
  const window = text.slice(0, maxLength);
  for (const mark of ["\n\n", "\n", " "]) {
    const at = window.lastIndexOf(mark);
    if (at >= maxLength / 2) return at + mark.length;
  }
  return safeEnd(text, maxLength);
}

/** `end`, or one less when it would part a surrogate pair; at least 1 so that progress is made. */
function safeEnd(text: string, end: number): number {
  const code = text.charCodeAt(end - 1);
  const isHighSurrogate = code >= 0xd800 && code <= 0xdbff;
  return isHighSurrogate && end > 1 ? end - 1 : end;
}
