// A page before it is parsed: without what has no text, and no larger or deeper than a parser bears. Pure.
//
// I1. Linear in the page's length, whatever is in it: a page must not stop a node's event loop.

/** Characters handed to the parser: about half a second of work at worst. */
const MAX_CHARACTERS = 500_000;
/** Open elements. Parsers take time in proportion to depth for each element. */
const MAX_DEPTH = 2_000;
/** Open elements whose end tag authors leave out: most of these are closed by the next one. */
const MAX_LOOSE_DEPTH = 20_000;

/** Dropped together with what is in them. */
const TEXTLESS = new Set(["script", "style", "noscript", "template", "svg", "iframe", "object", "canvas"]);
const VOID = new Set("area base br col embed hr img input link meta param source track wbr".split(" "));
const LOOSE = new Set("p li dt dd tr td th thead tbody tfoot option optgroup colgroup rp rt".split(" "));

export interface SlimPage {
  html: string;
  /** Something was left out for its size or depth. */
  isCut: boolean;
}

export function slimHtml(html: string): SlimPage {
  // Only ASCII is folded: places in both texts must stay the same.
  const folded = html.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  const kept: string[] = [];
  const depth = { strict: 0, loose: 0 };
  let size = 0;
  let at = 0;
  while (at < html.length) {
    const end = html.indexOf("<", at);
    const stop = end < 0 ? html.length : end;
    size += stop - at;
    kept.push(html.slice(at, stop));
    if (end < 0) break;
    if (size > MAX_CHARACTERS) return { html: kept.join("").slice(0, MAX_CHARACTERS), isCut: true };
    const tag = tagAt(folded, end);
    if (!tag.isDropped) {
      kept.push(html.slice(end, tag.end));
      size += tag.end - end;
      countTag(depth, tag);
      if (depth.strict > MAX_DEPTH || depth.loose > MAX_LOOSE_DEPTH)
        return { html: kept.join(""), isCut: true };
    }
    at = tag.end;
  }
  return { html: kept.join(""), isCut: false };
}

interface Tag {
  name: string;
  isClosing: boolean;
  isDropped: boolean;
  /** Behind its last character; for a dropped one, behind all of it. */
  end: number;
}

/** What begins with the `<` at `start`. Without an end it goes to the end of the page, as parsers see it. */
function tagAt(folded: string, start: number): Tag {
  if (folded.startsWith("<!--", start))
    return { name: "", isClosing: false, isDropped: true, end: behind(folded, "-->", start + 4) };
  const name = /^[a-z][a-z0-9:-]{0,40}/.exec(folded.slice(start + 1, start + 43))?.[0];
  if (name !== undefined && TEXTLESS.has(name)) {
    const close = folded.indexOf(`</${name}`, start);
    const end = close < 0 ? folded.length : behind(folded, ">", close);
    return { name, isClosing: false, isDropped: true, end };
  }
  if (name !== undefined)
    return { name, isClosing: false, isDropped: false, end: behind(folded, ">", start) };
  const closing = /^\/([a-z][a-z0-9:-]{0,40})/.exec(folded.slice(start + 1, start + 44))?.[1];
  // A lone `<` is text.
  if (closing === undefined) return { name: "", isClosing: false, isDropped: false, end: start + 1 };
  return { name: closing, isClosing: true, isDropped: false, end: behind(folded, ">", start) };
}

function behind(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from);
  return found < 0 ? text.length : found + mark.length;
}

function countTag(depth: { strict: number; loose: number }, { name, isClosing }: Tag): void {
  if (name === "" || VOID.has(name)) return;
  const kind = LOOSE.has(name) ? "loose" : "strict";
  depth[kind] = Math.max(0, depth[kind] + (isClosing ? -1 : 1));
}
