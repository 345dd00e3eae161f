// The one internal Markdown that every platform's dialect is written from: parsed line by line. Pure.
//
// I1. A line break is a line break: messages are chats and command output, not books, so lines are never joined.
// I2. What is no markup by CommonMark's flanking rules stays as it was written, character for character.
// I3. No markup reaches over a line's end but a fence, so a text can be cut between any two lines.
// I4. A line may hold a lone \r or U+2028: a dot of a pattern must take them, or a line that begins like a quote is none.
// @source CommonMark 0.31 (fences, headings, quotes, lists, rules); GitHub's tables.

import { type Inline, parseInline } from "./inline.ts";

export type Block =
  | { kind: "line"; inlines: readonly Inline[] }
  | { kind: "heading"; level: number; inlines: readonly Inline[] }
  /** `marker` is `•` or a number with its dot; `indent` counts the spaces before it. */
  | { kind: "item"; indent: number; marker: string; inlines: readonly Inline[] }
  | { kind: "quote"; blocks: readonly Block[] }
  | { kind: "fence"; language: string; text: string }
  | { kind: "table"; rows: readonly (readonly (readonly Inline[])[])[] }
  | { kind: "rule" };

/** Deeper quotes stay text: nobody reads them, and an attacker could nest them without end. */
const MAX_QUOTE_DEPTH = 4;

/** Parses any text. Never throws; a fence that is not closed runs to the end. */
export function parseMarkdown(text: string, depth = 0): Block[] {
  const lines = text.split(/\r?\n/);
  const blocks: Block[] = [];
  for (let index = 0; index < lines.length; ) {
    const { block, next } = readBlock(lines, index, depth);
    blocks.push(block);
    index = next;
  }
  return blocks;
}

/** A fence's opening line, or undefined. */
export function fenceOpening(line: string): { mark: string; language: string } | undefined {
  const [, mark, info] = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})[ \t]*(.*)$/s.exec(line) ?? [];
  if (mark === undefined || info === undefined) return undefined;
  return { mark, language: /^[\w+#.-]{1,40}/.exec(info)?.[0] ?? "" };
}

/** Whether this line closes a fence that `mark` opened. */
export function closesFence(line: string, mark: string): boolean {
  const closing = /^ {0,3}(`{3,}|~{3,})[ \t]*$/.exec(line)?.[1];
  return closing !== undefined && closing[0] === mark[0] && closing.length >= mark.length;
}

type Read = { block: Block; next: number };

function readBlock(lines: readonly string[], index: number, depth: number): Read {
  const line = lines[index] ?? "";
  const fence = fenceOpening(line);
  if (fence) return readFence(lines, index, fence);
  const quoted = depth < MAX_QUOTE_DEPTH && /^ {0,3}>/.test(line);
  if (quoted) return readQuote(lines, index, depth);
  if (line.includes("|") && isTableRule(lines[index + 1])) return readTable(lines, index);
  return { block: readLine(line), next: index + 1 };
}

function readLine(line: string): Block {
  const heading = /^ {0,3}(#{1,6})[ \t]+(\S.*)$/s.exec(line);
  if (heading?.[1] !== undefined && heading[2] !== undefined) {
    return { kind: "heading", level: heading[1].length, inlines: parseInline(headingTitle(heading[2])) };
  }
  if (/^ {0,3}(?:(?:-[ \t]*){3,}|(?:_[ \t]*){3,}|(?:\*[ \t]*){3,})$/.test(line)) return { kind: "rule" };
  const item = /^([ \t]*)([-*+]|\d{1,9}[.)])[ \t]+(\S.*)$/s.exec(line);
  if (item?.[2] !== undefined) {
    const [, spaces = "", marker, rest = ""] = item;
    const indent = spaces.replaceAll("\t", "    ").length;
    return {
      kind: "item",
      indent,
      marker: marker.length === 1 ? "•" : marker.replace(")", "."),
      inlines: parseInline(rest),
    };
  }
  return { kind: "line", inlines: parseInline(line) };
}

/** Without the closing signs, which a blank must part from the words. */
function headingTitle(text: string): string {
  const title = text.trimEnd();
  const signs = /(?<!#)#+$/.exec(title);
  return signs && /[ \t]/.test(title[signs.index - 1] ?? "") ? title.slice(0, signs.index).trimEnd() : title;
}

function readFence(
  lines: readonly string[],
  index: number,
  { mark, language }: { mark: string; language: string },
): Read {
  let end = index + 1;
  while (end < lines.length && !closesFence(lines[end] ?? "", mark)) end += 1;
  const text = lines.slice(index + 1, end).join("\n");
  return { block: { kind: "fence", language, text }, next: Math.min(end + 1, lines.length) };
}

function readQuote(lines: readonly string[], index: number, depth: number): Read {
  const inner: string[] = [];
  let next = index;
  for (; next < lines.length; next++) {
    const line = /^ {0,3}> ?(.*)$/s.exec(lines[next] ?? "")?.[1];
    if (line === undefined) break;
    inner.push(line);
  }
  return { block: { kind: "quote", blocks: parseMarkdown(inner.join("\n"), depth + 1) }, next };
}

function isTableRule(line: string | undefined): boolean {
  return (
    line !== undefined && /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+(?:\|[ \t]*)?$/.test(line)
  );
}

function readTable(lines: readonly string[], index: number): Read {
  const rows = [cellsOf(lines[index] ?? "")];
  let next = index + 2;
  for (; next < lines.length && (lines[next] ?? "").includes("|"); next++)
    rows.push(cellsOf(lines[next] ?? ""));
  return { block: { kind: "table", rows }, next };
}

function cellsOf(line: string): Inline[][] {
  const bare = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  return bare.split(/(?<!\\)\|/).map((cell) => parseInline(cell.replaceAll("\\|", "|").trim()));
}
