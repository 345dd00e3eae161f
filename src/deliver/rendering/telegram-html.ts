// Telegram's HTML mode: chosen over MarkdownV2, since three characters to escape cannot go wrong and eighteen can. Pure.
//
// I1. Only tags the Bot API names, always balanced; a quote holds no quote.
// @source Telegram Bot API, "HTML style" and "Message entity" (core.telegram.org/bots/api#html-style).

import { type Block, parseMarkdown } from "./markdown.ts";
import { type RenderOptions, type Spelling, spellBlocks } from "./write.ts";

const TAGS = { strong: "b", emphasis: "i", strike: "s" } as const;

const TELEGRAM: Spelling = {
  text: escapeHtml,
  code: (text) => (text === "" ? "" : `<code>${escapeHtml(text)}</code>`),
  wrap: (kind, inner) => (inner === "" ? "" : `<${TAGS[kind]}>${inner}</${TAGS[kind]}>`),
  link: ({ url, inner }) => `<a href="${escapeHtml(url)}">${inner}</a>`,
  heading: (_level, inner) => (inner === "" ? "" : `<b>${inner}</b>`),
  item: ({ indent, marker, inner }) => `${" ".repeat(indent)}${marker} ${inner}`,
  quote: (inner) => (inner.trim() === "" ? inner : `<blockquote>${inner}</blockquote>`),
  fence: (language, text) => {
    if (text.trim() === "") return "";
    const code = escapeHtml(text);
    return language === ""
      ? `<pre>${code}</pre>`
      : `<pre><code class="language-${escapeHtml(language)}">${code}</code></pre>`;
  },
  rule: () => "———",
};

export function toTelegramHtml(markdown: string, options: RenderOptions = {}): string {
  return spellBlocks(parseMarkdown(markdown).map(flatQuote), TELEGRAM, options);
}

/** What Telegram counts: "characters after entities parsing". */
export function visibleLength(html: string): number {
  return html.replace(/<[^<>]*>/g, "").replace(/&(?:lt|gt|amp|quot);/g, "&").length;
}

/** The five characters that mean something in HTML text or in a quoted attribute. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** Quotes cannot be nested: an inner one keeps its sign. */
function flatQuote(block: Block): Block {
  if (block.kind !== "quote") return block;
  const blocks = block.blocks.flatMap((inner): Block[] =>
    inner.kind === "quote" ? insideQuote(inner.blocks) : [inner],
  );
  return { kind: "quote", blocks };
}

function insideQuote(blocks: readonly Block[]): Block[] {
  return blocks.flatMap((block): Block[] => {
    if (block.kind === "quote") return insideQuote(block.blocks);
    if (block.kind !== "line") return [block];
    return [{ kind: "line", inlines: [{ kind: "text", text: "> " }, ...block.inlines] }];
  });
}
