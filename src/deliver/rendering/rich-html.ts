// HTML with lists, tables and headings: for Matrix and for mail. Pure.
//
// I1. Only tags that Matrix names as safe, no attribute but `href`, `start` and a fence's `class`; everything else is escaped.
// @source Matrix client-server API 1.13, "m.room.message msgtypes" (permitted tags).

import type { Inline } from "./inline.ts";
import { type Block, parseMarkdown } from "./markdown.ts";
import { breakMentions } from "./mentions.ts";
import { escapeHtml } from "./telegram-html.ts";
import { type InlineSpelling, type RenderOptions, spellInlines } from "./write.ts";

const TAGS = { strong: "strong", emphasis: "em", strike: "del" } as const;

const INLINE: InlineSpelling = {
  text: escapeHtml,
  code: (text) => `<code>${escapeHtml(text)}</code>`,
  wrap: (kind, inner) => `<${TAGS[kind]}>${inner}</${TAGS[kind]}>`,
  link: ({ url, inner }) => `<a href="${escapeHtml(url)}">${inner}</a>`,
};

type Item = Extract<Block, { kind: "item" }>;

export function toRichHtml(markdown: string, options: RenderOptions = {}): string {
  return blocksHtml(parseMarkdown(markdown), options);
}

function blocksHtml(blocks: readonly Block[], options: RenderOptions): string {
  const html: string[] = [];
  for (let index = 0; index < blocks.length; ) {
    const kind = blocks[index]?.kind;
    let end = index + 1;
    if (kind === "line" || kind === "item") while (blocks[end]?.kind === kind) end += 1;
    html.push(groupHtml(blocks.slice(index, end), options));
    index = end;
  }
  return html.filter((part) => part !== "").join("\n");
}

function groupHtml(group: readonly Block[], options: RenderOptions): string {
  const [first] = group;
  const inner = (nodes: readonly Inline[]) => spellInlines(nodes, INLINE, options);
  switch (first?.kind) {
    case "line":
      return paragraphs(group.map((block) => (block.kind === "line" ? inner(block.inlines) : "")));
    case "item":
      return listHtml(
        group.filter((block): block is Item => block.kind === "item"),
        inner,
      );
    case "heading":
      return `<h${first.level}>${inner(first.inlines)}</h${first.level}>`;
    case "quote":
      return `<blockquote>${blocksHtml(first.blocks, options)}</blockquote>`;
    case "fence": {
      const text = escapeHtml(options.allowMentions ? first.text : breakMentions(first.text));
      const language = first.language === "" ? "" : ` class="language-${escapeHtml(first.language)}"`;
      return `<pre><code${language}>${text}</code></pre>`;
    }
    case "table":
      return tableHtml(first.rows.map((cells) => cells.map(inner)));
    case "rule":
      return "<hr>";
    case undefined:
      return "";
  }
}

/** A blank line parts paragraphs; a line break inside one stays a line break. */
function paragraphs(lines: readonly string[]): string {
  return lines
    .join("\n")
    .split(/\n(?:[ \t]*\n)+/)
    .map((paragraph) => paragraph.replace(/^\n+|\n+$/g, ""))
    .filter((paragraph) => paragraph.trim() !== "")
    .map((paragraph) => `<p>${paragraph.replaceAll("\n", "<br>\n")}</p>`)
    .join("\n");
}

/** Deeper items belong to the item before them. */
function listHtml(items: readonly Item[], inner: (nodes: readonly Inline[]) => string): string {
  const [first] = items;
  if (!first) return "";
  const isNumbered = first.marker !== "•";
  const lines: string[] = [];
  for (let index = 0; index < items.length; ) {
    const item = items[index];
    let end = index + 1;
    while (end < items.length && (items[end]?.indent ?? 0) > first.indent) end += 1;
    const deeper = listHtml(items.slice(index + 1, end), inner);
    lines.push(`<li>${inner(item?.inlines ?? [])}${deeper}</li>`);
    index = end;
  }
  const number = Number.parseInt(first.marker, 10);
  const start = isNumbered && number !== 1 ? ` start="${number}"` : "";
  const tag = isNumbered ? "ol" : "ul";
  return `<${tag}${start}>${lines.join("")}</${tag}>`;
}

function tableHtml(rows: readonly (readonly string[])[]): string {
  const [head = [], ...body] = rows;
  const row = (cells: readonly string[], tag: string) =>
    `<tr>${cells.map((cell) => `<${tag}>${cell}</${tag}>`).join("")}</tr>`;
  const content = body.length === 0 ? "" : `<tbody>${body.map((cells) => row(cells, "td")).join("")}</tbody>`;
  return `<table><thead>${row(head, "th")}</thead>${content}</table>`;
}
