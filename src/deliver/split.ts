// Splitting a message for a platform's length: between paragraphs, else lines, else words, else characters. Pure.
//
// I1. The slices put together are the text, character for character (verbatim, DESIGN §6), unless `maxParts` cut it.
// I2. A part is never longer than asked, measured as the platform counts it, with everything added to it.
// I3. A fence that a cut would open is closed in that part and opened again in the next; no cut stands inside a link, a
//     surrogate pair or a combining sequence as long as one of them fits into a part.

import { breakPoints } from "./rendering/break-points.ts";
import { closesFence, fenceOpening } from "./rendering/markdown.ts";

/** More parts than this flood a chat: the rest is named and left in the archive. */
const MAX_PARTS = 20;
/**
 * A text this many times longer than its platform allows is not measured: markup that vanishes is never that much of it,
 * and measuring a megabyte to learn that it is too long would hold up the run's closing.
 */
const MOST_MARKUP = 8;
/** What `(20/20)` on a line of its own takes: a guess that leaves it out never fits. */
const NUMBER_ROOM = 10;
/** A part this nearly full is full: to fill it to the last character would cost as many measurements again. */
const SLACK = 1 / 64;
/** Added to what is looked at of an endless line, so that no link is judged by its half. */
const WINDOW_MARGIN = 4_000;

export interface SplitOptions {
  /** In the platform's unit; Infinity = one part. */
  maxLength: number;
  /** How long the platform says a body is. Default: UTF-16 units. */
  lengthOf?: ((body: string) => number) | undefined;
  /** Default 20. */
  maxParts?: number;
  /** Stands at the end of the last part when the text was cut. */
  cutNote?: string;
}

export interface MessagePart {
  /** The piece of the text that this part carries, as written. */
  slice: string;
  /** What is sent: the slice with its fence closed and opened again, and `(1/3)`. */
  body: string;
}

/** The bodies of `splitParts`. */
export function splitMessage(text: string, options: SplitOptions): string[] {
  return splitParts(text, options).map((part) => part.body);
}

/** At least one part for any text but the empty one, which has none. One part is the text itself, without a number. */
export function splitParts(text: string, options: SplitOptions): MessagePart[] {
  if (text === "") return [];
  const { maxLength, maxParts = MAX_PARTS, lengthOf = (body) => body.length } = options;
  const fill = (body: string) =>
    body.length > maxLength * MOST_MARKUP ? Number.POSITIVE_INFINITY : lengthOf(body) / maxLength;
  if (maxLength === Number.POSITIVE_INFINITY || fill(text) <= 1) return [{ slice: text, body: text }];
  const source = new Source(text, maxLength);
  const cutNote = options.cutNote ?? "[cut: the whole text is in the run's output file]";
  const fillOf = (body: string, note = "") => fill(`${body}${note}\n(${maxParts}/${maxParts})`);
  const parts: MessagePart[] = [];
  let wasCut = false;
  for (let start = 0; start < text.length && !wasCut; ) {
    const isLast = parts.length === maxParts - 1;
    let end = source.endOfPart(start, (body) => fillOf(body));
    if (isLast && end < text.length) {
      wasCut = true;
      end = source.endOfPart(start, (body) => fillOf(body, `\n\n${cutNote}`));
    }
    const body = source.compose(start, end);
    parts.push({ slice: text.slice(start, end), body: wasCut ? `${body}\n\n${cutNote}` : body });
    start = end;
  }
  return parts.length === 1 && !wasCut
    ? parts
    : parts.map((part, index) => numbered(part, index + 1, parts.length));
}

function numbered({ slice, body }: MessagePart, number: number, count: number): MessagePart {
  return { slice, body: `${body}\n(${number}/${count})` };
}

type Fence = { mark: string; opening: string };
/** How much of a part a body fills: up to 1 it fits. */
type FillOf = (body: string) => number;

interface Line {
  start: number;
  /** After its line break. */
  end: number;
  /** The fence that is open before this line. */
  fence: Fence | undefined;
  isBlank: boolean;
}

/** A text with its lines and the fence each stands in. */
class Source {
  readonly #text: string;
  readonly #maxLength: number;
  readonly #lines: Line[] = [];

  constructor(text: string, maxLength: number) {
    this.#text = text;
    this.#maxLength = maxLength;
    let fence: Fence | undefined;
    for (let start = 0; start < text.length; ) {
      const newline = text.indexOf("\n", start);
      const end = newline < 0 ? text.length : newline + 1;
      const line = text.slice(start, end).replace(/\r?\n$/, "");
      this.#lines.push({ start, end, fence, isBlank: fence === undefined && line.trim() === "" });
      fence = fenceAfter(line, fence);
      start = end;
    }
  }

  /** The body of [start, end): fences closed and opened as the cut needs it. */
  compose(start: number, end: number): string {
    const opened = this.#fenceAt(start);
    const open = this.#fenceAt(end);
    const slice = this.#text.slice(start, end).trimEnd();
    return `${opened ? `${opened.opening}\n` : ""}${slice}${open ? `\n${open.mark}` : ""}`;
  }

  /** Where the part that begins at `start` ends; always after `start`. */
  endOfPart(start: number, fillOf: FillOf): number {
    // A last part that the slack would leave a stub behind.
    const rest = this.#text.length - start;
    if (rest <= this.#maxLength && fillOf(this.compose(start, this.#text.length)) <= 1)
      return this.#text.length;
    const first = this.#lineAt(start);
    const guess = this.#lineAt(start + this.#maxLength - NUMBER_ROOM) - first;
    const count = furthest({ max: this.#lines.length - first, guess }, (lines) =>
      fillOf(this.compose(start, this.#lines[first + lines - 1]?.end ?? 0)),
    );
    if (count === 0) return this.#endInLine(start, first, fillOf);
    const next = this.#lines[first + count];
    if (!next) return this.#text.length;
    // A line that must be cut anyway begins in this part, or what stands before it would be a stub.
    if (fillOf(this.compose(next.start, next.end)) > 1)
      return this.#endBetweenWords(start, next, fillOf) ?? next.start;
    return this.#paragraphEnd(start, { first, last: first + count - 1 }, fillOf);
  }

  /** The end of the last paragraph in the second half, else of the last line; never right after a fence's opening. */
  #paragraphEnd(start: number, { first, last }: { first: number; last: number }, fillOf: FillOf): number {
    const lineEnd = (index: number) => this.#lines[index]?.end ?? this.#text.length;
    const half = start + (lineEnd(last) - start) / 2;
    for (let index = last; index > first && lineEnd(index) > half; index--) {
      const end = lineEnd(index);
      if (this.#lines[index]?.isBlank && fillOf(this.compose(start, end)) <= 1) return end;
    }
    const opening = this.#lines[last];
    const opensFence = opening !== undefined && !opening.fence && this.#lines[last + 1]?.fence !== undefined;
    return opensFence && last > first ? opening.start : lineEnd(last);
  }

  /** Where to cut a line of which only the beginning fits behind what stands before it. */
  #endBetweenWords(start: number, line: Line, fillOf: FillOf): number | undefined {
    const [words = []] = this.#breakPoints(line.start, line);
    return this.#lastFitting({ start, from: line.start, points: words }, fillOf);
  }

  /** A line too long for a part. A break that leaves a stub is better than half a link. */
  #endInLine(start: number, index: number, fillOf: FillOf): number {
    const line = this.#lines[index];
    for (const points of line ? this.#breakPoints(start, line) : []) {
      const end = this.#lastFitting({ start, from: start, points }, fillOf);
      if (end !== undefined) return end;
    }
    // Not one character fits: it is sent all the same, or nothing ever would be.
    return start + (/^./su.exec(this.#text.slice(start, start + 2))?.[0].length ?? 1);
  }

  #lastFitting(
    { start, from, points }: { start: number; from: number; points: readonly number[] },
    fillOf: FillOf,
  ): number | undefined {
    const guess = points.filter((point) => from + point - start <= this.#maxLength - NUMBER_ROOM).length;
    const count = furthest({ max: points.length, guess }, (number) =>
      fillOf(this.compose(start, from + (points[number - 1] ?? 0))),
    );
    const point = points[count - 1];
    return point === undefined ? undefined : from + point;
  }

  /** Of an endless line only as much is looked at as can go into a part. */
  *#breakPoints(from: number, line: Line): Generator<readonly number[]> {
    const windowEnd = from + this.#maxLength * MOST_MARKUP;
    const isCut = windowEnd + WINDOW_MARGIN < line.end;
    const text = this.#text.slice(from, isCut ? windowEnd + WINDOW_MARGIN : line.end);
    for (const points of breakPoints(text, line.fence !== undefined))
      yield isCut ? points.filter((point) => from + point <= windowEnd) : points;
  }

  #fenceAt(offset: number): Fence | undefined {
    if (offset >= this.#text.length) return undefined;
    return this.#lines[this.#lineAt(offset)]?.fence;
  }

  #lineAt(offset: number): number {
    let [low, high] = [0, this.#lines.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#lines[middle]?.start ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

function fenceAfter(line: string, fence: Fence | undefined): Fence | undefined {
  if (fence) return closesFence(line, fence.mark) ? undefined : fence;
  const opening = fenceOpening(line);
  return opening && { mark: opening.mark, opening: `${opening.mark}${opening.language}` };
}

/**
 * The largest number in [0, max] that fits, or one that leaves less than SLACK of the part empty. A measured fill says
 * where to look next, as lengths grow evenly; steps that double, then halve, take over where they do not.
 */
function furthest({ max, guess }: { max: number; guess: number }, fillOf: (count: number) => number): number {
  let low = 0;
  let high = max + 1;
  let next = Math.min(Math.max(guess, 1), max);
  for (let step = 1; high - low > 1; step *= 2) {
    const fill = fillOf(next);
    const isFit = fill <= 1;
    if (isFit) low = next;
    else high = next;
    if (isFit && fill > 1 - SLACK) return low;
    const even = Math.floor(next / fill);
    next = isFit ? Math.max(even, low + step) : Math.min(even, high - step);
    if (next <= low || next >= high) next = (low + high) >> 1;
  }
  return low;
}
