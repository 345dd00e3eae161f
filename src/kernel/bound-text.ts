// Long text within bounds: the head or the tail is kept, and what was left out is counted, never silent.
//
// I1. A cut falls at a line's border where one is near, and never inside a character.

/** A border is looked for this far: half a line reads badly, but a text of one line must keep something. */
const LINE_SEARCH = 1_000;

export interface BoundText {
  text: string;
  /** Characters (UTF-16 units) left out; 0 = whole. */
  omitted: number;
}

/** The last `max` characters, from the start of a line. */
export function keepTail(text: string, max: number): BoundText {
  if (text.length <= max) return { text, omitted: 0 };
  let start = text.length - max;
  const isBorder = start === 0 || text[start - 1] === "\n";
  const newline = isBorder ? -1 : text.slice(start, start + Math.min(LINE_SEARCH, max - 1)).indexOf("\n");
  if (newline >= 0) start += newline + 1;
  else if (isLowSurrogate(text, start)) start += 1;
  return { text: text.slice(start), omitted: start };
}

/** The first `max` characters, to the end of a line. */
export function keepHead(text: string, max: number): BoundText {
  if (text.length <= max) return { text, omitted: 0 };
  let end = max;
  const newline = text.lastIndexOf("\n", end - 1);
  if (newline >= 0 && newline >= end - LINE_SEARCH) end = newline + 1;
  else if (isLowSurrogate(text, end)) end -= 1;
  return { text: text.slice(0, end), omitted: text.length - end };
}

/** The tail, below a line that says how much is missing above it. */
export function tailWithNote(text: string, max: number): string {
  const { text: kept, omitted } = keepTail(text, max);
  return omitted === 0 ? text : `[… ${omitted} characters left out …]\n${kept}`;
}

/** The head, above a line that says how much is missing below it. */
export function headWithNote(text: string, max: number): string {
  const { text: kept, omitted } = keepHead(text, max);
  if (omitted === 0) return text;
  return `${kept}${kept.endsWith("\n") ? "" : "\n"}[… ${omitted} characters left out …]`;
}

/** Head and tail, around a line that says how much is missing between them. */
export function endsWithNote(text: string, max: { head: number; tail: number }): string {
  if (text.length <= max.head + max.tail) return text;
  const head = keepHead(text, max.head).text;
  const tail = keepTail(text, max.tail).text;
  const omitted = text.length - head.length - tail.length;
  return `${head}${head.endsWith("\n") ? "" : "\n"}[… ${omitted} characters left out …]\n${tail}`;
}

function isLowSurrogate(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code >= 0xdc00 && code <= 0xdfff;
}
