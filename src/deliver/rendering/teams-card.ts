// Microsoft Teams: an adaptive card's body. Its text knows bold, italic, lists and links, and nothing else. Pure.
//
// @source Adaptive Cards schema 1.4; Teams "Format cards" (subset of Markdown in TextBlock).

import type { Inline } from "./inline.ts";
import { type Block, parseMarkdown } from "./markdown.ts";
import { escapeBackslashes } from "./markdown-dialects.ts";
import { breakMentions } from "./mentions.ts";
import { alignedTable, type InlineSpelling, type RenderOptions, spellInlines, wrapWords } from "./write.ts";

export interface TextBlock {
  type: "TextBlock";
  text: string;
  wrap: true;
  weight?: "Bolder";
  size?: "Medium" | "Large";
  fontType?: "Monospace";
  isSubtle?: true;
  separator?: true;
}

const MARKS = { strong: "**", emphasis: "_", strike: "" } as const;

const INLINE: InlineSpelling = {
  text: escapeCard,
  code: escapeCard,
  wrap: (kind, inner) => wrapWords(inner, (words) => `${MARKS[kind]}${words}${MARKS[kind]}`),
  link: ({ url, inner }) => `[${inner}](${url.replaceAll("(", "%28").replaceAll(")", "%29")})`,
};

/** The card's body, one text block for each stretch that looks alike. */
export function toTeamsBody(markdown: string, options: RenderOptions = {}): TextBlock[] {
  return bodyOf(parseMarkdown(markdown), options);
}

function bodyOf(blocks: readonly Block[], options: RenderOptions): TextBlock[] {
  const body: TextBlock[] = [];
  let lines: string[] = [];
  const flush = () => {
    const text = lines.join("").trim();
    if (text !== "") body.push({ type: "TextBlock", text, wrap: true });
    lines = [];
  };
  for (const block of blocks) {
    if (block.kind === "line") lines.push(`${spellInlines(block.inlines, INLINE, options)}\n\n`);
    else if (block.kind === "item") lines.push(itemText(block, options));
    else {
      flush();
      body.push(...ownBlocks(block, options));
    }
  }
  flush();
  return body;
}

function itemText(
  { indent, marker, inlines }: Extract<Block, { kind: "item" }>,
  options: RenderOptions,
): string {
  const sign = marker === "•" ? "-" : marker;
  return `${" ".repeat(indent)}${sign} ${spellInlines(inlines, INLINE, options)}\n`;
}

function ownBlocks(block: Exclude<Block, { kind: "line" | "item" }>, options: RenderOptions): TextBlock[] {
  const clean = (text: string) => (options.allowMentions ? text : breakMentions(text));
  switch (block.kind) {
    case "heading":
      return textBlock(headingText(block.inlines, options), {
        weight: "Bolder",
        size: block.level === 1 ? "Large" : "Medium",
      });
    case "quote":
      return bodyOf(block.blocks, options).map((inner) => ({ ...inner, isSubtle: true }));
    case "fence":
      return textBlock(escapeCard(clean(block.text)).replaceAll("\n", "\n\n"), { fontType: "Monospace" });
    case "table":
      return textBlock(escapeCard(clean(alignedTable(block.rows))).replaceAll("\n", "\n\n"), {
        fontType: "Monospace",
      });
    case "rule":
      return [{ type: "TextBlock", text: " ", wrap: true, separator: true }];
  }
}

function headingText(inlines: readonly Inline[], options: RenderOptions): string {
  return spellInlines(inlines, { ...INLINE, wrap: (_kind, inner) => inner }, options);
}

function textBlock(text: string, style: Omit<TextBlock, "type" | "text" | "wrap">): TextBlock[] {
  return text.trim() === "" ? [] : [{ type: "TextBlock", text, wrap: true, ...style }];
}

function escapeCard(text: string): string {
  return escapeBackslashes(text).replace(/[*[\]]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, "\\$&");
}
