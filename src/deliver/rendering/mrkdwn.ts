// Slack's mrkdwn, and Google Chat's, which differs in what it escapes. Pure.
//
// I1. Slack: `&`, `<` and `>` of the text are always escaped, so nothing in it can become a mention, a channel or a link.
// I2. Google Chat decodes nothing: an address stands there as it is, but for what would end it.
// I3. A mark beside a letter formats nothing there, so an unseen character parts them.
// @source Slack "Formatting text for app surfaces"; Google Chat "Format messages".

import { parseMarkdown } from "./markdown.ts";
import { breakBrackets } from "./mentions.ts";
import { type RenderOptions, type Spelling, spellBlocks, wrapWords } from "./write.ts";

const MARKS = { strong: "*", emphasis: "_", strike: "~" } as const;
/** What Slack lets ring: the three mass mentions, people and groups. */
const SLACK_MENTIONS = /&lt;(!(?:channel|here|everyone)|@[A-Z0-9]+|!subteam\^[A-Z0-9]+)&gt;/g;

function spelling(protect: (text: string) => string, address: (url: string) => string): Spelling {
  return {
    text: protect,
    // A backtick inside a code span would end it: its look-alike stands in.
    code: (text) => (text.trim() === "" ? protect(text) : `\`${protect(text.replaceAll("`", "ˋ"))}\``),
    wrap: (kind, inner) => wrapWords(inner, (words) => `\u200b${MARKS[kind]}${words}${MARKS[kind]}\u200b`),
    link: ({ url, inner, isBare }) =>
      isBare ? `<${address(url)}>` : `<${address(url)}|${linkWords(inner)}>`,
    heading: (_level, inner) =>
      inner.trim() === "" ? inner : `*${inner.replace(/\u200b\*|\*\u200b/g, "")}*`,
    item: ({ indent, marker, inner }) => `${" ".repeat(indent)}${marker} ${inner}`,
    quote: (inner) => inner.replace(/^/gm, "> "),
    fence: (_language, text) => `\`\`\`\n${protect(text.replaceAll("```", "ˋˋˋ"))}\n\`\`\``,
    rule: () => "———",
  };
}

const SLACK = spelling(escapeSlack, escapeSlack);
const GOOGLE_CHAT = spelling((text) => text, encodeAddress);
const GOOGLE_CHAT_QUIET = spelling(
  (text) => breakBrackets(text).replace(/<(?=https?:)/gi, "<\u200b"),
  encodeAddress,
);

export function toSlackMrkdwn(markdown: string, options: RenderOptions = {}): string {
  const text = spellBlocks(parseMarkdown(markdown), SLACK, options);
  return options.allowMentions ? text.replace(SLACK_MENTIONS, "<$1>") : text;
}

export function toGoogleChat(markdown: string, options: RenderOptions = {}): string {
  return spellBlocks(
    parseMarkdown(markdown),
    options.allowMentions ? GOOGLE_CHAT : GOOGLE_CHAT_QUIET,
    options,
  );
}

/** For text that is sent with `mrkdwn: false`: the same three characters still speak to Slack. */
export function escapeSlack(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function encodeAddress(url: string): string {
  return url.replace(/[<>|]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** A link's words end at `>` and are parted by `|`. */
function linkWords(inner: string): string {
  return inner.replaceAll("|", "¦").replaceAll("\u200b", "").replace(/[<>]/g, "");
}
