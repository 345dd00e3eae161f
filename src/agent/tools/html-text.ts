// A page as text: its main content, links as [n]. Loaded by `await import` only: the parser is not small, and the build
// makes a file of its own from this module.
//
// I1. What a person would not see is not shown: scripts, styles, hidden elements (that is where pages hide orders).
// I2. No page can hold up the process or end it: its size and depth are bounded before, and no formatter counts on what
//     it claims (a `colspan` of a million).

import { convert, type DomNode, type FormatCallback, type SelectorDefinition } from "html-to-text";
import { slimHtml } from "./slim-html.ts";

export interface PageText {
  title: string | undefined;
  text: string;
  /** Addresses; the first one is [1] in the text. */
  links: string[];
  /** The page was too large or too deep to be read whole. */
  isCut: boolean;
}

/** Deeper elements are left out: no person's page has them, and recursion has an end. */
const MAX_DEPTH = 200;
const MAX_LINKS = 1_000;
/** A main part with less text than this is a shell that a script would fill: the whole page says more. */
const MIN_MAIN = 200;

const SKIPPED = [
  "head",
  "video",
  "audio",
  "select",
  "button",
  "[hidden]",
  '[aria-hidden="true"]',
  '[style*="display:none"]',
  '[style*="display: none"]',
  '[style*="visibility:hidden"]',
  '[style*="visibility: hidden"]',
];
/** Around the content, not in it; left out of a whole page too. */
const FRAME = ["nav", "aside", "footer", '[role="navigation"]', '[role="banner"]', '[role="contentinfo"]'];

/** Never throws for what a page can be. `base` resolves its relative links. */
export function pageText(page: string, base: URL): PageText {
  const { html, isCut } = slimHtml(page);
  const main = render(html, base, ["main", '[role="main"]', "article"]);
  const shown = main.text.length >= MIN_MAIN ? main : render(html, base, ["body"]);
  return { title: titleOf(html), ...shown, isCut };
}

function render(html: string, base: URL, baseElements: string[]): Pick<PageText, "text" | "links"> {
  const numbers = new Map<string, number>();
  const text = convert(html, {
    wordwrap: false,
    limits: { maxDepth: MAX_DEPTH, ellipsis: "" },
    baseElements: { selectors: baseElements, orderBy: "occurrence", returnDomByDefault: true },
    formatters: { numberedLink: linkFormatter(numbers, base), tableRow: formatRow },
    selectors: selectors(),
  });
  const lines = text.split("\n").map((line) => line.trimEnd());
  return {
    text: lines
      .join("\n")
      .replace(/\n{3,}/g, "\n\n")
      .trim(),
    links: [...numbers.keys()],
  };
}

function selectors(): SelectorDefinition[] {
  const headings = ["h1", "h2", "h3", "h4", "h5", "h6"];
  return [
    { selector: "*", format: "inline" },
    { selector: "a", format: "numberedLink" },
    { selector: "img", format: "skip" },
    { selector: "table", format: "block", options: { leadingLineBreaks: 2, trailingLineBreaks: 2 } },
    { selector: "tr", format: "tableRow" },
    ...headings.map((selector) => ({ selector, options: { uppercase: false } })),
    ...[...SKIPPED, ...FRAME].map((selector) => ({ selector, format: "skip" })),
  ];
}

/** A row is a line, its cells between bars: what a table says survives, whatever its layout was. */
const formatRow: FormatCallback = (element, walk, builder) => {
  builder.openBlock({ leadingLineBreaks: 1 });
  const cells = (element.children ?? []).filter(({ name }: DomNode) => name === "td" || name === "th");
  for (const [index, cell] of cells.entries()) {
    if (index > 0) builder.addInline(" | ");
    walk([cell], builder);
  }
  builder.closeBlock({ trailingLineBreaks: 1 });
};

/** The link's own text, then its number; equal addresses share one. */
function linkFormatter(numbers: Map<string, number>, base: URL): FormatCallback {
  return (element, walk, builder) => {
    walk(element.children, builder);
    const attributes: unknown = element.attribs;
    const href =
      typeof attributes === "object" && attributes !== null && "href" in attributes ? attributes.href : "";
    const address = addressOf(String(href), base);
    if (address === undefined) return;
    if (!numbers.has(address) && numbers.size < MAX_LINKS) numbers.set(address, numbers.size + 1);
    const number = numbers.get(address);
    if (number !== undefined) builder.addInline(`[${number}]`, { noWordTransform: true });
  };
}

/** Undefined for what leads nowhere else. */
function addressOf(href: string, base: URL): string | undefined {
  if (href === "" || href.startsWith("#") || !URL.canParse(href, base.href)) return undefined;
  const url = new URL(href, base.href);
  return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : undefined;
}

function titleOf(html: string): string | undefined {
  const source = /<title\b[^>]{0,200}>([^<]{0,2000})<\/title>/i.exec(html)?.[1];
  const title = source === undefined ? "" : convert(`<p>${source}</p>`, { wordwrap: false });
  return title.replace(/\s+/g, " ").trim().slice(0, 300) || undefined;
}
