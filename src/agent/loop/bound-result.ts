// Bounds what a tool may tell a model: long strings lose their middle, long lists theirs, and it stays JSON. Pure.
//
// I1. The text is never longer than the limit, and always the JSON of an object with `error`.
// I2. The head and the tail of what is cut are kept, and a note says how much is missing between.

/** A third from the head: what went wrong stands at the end. */
const HEAD_SHARE = 1 / 3;
/** Strings are not cut below this; then lists are. */
const SHORTEST = 200;
/** The least limit that holds a note, an error and something of the result. */
const LEAST_LIMIT = 2_000;

export interface BoundedText {
  text: string;
  isTruncated: boolean;
}

/** JSON text of `result` with at most `limit` characters (at least 2,000). */
export function boundResult(result: Record<string, unknown>, limit: number): BoundedText {
  const max = Math.max(LEAST_LIMIT, limit);
  const whole = JSON.stringify(result);
  if (whole.length <= max) return { text: whole, isTruncated: false };
  return {
    text: fitStrings(result, max) ?? fitLists(result, max) ?? fitAnyhow(result, max),
    isTruncated: true,
  };
}

/** The middle of a text that is longer than `max` gives way to a note. Never cuts a surrogate pair in two. */
export function cutMiddle(text: string, max: number): string {
  if (text.length <= max) return text;
  const note = (count: number) => `\n… [${count.toLocaleString("en")} characters left out] …\n`;
  const room = Math.max(0, max - note(text.length).length);
  const head = wholeTo(text, Math.floor(room * HEAD_SHARE));
  const tail = wholeFrom(text, text.length - (room - head));
  return `${text.slice(0, head)}${note(tail - head)}${text.slice(tail)}`;
}

/** The greatest length of strings with which everything fits; undefined when none does. */
function fitStrings(result: unknown, max: number): string | undefined {
  return largest(SHORTEST, max, (length) =>
    within(JSON.stringify(shorten(result, { length, items: Number.POSITIVE_INFINITY })), max),
  );
}

/** Short strings, and the greatest number of items of each list with which everything fits. */
function fitLists(result: unknown, max: number): string | undefined {
  return largest(2, max, (items) =>
    within(JSON.stringify(shorten(result, { length: SHORTEST, items })), max),
  );
}

/** For shapes that are neither long text nor long lists: the JSON itself becomes the text. */
function fitAnyhow(result: Record<string, unknown>, max: number): string {
  const whole = JSON.stringify(result);
  const error = typeof result.error === "string" ? cutMiddle(result.error, SHORTEST) : null;
  // Quoting can double a text, and control characters take six places.
  for (let length = max; ; length = Math.floor(length / 2)) {
    const text = JSON.stringify({ error, json: cutMiddle(whole, length) });
    if (text.length <= max || length === 0) return text;
  }
}

/** The answer for the greatest number in [least, most] that has one. More is never easier than less. */
function largest(
  least: number,
  most: number,
  answer: (value: number) => string | undefined,
): string | undefined {
  let best = answer(least);
  if (best === undefined) return undefined;
  for (let low = least, high = most; low < high; ) {
    const middle = Math.ceil((low + high) / 2);
    const found = answer(middle);
    if (found === undefined) high = middle - 1;
    else [best, low] = [found, middle];
  }
  return best;
}

function within(text: string, max: number): string | undefined {
  return text.length <= max ? text : undefined;
}

function shorten(value: unknown, to: { length: number; items: number }): unknown {
  if (typeof value === "string") return cutMiddle(value, to.length);
  if (Array.isArray(value)) return shortenList(value, to);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shorten(item, to)]));
}

function shortenList(list: readonly unknown[], to: { length: number; items: number }): unknown[] {
  const kept = (items: readonly unknown[]) => items.map((item) => shorten(item, to));
  if (list.length <= to.items) return kept(list);
  const head = Math.ceil(to.items * HEAD_SHARE);
  const tail = list.length - (to.items - head);
  return [...kept(list.slice(0, head)), `[${tail - head} items left out]`, ...kept(list.slice(tail))];
}

function wholeTo(text: string, end: number): number {
  return isLowSurrogate(text, end) ? end - 1 : end;
}

function wholeFrom(text: string, start: number): number {
  return isLowSurrogate(text, start) ? start + 1 : start;
}

/** Whether a cut before `index` would part a pair. */
function isLowSurrogate(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return index > 0 && code >= 0xdc00 && code <= 0xdfff;
}
