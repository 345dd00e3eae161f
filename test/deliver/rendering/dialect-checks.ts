// Strict readers of what platforms accept, written from their documentation and independent of our renderer.

/** Every tag is one of these, closed in order, with no attribute but those named; `&` begins an entity only. */
function checkHtml(
  html: string,
  tags: Readonly<Record<string, RegExp>>,
  single: readonly string[],
): string[] {
  const open: string[] = [];
  const text = html.replace(
    /<(\/?)([a-z0-9-]+)((?: [^<>]*)?)>/g,
    (_, slash: string, tag: string, rest: string) => {
      if (single.includes(tag) && slash === "" && rest === "") return "";
      const attributes = tags[tag];
      if (!attributes) throw new Error(`<${tag}> is not allowed`);
      if (slash) {
        if (rest !== "" || open.pop() !== tag) throw new Error(`</${tag}> closes nothing`);
      } else {
        if (!attributes.test(rest)) throw new Error(`<${tag}${rest}> has an attribute that is not allowed`);
        open.push(tag);
      }
      return "";
    },
  );
  if (/[<>]/.test(text)) throw new Error(`an unescaped bracket in ${JSON.stringify(text)}`);
  if (/&(?!lt;|gt;|amp;|quot;)/.test(text)) throw new Error("an unescaped ampersand");
  if (open.length > 0) throw new Error(`<${open.join("><")}> is never closed`);
  return [unescapeHtml(text)];
}

const NONE = /^$/;

/** @source core.telegram.org/bots/api#html-style. Returns the text a reader sees. Throws as Telegram answers 400. */
export function readTelegram(html: string): string {
  const tags = {
    b: NONE,
    i: NONE,
    s: NONE,
    pre: NONE,
    blockquote: NONE,
    code: /^(?: class="language-[\w+#.-]+")?$/,
    a: /^ href="(?:https?:|mailto:|tel:)[^"<>]*"$/,
  };
  if (/<blockquote>(?:(?!<\/blockquote>)[\s\S])*<blockquote>/.test(html)) throw new Error("a nested quote");
  if (/<(?:pre|code)>(?:(?!<\/(?:pre|code)>)[\s\S])*<(?:b|i|s|a)\b/.test(html))
    throw new Error("markup in code");
  return checkHtml(html, tags, []).join("");
}

/** @source Matrix: permitted tags of `formatted_body`. */
export function readRichHtml(html: string): string {
  const plain = [
    "strong",
    "em",
    "del",
    "code",
    "blockquote",
    "p",
    "ul",
    "li",
    "pre",
    "table",
    "thead",
    "tbody",
  ];
  const more = ["tr", "th", "td", "h1", "h2", "h3", "h4", "h5", "h6"];
  const tags: Record<string, RegExp> = Object.fromEntries([...plain, ...more].map((tag) => [tag, NONE]));
  tags.ol = /^(?: start="\d+")?$/;
  tags.code = /^(?: class="language-[\w+#.-]+")?$/;
  tags.a = /^ href="(?:https?:|mailto:|tel:)[^"<>]*"$/;
  return checkHtml(html, tags, ["br", "hr"]).join("");
}

/** @source api.slack.com "Formatting text": `<` opens a link or a mention, `&` one of three entities. */
export function readSlack(text: string): string {
  // A line that begins with `>` is a quote.
  const bare = text
    .replace(/^(?:> )+/gm, "")
    .replace(
      /<((?:https?:|mailto:|tel:)[^<>|]*)(?:\|([^<>]*))?>/g,
      (_, url: string, words?: string) => words ?? url,
    );
  if (/[<>]/.test(bare)) throw new Error(`an unescaped bracket in ${JSON.stringify(bare)}`);
  if (/&(?!lt;|gt;|amp;)/.test(bare)) throw new Error("an unescaped ampersand");
  return unescapeHtml(bare);
}

function unescapeHtml(text: string): string {
  return text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&");
}

/** Letters, digits and pictures in their order: what must be the same in every dialect, however an address is encoded. */
export function lettersOf(text: string): string {
  const decoded = text.replace(/(?:https?:|mailto:|tel:)\S*/gi, (address) =>
    address.replace(/(?:%[0-9A-Fa-f]{2})+/g, (bytes) =>
      Buffer.from(bytes.replaceAll("%", ""), "hex").toString("utf8"),
    ),
  );
  // The look-alike of a backtick counts as a letter.
  return decoded.replaceAll("ˋ", "").replace(/[^\p{L}\p{N}\p{Extended_Pictographic}]/gu, "");
}

/**
 * A platform that takes any Markdown: what it could take wrongly is a fence that swallows what follows. Returns what stands
 * in it, backslashes and entities read. Throws for an open fence, a lone surrogate, a NUL.
 */
export function readMarkdown(text: string): string {
  checkCharacters(text);
  let mark: string | undefined;
  const lines = text.split("\n").map((line) => {
    // A fence may stand in a quote or a list.
    const fence = /^(?:> ?)*(?: {0,3})(`{3,}|~{3,})(.*)$/.exec(line);
    const [run = "", info = ""] = fence?.slice(1) ?? [];
    if (mark === undefined) {
      if (run === "" || (run.startsWith("`") && info.includes("`"))) return unescapeMarkdown(line);
      mark = run;
      return "";
    }
    if (!run.startsWith(mark) || info.trim() !== "") return line;
    mark = undefined;
    return "";
  });
  if (mark !== undefined) throw new Error(`${mark} is never closed`);
  return lines.join("\n");
}

/** The same without fences. @source WeCom "Markdown": it knows none. */
export function readFenceless(text: string): string {
  checkCharacters(text);
  return unescapeMarkdown(text);
}

/** @source Google Chat "Format messages": `<url|words>` is a link, `<users/…>` rings. */
export function readGoogleChat(text: string): string {
  checkCharacters(text);
  if (/<users\//.test(text)) throw new Error("it rings");
  const fences = text.split("\n").filter((line) => /^(?:> )*```$/.test(line)).length;
  if (fences % 2 !== 0) throw new Error("a fence is never closed");
  return text.replace(
    /<((?:https?:|mailto:|tel:)[^<>|]*)\|([^<>]*)>/g,
    (_, url: string, words: string) => `${words} ${url}`,
  );
}

/** @source Adaptive Cards 1.4: a TextBlock and what it may have; a text of nothing is refused. */
export function readCard(body: unknown): string {
  if (!Array.isArray(body)) throw new Error("a card's body is a list");
  return body.map(readTextBlock).join("\n");
}

const TEXT_BLOCK: Readonly<Record<string, readonly unknown[]>> = {
  type: ["TextBlock"],
  wrap: [true],
  weight: ["Bolder"],
  size: ["Medium", "Large"],
  fontType: ["Monospace"],
  isSubtle: [true],
  separator: [true],
};

function readTextBlock({ text, ...rest }: Record<string, unknown>): string {
  if (typeof text !== "string" || text === "") throw new Error("a TextBlock has a text");
  for (const [key, value] of Object.entries(rest))
    if (!TEXT_BLOCK[key]?.includes(value)) throw new Error(`a TextBlock has no ${key}: ${String(value)}`);
  checkCharacters(text);
  // An address without words of its own is its own words.
  const links = /\[((?:\\.|[^[\]\\])*)\]\(([^()\s]*)\)/g;
  const bare = text.replace(links, (link, words: string, url: string) =>
    lettersOf(words) === lettersOf(url) ? words : link,
  );
  return unescapeMarkdown(bare);
}

/** No message of ours holds half a character: JSON would carry it, a platform would not. */
function checkCharacters(text: string): void {
  if (/\p{Cs}/u.test(text)) throw new Error("a lone surrogate");
}

function unescapeMarkdown(text: string): string {
  return text
    .replace(/\\([!-/:-@[-`{-~])/g, "$1")
    .replaceAll("%28", "(")
    .replaceAll("%29", ")")
    .replaceAll("&#60;", "<")
    .replaceAll("&#62;", ">");
}
