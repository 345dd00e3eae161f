// Platforms that read Markdown of their own: each a row of differences from CommonMark. Pure.
//
// I1. Text that was no markup to us is none to them: where a platform knows backslashes, what could format is escaped.
// @source Discord "Markdown Text 101"; Mattermost "Format text"; Feishu card "markdown" element; DingTalk robot
//         "markdown" message; WeCom group robot "markdown" message.

import { parseMarkdown } from "./markdown.ts";
import { breakBrackets } from "./mentions.ts";
import { type RenderOptions, type Spelling, spellBlocks, wrapWords } from "./write.ts";

interface Differences {
  /** How plain text is protected. */
  escape: (text: string) => string;
  hasHeadings: boolean;
  hasTables: boolean;
  /** Undefined = struck text is left as it is. */
  strike: string | undefined;
  hasFences: boolean;
  hasCode: boolean;
  /** Between two lines: some join lines that have only one break. */
  lineBreak: "\n" | "\n\n";
}

function spelling(how: Differences): Spelling {
  const marks = { strong: "**", emphasis: "*", strike: how.strike ?? "" };
  const bold = (inner: string) => (inner.trim() === "" ? inner : `**${inner.replaceAll("**", "").trim()}**`);
  return {
    text: how.escape,
    code: (text) => (how.hasCode ? codeSpan(text) : how.escape(text)),
    wrap: (kind, inner) => wrapWords(inner, (words) => `${marks[kind]}${words}${marks[kind]}`),
    link: ({ url, inner, isBare }) =>
      isBare ? url : `[${inner}](${url.replace(/[()]/g, encodeParenthesis)})`,
    heading: (level, inner) => (how.hasHeadings ? `${"#".repeat(level)} ${inner}` : bold(inner)),
    item: ({ indent, marker, inner }) => `${" ".repeat(indent)}${marker === "•" ? "-" : marker} ${inner}`,
    quote: (inner) => inner.replace(/^/gm, "> "),
    fence: (language, text) => {
      if (!how.hasFences) return text.replace(/^/gm, "> ");
      const mark = "`".repeat(Math.max(3, longestTicks(text) + 1));
      return `${mark}${language}\n${text}\n${mark}`;
    },
    rule: () => "---",
    ...(how.hasTables && {
      table: ([head = [], ...body]: readonly (readonly string[])[]) =>
        [head, head.map(() => "---"), ...body]
          .map((cells) => `| ${cells.map(cellText).join(" | ")} |`)
          .join("\n"),
    }),
  };
}

const COMMON = { hasFences: true, hasCode: true, strike: "~~", lineBreak: "\n" } as const;

const DIALECTS = {
  discord: {
    ...COMMON,
    // Two bars hide what stands between them.
    escape: (text) => escapeMarkdown(text).replace(/\|(?=\|)|(?<=\|)\|/g, "\\|"),
    hasHeadings: true,
    hasTables: false,
  },
  mattermost: { ...COMMON, escape: escapeMarkdown, hasHeadings: true, hasTables: true },
  feishu: {
    ...COMMON,
    escape: (text) => breakFences(text).replace(/[<>]/g, (char) => (char === "<" ? "&#60;" : "&#62;")),
    hasHeadings: false,
    hasTables: false,
  },
  dingtalk: {
    ...COMMON,
    escape: breakFences,
    hasHeadings: true,
    hasTables: false,
    strike: undefined,
    lineBreak: "\n\n",
  },
  wecom: {
    ...COMMON,
    escape: breakBrackets,
    hasHeadings: true,
    hasTables: false,
    strike: undefined,
    hasFences: false,
  },
} satisfies Record<string, Differences>;

export type MarkdownDialect = keyof typeof DIALECTS;

const SPELLINGS = new Map<string, Spelling>();

/** The text in that platform's Markdown. */
export function toMarkdownDialect(
  markdown: string,
  dialect: MarkdownDialect,
  options: RenderOptions = {},
): string {
  const how: Differences = DIALECTS[dialect];
  const known = SPELLINGS.get(dialect) ?? spelling(how);
  SPELLINGS.set(dialect, known);
  const blocks = parseMarkdown(markdown);
  if (how.lineBreak === "\n") return spellBlocks(blocks, known, options);
  return blocks
    .map((block) => spellBlocks([block], known, options))
    .join("\n\n")
    .replace(/\n{3,}/g, "\n\n");
}

/** Backslashes before what could format here, or at the end, where a mark may follow; an underscore inside a word cannot. */
export function escapeMarkdown(text: string): string {
  const escaped = escapeBackslashes(text);
  const lastLink = escaped.lastIndexOf("](");
  return escaped.replace(
    /[*`[]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])|~(?=~)|(?<=~)~/gu,
    // A bracket opens nothing where no address follows any more.
    (char, at: number) => (char === "[" && at > lastLink ? char : `\\${char}`),
  );
}

/** A backslash that would take the next sign's meaning. */
export function escapeBackslashes(text: string): string {
  return text.replace(/\\(?=[!-/:-@[-`{-~]|$)/g, "\\\\");
}

/** Where no backslash helps, an unseen character keeps text from opening a fence, which would swallow the rest. */
function breakFences(text: string): string {
  return text.replace(/`{3,}|~{3,}/g, (run) => [...run].join("\u200b"));
}

function codeSpan(text: string): string {
  if (text.trim() === "") return text;
  const mark = "`".repeat(longestTicks(text) + 1);
  const pad = text.startsWith("`") || text.endsWith("`") ? " " : "";
  return `${mark}${pad}${text}${pad}${mark}`;
}

function longestTicks(text: string): number {
  let longest = 0;
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  return longest;
}

function encodeParenthesis(char: string): string {
  return char === "(" ? "%28" : "%29";
}

function cellText(cell: string): string {
  return cell.replaceAll("|", "\\|");
}
