// Where a line may be cut: between words outside code and links, else between what a reader sees as characters. Pure.

import { inlineAtoms } from "./inline.ts";

/** Looked at per line: a line without a space may be as long as the whole message, and each character costs microseconds. */
const MAX_GRAPHEMES = 4_500;

let segmenter: Intl.Segmenter | undefined;

/**
 * Offsets in (0, line.length) at which `line` may be cut, ascending, best kind first: after spaces, then between
 * characters outside code and links, then between any characters, then between code points. `isCode` = no markup is read.
 */
export function* breakPoints(line: string, isCode: boolean): Generator<readonly number[]> {
  const atoms = isCode ? [] : inlineAtoms(line);
  const words = [...line.matchAll(/(?<=[ \t])[^ \t]/g)].map((match) => match.index);
  yield outside(words, atoms);
  const characters = graphemeEnds(line);
  yield outside(characters, atoms);
  yield characters;
  yield codePointEnds(line.slice(0, MAX_GRAPHEMES));
}

function outside(points: readonly number[], atoms: readonly { start: number; end: number }[]): number[] {
  let index = 0;
  return points.filter((point) => {
    while ((atoms[index]?.end ?? Number.POSITIVE_INFINITY) <= point) index += 1;
    return point <= (atoms[index]?.start ?? Number.POSITIVE_INFINITY);
  });
}

/** Ends of combining sequences, emoji and surrogate pairs. @source Unicode UAX #29, by the runtime's own tables. */
function graphemeEnds(line: string): number[] {
  const window = line.slice(0, MAX_GRAPHEMES);
  // Of plain ASCII every character stands alone, and asking for each would cost a hundred times as much.
  if (/^[\x20-\x7e]*$/.test(window)) return Array.from({ length: window.length - 1 }, (_, at) => at + 1);
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  const starts: number[] = [];
  // A window's own end may stand inside a character; its last one is left out.
  for (const { index } of segmenter.segment(window)) if (index > 0) starts.push(index);
  return starts;
}

function codePointEnds(text: string): number[] {
  const ends: number[] = [];
  let at = 0;
  for (const char of text) {
    at += char.length;
    ends.push(at);
  }
  return ends;
}
