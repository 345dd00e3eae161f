// Walks blocks and nodes for a dialect: a dialect says how each is spelled, this says what comes where. Pure.
//
// I1. Mass mentions are broken here, before any dialect sees the text, so no dialect can forget it.
// I2. A table becomes a fence of aligned columns where a dialect has none.

import type { Inline } from "./inline.ts";
import type { Block } from "./markdown.ts";
import { breakMentions } from "./mentions.ts";

export interface RenderOptions {
  /** Whether `@everyone`, `@channel` and their like may ring. Default false. */
  allowMentions?: boolean | undefined;
}

/** How a dialect spells what stands in a line. Every string it is given is unescaped, or made by itself. */
export interface InlineSpelling {
  text(text: string): string;
  code(text: string): string;
  wrap(kind: "strong" | "emphasis" | "strike", inner: string): string;
  link(link: { url: string; inner: string; isBare: boolean }): string;
}

export interface Spelling extends InlineSpelling {
  heading(level: number, inner: string): string;
  item(item: { indent: number; marker: string; inner: string }): string;
  /** `inner` is the quote's content, its lines parted by `\n`. */
  quote(inner: string): string;
  fence(language: string, text: string): string;
  rule(): string;
  /** Default: a fence. */
  table?(rows: readonly (readonly string[])[]): string;
}

export function spellInlines(
  nodes: readonly Inline[],
  spelling: InlineSpelling,
  options: RenderOptions,
): string {
  const clean = options.allowMentions ? (text: string) => text : breakMentions;
  return nodes
    .map((node) => {
      switch (node.kind) {
        case "text":
          return spelling.text(clean(node.text));
        case "code":
          return spelling.code(clean(node.text));
        case "link": {
          // An address that is its own words must stay what it is.
          const inner = spellInlines(
            node.children,
            spelling,
            node.isBare ? { allowMentions: true } : options,
          );
          return spelling.link({ url: node.url, inner, isBare: node.isBare });
        }
        default:
          return spelling.wrap(node.kind, spellInlines(node.children, spelling, options));
      }
    })
    .join("");
}

/** Every block on its own lines. */
export function spellBlocks(blocks: readonly Block[], spelling: Spelling, options: RenderOptions): string {
  return blocks.map((block) => spellBlock(block, spelling, options)).join("\n");
}

function spellBlock(block: Block, spelling: Spelling, options: RenderOptions): string {
  const inner = (nodes: readonly Inline[]) => spellInlines(nodes, spelling, options);
  switch (block.kind) {
    case "line":
      return inner(block.inlines);
    case "heading":
      return spelling.heading(block.level, inner(block.inlines));
    case "item":
      return spelling.item({ indent: block.indent, marker: block.marker, inner: inner(block.inlines) });
    case "quote":
      return spelling.quote(spellBlocks(block.blocks, spelling, options));
    case "fence":
      return spelling.fence(block.language, options.allowMentions ? block.text : breakMentions(block.text));
    case "rule":
      return spelling.rule();
    case "table": {
      if (spelling.table) return spelling.table(block.rows.map((cells) => cells.map(inner)));
      const text = alignedTable(block.rows);
      return spelling.fence("", options.allowMentions ? text : breakMentions(text));
    }
  }
}

/** `wrap` around the words alone: a mark beside a space opens nothing. */
export function wrapWords(inner: string, wrap: (words: string) => string): string {
  const words = inner.trim();
  if (words === "") return inner;
  const start = inner.length - inner.trimStart().length;
  return `${inner.slice(0, start)}${wrap(words)}${inner.slice(start + words.length)}`;
}

/** A longer cell stands out of its column: padding every other to it could be the square of the text. */
const MAX_COLUMN_WIDTH = 80;

/** Columns padded to equal width, for a fixed-width font. */
export function alignedTable(rows: readonly (readonly (readonly Inline[])[])[]): string {
  const texts = rows.map((cells) => cells.map(inlineText));
  const widths: number[] = [];
  for (const cells of texts)
    for (const [column, cell] of cells.entries())
      widths[column] = Math.max(widths[column] ?? 0, Math.min(widthOf(cell), MAX_COLUMN_WIDTH));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell + " ".repeat(Math.max(0, (widths[column] ?? 0) - widthOf(cell))))
      .join(" | ")
      .trimEnd();
  const [head = [], ...body] = texts;
  return [line(head), widths.map((width) => "-".repeat(width)).join("-|-"), ...body.map(line)].join("\n");
}

/** Columns of a terminal: East Asian characters take two. */
function widthOf(text: string): number {
  let width = 0;
  for (const char of text)
    width +=
      /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/.test(
        char,
      )
        ? 2
        : 1;
  return width;
}

/** The text of these nodes without their markup; an address that is not its own words is written out. */
function inlineText(nodes: readonly Inline[]): string {
  return nodes
    .map((node) => {
      if ("text" in node) return node.text;
      const inner = inlineText(node.children);
      return node.kind !== "link" || node.isBare || inner === node.url ? inner : `${inner} (${node.url})`;
    })
    .join("");
}
