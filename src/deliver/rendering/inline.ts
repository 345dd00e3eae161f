// Markup inside a line: emphasis, code, links. Pure.
//
// I1. Linear in the line, whatever it holds: at most MAX_OPEN openers are kept, and backticks without a partner are known.
// I2. Only http, https, mailto and tel become links; any other address stays text.
// @source CommonMark 0.31 §6.2 (delimiter runs). CJK punctuation counts as a letter, or `**重点：**` would never close.

export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "strong" | "emphasis" | "strike"; children: readonly Inline[] }
  /** `isBare`: written as an address, without words of its own. */
  | { kind: "link"; url: string; isBare: boolean; children: readonly Inline[] };

/** Openers kept at once; more than this in one line is no prose. */
const MAX_OPEN = 64;

/** A stretch of the line that must not be cut: a code span or a link, whole. */
export interface Atom {
  start: number;
  end: number;
  node: Inline;
}

/** Parses one line. Never throws. */
export function parseInline(line: string): Inline[] {
  const parse = new LineParse();
  let at = 0;
  const atoms = inlineAtoms(line);
  for (const { start, end, node } of atoms) {
    readRuns(line, { from: at, to: start }, parse);
    parse.push(node);
    at = end;
  }
  readRuns(line, { from: at, to: line.length }, parse);
  return parse.finish();
}

/** Code spans and links of a line, in order. */
export function inlineAtoms(line: string): Atom[] {
  const atoms: Atom[] = [];
  const ticks = backtickRuns(line);
  for (let at = 0; at < line.length; ) {
    const found = atomAt(line, at, ticks);
    if (found) {
      atoms.push(found);
      at = found.end;
    } else at += line[at] === "\\" ? 2 : line[at] === "`" ? tickLength(line, at) : 1;
  }
  return atoms;
}

type Runs = ReadonlyMap<number, readonly number[]>;

function atomAt(line: string, at: number, ticks: Runs): Atom | undefined {
  switch (line[at]) {
    case "`":
      return codeAt(line, at, ticks);
    case "[":
      return linkAt(line, at, at);
    case "!":
      return line[at + 1] === "[" ? linkAt(line, at, at + 1) : undefined;
    case "<":
      return angleLinkAt(line, at);
    case "h":
    case "H":
      return bareLinkAt(line, at);
    default:
      return undefined;
  }
}

/** Where runs of each number of backticks stand. */
function backtickRuns(line: string): Runs {
  const runs = new Map<number, number[]>();
  for (const { index, 0: run } of line.matchAll(/`+/g)) {
    const known = runs.get(run.length);
    if (known) known.push(index);
    else runs.set(run.length, [index]);
  }
  return runs;
}

function tickLength(line: string, at: number): number {
  let end = at;
  while (line[end] === "`") end += 1;
  return end - at;
}

function codeAt(line: string, start: number, ticks: Runs): Atom | undefined {
  const length = tickLength(line, start);
  const close = firstAfter(ticks.get(length) ?? [], start);
  if (close === undefined) return undefined;
  const inner = line.slice(start + length, close);
  const isPadded = inner.startsWith(" ") && inner.endsWith(" ") && /[^ ]/.test(inner);
  return {
    start,
    end: close + length,
    node: { kind: "code", text: isPadded ? inner.slice(1, -1) : inner },
  };
}

/** Binary search: a line may be nothing but backticks. */
function firstAfter(sorted: readonly number[], position: number): number | undefined {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) > position) high = middle;
    else low = middle + 1;
  }
  return sorted[low];
}

const LABEL =
  /\[((?:[^[\]\\]|\\.){0,500})\]\(\s{0,3}(?:<([^<>\s]{1,2000})>|((?:[^()\s<]|\([^()\s]*\)){1,2000}))(?:\s+"[^"]{0,200}")?\s{0,3}\)/y;

/** `[words](url)`, and `![words](url)`, which is read as a link. */
function linkAt(line: string, start: number, bracket: number): Atom | undefined {
  LABEL.lastIndex = bracket;
  const match = LABEL.exec(line);
  const url = match ? linkUrl(match[2] ?? match[3] ?? "") : undefined;
  if (!match || url === undefined) return undefined;
  const words = parseWords(match[1] ?? "");
  const children: Inline[] = words.length > 0 ? words : [{ kind: "text", text: url }];
  return { start, end: LABEL.lastIndex, node: { kind: "link", url, isBare: words.length === 0, children } };
}

/** A link's words hold emphasis and code, but no further link. */
function parseWords(words: string): Inline[] {
  const parse = new LineParse();
  readRuns(words, { from: 0, to: words.length }, parse);
  return parse.finish();
}

function angleLinkAt(line: string, start: number): Atom | undefined {
  const match = /^<((?:https?:\/\/|mailto:)[^<>\s]{1,2000})>/i.exec(line.slice(start, start + 2_012));
  const url = match?.[1] && linkUrl(match[1]);
  if (!match || !url) return undefined;
  const node: Inline = { kind: "link", url, isBare: true, children: [{ kind: "text", text: url }] };
  return { start, end: start + match[0].length, node };
}

const BARE = /https?:\/\/[^\s<>"`\u3000-\u303f\uff00-\uff5e]{1,2000}/iy;

function bareLinkAt(line: string, start: number): Atom | undefined {
  if (/\w/.test(line[start - 1] ?? "")) return undefined;
  BARE.lastIndex = start;
  let text = BARE.exec(line)?.[0] ?? "";
  text = text.replace(/[*_~.,;:!?'\]]+$/, "");
  if (text.endsWith(")") && !text.includes("(")) text = text.replace(/[).,;:!?*_~]+$/, "");
  const url = linkUrl(text);
  if (url === undefined) return undefined;
  const node: Inline = { kind: "link", url, isBare: true, children: [{ kind: "text", text }] };
  return { start, end: start + text.length, node };
}

function linkUrl(text: string): string | undefined {
  if (!/^(?:https?:\/\/.|mailto:.|tel:.)/i.test(text) || !URL.canParse(text)) return undefined;
  // The parser's own spelling holds no quote, space or angle bracket in any part that a dialect could trip over.
  return new URL(text).href.replaceAll("'", "%27").replaceAll("|", "%7C").replaceAll("`", "%60");
}

const PUNCTUATION = /[!-/:-@[-`{-~\u2010-\u2027\u2030-\u205e\u00a1-\u00bf]/;

/** Reads the text between two atoms: escapes, delimiter runs, words. */
function readRuns(line: string, { from, to }: { from: number; to: number }, parse: LineParse): void {
  let plainFrom = from;
  const flush = (end: number) => {
    if (end > plainFrom) parse.push({ kind: "text", text: line.slice(plainFrom, end) });
  };
  for (let at = from; at < to; ) {
    const char = line[at] ?? "";
    if (char === "\\" && at + 1 < to && /[*_~`[\]]/.test(line[at + 1] ?? "")) {
      flush(at);
      parse.push({ kind: "text", text: line[at + 1] ?? "" });
      at += 2;
      plainFrom = at;
    } else if (char === "*" || char === "_" || char === "~") {
      flush(at);
      let end = at;
      while (end < to && line[end] === char) end += 1;
      parse.run(char, end - at, flanking(line, { start: at, end, char }));
      at = end;
      plainFrom = at;
    } else at += 1;
  }
  flush(to);
}

interface Flanking {
  canOpen: boolean;
  canClose: boolean;
}

function flanking(
  line: string,
  { start, end, char }: { start: number; end: number; char: string },
): Flanking {
  const before = line[start - 1] ?? " ";
  const after = line[end] ?? " ";
  const isLeft =
    !/\s/.test(after) && (!PUNCTUATION.test(after) || /\s/.test(before) || PUNCTUATION.test(before));
  const isRight =
    !/\s/.test(before) && (!PUNCTUATION.test(before) || /\s/.test(after) || PUNCTUATION.test(after));
  if (char !== "_") return { canOpen: isLeft, canClose: isRight };
  return {
    canOpen: isLeft && (!isRight || PUNCTUATION.test(before)),
    canClose: isRight && (!isLeft || PUNCTUATION.test(after)),
  };
}

interface Frame {
  char: string;
  length: number;
  canBoth: boolean;
  nodes: Inline[];
}

/** The openers that still wait for their closers, and what stands inside each. */
class LineParse {
  readonly #frames: Frame[] = [{ char: "", length: 0, canBoth: false, nodes: [] }];

  push(node: Inline): void {
    this.#top().push(node);
  }

  run(char: string, length: number, { canOpen, canClose }: Flanking): void {
    // One tilde is "about"; three or more are no markup inside a line. Long rows of stars are drawings.
    const isMarkup = char === "~" ? length === 2 : length <= 3;
    const left = isMarkup && canClose ? this.#close(char, length, canOpen) : length;
    if (left === 0) return;
    if (isMarkup && canOpen && this.#frames.length < MAX_OPEN)
      this.#frames.push({ char, length: left, canBoth: canClose, nodes: [] });
    else this.push({ kind: "text", text: char.repeat(left) });
  }

  /** Openers without a closer are text. */
  finish(): Inline[] {
    this.#flattenAbove(0);
    return mergeText(this.#frames[0]?.nodes ?? []);
  }

  /** Closes as many openers as the run reaches; returns what is left of it. */
  #close(char: string, length: number, canOpen: boolean): number {
    let left = length;
    while (left > 0) {
      const index = this.#openerOf(char, left, canOpen);
      const frame = this.#frames[index];
      if (!frame) return left;
      this.#flattenAbove(index);
      const used = Math.min(frame.length, left, 2);
      const kind = char === "~" ? "strike" : used === 2 ? "strong" : "emphasis";
      const node: Inline = { kind, children: mergeText(frame.nodes) };
      frame.nodes = [node];
      frame.length -= used;
      left -= used;
      if (frame.length === 0) {
        this.#frames.length = index;
        this.push(node);
      }
    }
    return 0;
  }

  #openerOf(char: string, length: number, canOpen: boolean): number {
    for (let index = this.#frames.length - 1; index > 0; index--) {
      const frame = this.#frames[index];
      if (frame?.char !== char || frame.nodes.length === 0) continue;
      // The rule of three: `*a**b*` is one emphasis with stars in it, not two halves.
      const isThird = (frame.canBoth || canOpen) && (frame.length + length) % 3 === 0;
      if (!isThird || (frame.length % 3 === 0 && length % 3 === 0)) return index;
    }
    return -1;
  }

  #flattenAbove(index: number): void {
    const nodes = this.#frames[index]?.nodes;
    for (const { char, length, nodes: inner } of this.#frames.splice(index + 1)) {
      nodes?.push({ kind: "text", text: char.repeat(length) });
      for (const node of inner) nodes?.push(node);
    }
  }

  #top(): Inline[] {
    return this.#frames.at(-1)?.nodes ?? [];
  }
}

function mergeText(nodes: readonly Inline[]): Inline[] {
  const merged: Inline[] = [];
  for (const node of nodes) {
    const last = merged.at(-1);
    if (node.kind === "text" && last?.kind === "text")
      merged[merged.length - 1] = { kind: "text", text: last.text + node.text };
    else merged.push(node);
  }
  return merged;
}
