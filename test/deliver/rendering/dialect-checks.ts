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
