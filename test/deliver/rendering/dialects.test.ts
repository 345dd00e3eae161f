// One Markdown, each platform's dialect. What a platform does with it is said by dialect-checks.ts.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toMarkdownDialect } from "../../../src/deliver/rendering/markdown-dialects.ts";
import { toGoogleChat, toSlackMrkdwn } from "../../../src/deliver/rendering/mrkdwn.ts";
import { toPlain } from "../../../src/deliver/rendering/plain.ts";
import { toRichHtml } from "../../../src/deliver/rendering/rich-html.ts";
import { toTeamsBody } from "../../../src/deliver/rendering/teams-card.ts";
import { toTelegramHtml, visibleLength } from "../../../src/deliver/rendering/telegram-html.ts";
import { readRichHtml, readSlack, readTelegram } from "./dialect-checks.ts";
import { anyMessage } from "./messages.ts";

const REPORT = [
  "# Nightly *report*",
  "**Disk** is at `91 %` on [web-1](https://example.org/w?a=1&b=2), see https://example.org/a_b_c.",
  "- one ~~two~~",
  "  - deeper",
  "2. second",
  "> quoted <b>",
  "",
  "```sh",
  "df -h | grep '<x>' && echo **no**",
  "```",
  "| host | use |",
  "|---|--:|",
  "| web-1 | 91 |",
].join("\n");

describe("a report with everything in it", () => {
  test("Telegram gets its HTML: bold headings, bullets, a table as fixed width", () => {
    expect(toTelegramHtml(REPORT).split("\n")).toEqual([
      "<b>Nightly <i>report</i></b>",
      '<b>Disk</b> is at <code>91 %</code> on <a href="https://example.org/w?a=1&amp;b=2">web-1</a>, see <a href="https://example.org/a_b_c">https://example.org/a_b_c</a>.',
      "• one <s>two</s>",
      "  • deeper",
      "2. second",
      "<blockquote>quoted &lt;b&gt;</blockquote>",
      "",
      "<pre><code class=\"language-sh\">df -h | grep '&lt;x&gt;' &amp;&amp; echo **no**</code></pre>",
      "<pre>host  | use",
      "------|----",
      "web-1 | 91</pre>",
    ]);
  });

  test("Slack gets mrkdwn", () => {
    expect(toSlackMrkdwn(REPORT).replaceAll("\u200b", "").split("\n")).toEqual([
      "*Nightly _report_*",
      "*Disk* is at `91 %` on <https://example.org/w?a=1&amp;b=2|web-1>, see <https://example.org/a_b_c>.",
      "• one ~two~",
      "  • deeper",
      "2. second",
      "> quoted &lt;b&gt;",
      "",
      "```",
      "df -h | grep '&lt;x&gt;' &amp;&amp; echo **no**",
      "```",
      "```",
      "host  | use",
      "------|----",
      "web-1 | 91",
      "```",
    ]);
  });

  test("Matrix and mail get lists, headings and a table", () => {
    expect(toRichHtml(REPORT).split("\n")).toEqual([
      "<h1>Nightly <em>report</em></h1>",
      '<p><strong>Disk</strong> is at <code>91 %</code> on <a href="https://example.org/w?a=1&amp;b=2">web-1</a>, see <a href="https://example.org/a_b_c">https://example.org/a_b_c</a>.</p>',
      "<ul><li>one <del>two</del><ul><li>deeper</li></ul></li><li>second</li></ul>",
      "<blockquote><p>quoted &lt;b&gt;</p></blockquote>",
      "<pre><code class=\"language-sh\">df -h | grep '&lt;x&gt;' &amp;&amp; echo **no**</code></pre>",
      "<table><thead><tr><th>host</th><th>use</th></tr></thead><tbody><tr><td>web-1</td><td>91</td></tr></tbody></table>",
    ]);
  });

  test("plain text keeps every word and writes addresses out", () => {
    expect(toPlain(REPORT)).toContain(
      "Disk is at 91 % on web-1 (https://example.org/w?a=1&b=2), see https://example.org/a_b_c.",
    );
  });

  test.each([
    ["mattermost", "| host | use |\n| --- | --- |\n| web-1 | 91 |"],
    ["discord", "```\nhost  | use\n------|----\nweb-1 | 91\n```"],
    ["feishu", "> quoted &#60;b&#62;"],
    ["dingtalk", "- one two\n\n  - deeper"],
    ["wecom", "> df -h | grep '<x>' && echo **no**"],
  ] as const)("%s gets its own Markdown", (dialect, piece) => {
    expect(toMarkdownDialect(REPORT, dialect)).toContain(piece);
  });

  test("Teams gets a card: a bold heading, text, and code in fixed width", () => {
    const body = toTeamsBody(REPORT);

    expect(body[0]).toEqual({
      type: "TextBlock",
      text: "Nightly report",
      wrap: true,
      weight: "Bolder",
      size: "Large",
    });
    expect(body.filter((block) => block.fontType === "Monospace")).toHaveLength(2);
    expect(body[1]?.text).toContain("[web-1](https://example.org/w?a=1&b=2)");
  });
});

test.each<[string, string, string]>([
  [
    "an address in a table is written out",
    toTelegramHtml("| a | b |\n|---|---|\n| 1 | [x](https://e.org/) |"),
    "x (https://e.org/)",
  ],
  [
    "Google Chat decodes no address",
    toGoogleChat("[x](https://e.org/?a=1&b=2)"),
    "<https://e.org/?a=1&b=2|x>",
  ],
  [
    "a backslash takes no mark along",
    toMarkdownDialect("[x\\\\](https://e.org/)", "discord"),
    "[x\\\\\\\\](https://e.org/)",
  ],
  [
    "text opens no fence where nothing escapes",
    toMarkdownDialect("~~```~~\nx", "dingtalk"),
    "`\u200b`\u200b`\n\nx",
  ],
])("%s", (_name, sent, piece) => {
  expect(sent).toContain(piece);
});

describe("text that is no markup stays as it was written", () => {
  test.each([
    "snake_case_name and 2 * 3 * 4",
    "rm *.txt and *.md",
    "~5 minutes ~ 10",
    "a ** b ** c",
    "C:\\new\\table \\\\server\\share",
    "[not a link] (really)",
    "[js](javascript:alert(1))",
    "5 < 6 && 7 > 6",
    "x = arr[0][1]",
    "***",
    "`unclosed",
  ])("%s", (text) => {
    expect(readTelegram(toTelegramHtml(text))).toBe(text === "***" ? "———" : text);
    expect(toPlain(text)).toBe(text === "***" ? "----" : text);
  });

  test("emphasis beside CJK punctuation closes: **重点：**内容", () => {
    expect(toTelegramHtml("**重点：**内容")).toBe("<b>重点：</b>内容");
  });
});

describe("mass mentions ring nobody unless the configuration allows it", () => {
  const TEXT = "@everyone @here @channel @all @room <!channel> `@everyone` ada@all.example";

  test.each([
    ["plain", toPlain],
    ["telegram", toTelegramHtml],
    ["slack", toSlackMrkdwn],
    ["google chat", toGoogleChat],
    ["matrix", toRichHtml],
    ["discord", (text: string) => toMarkdownDialect(text, "discord")],
    ["mattermost", (text: string) => toMarkdownDialect(text, "mattermost")],
    ["wecom", (text: string) => toMarkdownDialect(text, "wecom")],
  ])("%s", (_name, render) => {
    const sent = render(TEXT);

    expect(sent).not.toMatch(/(?<![\w.])@(everyone|here|channel|all|room)/);
    expect(sent).not.toContain("<!channel>".slice(0, sent.includes("&lt;") ? undefined : 0) || "\u0000");
    expect(sent).toContain("ada@all.example");
  });

  test("allowed, they are Slack's own", () => {
    expect(toSlackMrkdwn("<!channel> <@U123> <!date^1> @here", { allowMentions: true })).toBe(
      "<!channel> <@U123> &lt;!date^1&gt; @here",
    );
  });

  test("an address that holds one stays whole", () => {
    expect(toTelegramHtml("https://medium.example/@all/x")).toContain('href="https://medium.example/@all/x"');
  });
});

describe("whatever is written, the platform's own reader accepts it", () => {
  test("Telegram", () => {
    fc.assert(
      fc.property(anyMessage, (text) => void readTelegram(toTelegramHtml(text))),
      { numRuns: 1_000 },
    );
  });

  test("Telegram counts what is seen", () => {
    fc.assert(
      fc.property(anyMessage, (text) => {
        const html = toTelegramHtml(text);
        expect(visibleLength(html)).toBe(readTelegram(html).length);
      }),
    );
  });

  test("Slack", () => {
    fc.assert(
      fc.property(anyMessage, (text) => void readSlack(toSlackMrkdwn(text))),
      { numRuns: 1_000 },
    );
  });

  test("Matrix and mail", () => {
    fc.assert(
      fc.property(anyMessage, (text) => void readRichHtml(toRichHtml(text))),
      { numRuns: 1_000 },
    );
  });

  test("words without markup are the same words in every dialect", () => {
    const words = fc.array(fc.constantFrom("disk", "91 %", "äöü", "重点", "😀", "é", "ok."), {
      minLength: 1,
    });
    fc.assert(
      fc.property(words, (pieces) => {
        const text = pieces.join(" ");
        for (const dialect of ["discord", "mattermost", "feishu", "dingtalk", "wecom"] as const)
          expect(toMarkdownDialect(text, dialect)).toBe(text);
        expect(toSlackMrkdwn(text)).toBe(text);
        expect(toGoogleChat(text)).toBe(text);
        expect(readTelegram(toTelegramHtml(text))).toBe(text);
      }),
    );
  });

  test("Mattermost's escapes: our own reader of Markdown sees the text it was made from", () => {
    const line = fc
      .array(fc.constantFrom("a", "*", "_", "**", "`", "~~", "[x](", "a*b", "b_c", "|"), { maxLength: 12 })
      .map((pieces) => `x ${pieces.join(" ")}`);
    fc.assert(
      fc.property(line, (text) => {
        const once = toPlain(text);
        expect(toPlain(toMarkdownDialect(text, "mattermost"))).toBe(once);
      }),
      { numRuns: 1_000 },
    );
  });
});

test.each(["\r", "\u2028", "\u2029", "x\ry", "```\r"])(
  "a line that holds a break of another kind is read to its end: %j",
  (text) => {
    for (const prefix of ["> ", ">", "# ", "- ", "1. ", "| a |\n|---|\n| ", "```", "> > "])
      expect(toPlain(`${prefix}${text}\nafter`)).toMatch(/after$/);
  },
);

test("hostile lines are read in linear time", () => {
  for (const piece of [
    "*a ",
    "_a_",
    "**a*b",
    "`",
    "``a`",
    "[",
    "[a](",
    "<",
    "~~",
    "![",
    "https://",
    "> ",
    "|",
    "\\",
  ]) {
    const text = piece.repeat(20_000);
    const started = performance.now();
    toTelegramHtml(text);
    expect(performance.now() - started, piece).toBeLessThan(2_000);
  }
});
