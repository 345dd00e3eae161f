// A place in a text as a person finds it: line, column, and a piece of what stands there.

import { isInvisible } from "./invisible.ts";

/** Offset in UTF-16 units from 0; line and column (in characters) from 1; the excerpt shows invisible characters. */
export interface Place {
  offset: number;
  line: number;
  column: number;
  excerpt: string;
}

/** Characters of an excerpt. */
const EXCERPT = 80;

export function placeOf(text: string, offset: number): Place {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf("\n") + 1;
  return {
    offset,
    line: before.split("\n").length,
    column: [...before.slice(lineStart)].length + 1,
    excerpt: excerptAt(text, offset),
  };
}

/** One line: what begins at the offset; where that shows nothing, with some text before it. */
function excerptAt(text: string, offset: number): string {
  const from = isInvisible(text.codePointAt(offset) ?? 0) ? Math.max(0, offset - 20) : offset;
  const characters = [...text.slice(from, from + EXCERPT * 2)];
  const shown = characters.slice(0, EXCERPT).map(showCharacter).join("");
  return characters.length > EXCERPT || from + EXCERPT * 2 < text.length
    ? `${shown.trimEnd()}…`
    : shown.trimEnd();
}

function showCharacter(character: string): string {
  const point = character.codePointAt(0) ?? 0;
  if (character === "\n") return "⏎";
  return isInvisible(point) ? `<U+${point.toString(16).toUpperCase().padStart(4, "0")}>` : character;
}
