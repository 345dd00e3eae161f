// Plain text: what a reader sees, with addresses written out. Also what rejected markup falls back to. Pure.

import { parseMarkdown } from "./markdown.ts";
import { type RenderOptions, type Spelling, spellBlocks } from "./write.ts";

const PLAIN: Spelling = {
  text: (text) => text,
  code: (text) => text,
  wrap: (_kind, inner) => inner,
  link: ({ url, inner, isBare }) => (isBare || inner === url ? inner : `${inner} (${url})`),
  heading: (_level, inner) => inner,
  item: ({ indent, marker, inner }) => `${" ".repeat(indent)}${marker === "•" ? "-" : marker} ${inner}`,
  quote: (inner) => inner.replace(/^/gm, "> "),
  fence: (_language, text) => text,
  rule: () => "----",
};

/** Every word of the text and none of its markup. */
export function toPlain(markdown: string, options: RenderOptions = {}): string {
  return spellBlocks(parseMarkdown(markdown), PLAIN, options);
}
