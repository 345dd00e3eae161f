// Texts as agents and scripts write them, and as nobody should: for property tests.

import fc from "fast-check";

const WORDS = [
  "disk",
  "91 %",
  "äöü",
  "重点：",
  "😀",
  "👩‍👩‍👧‍👦",
  "é",
  "snake_case_name",
  "2 * 3",
  "a<b>&c",
  "C:\\new",
  "@everyone",
  "<!channel>",
  "@here",
];
const MARKUP = [
  "**bold**",
  "*it*",
  "~~old~~",
  "`code`",
  "[words](https://example.org/a_b?x=1&y=(2))",
  "https://example.org/a_b_c",
  "<https://example.org/>",
  "**a *b* c**",
  "***x***",
  "``a`b``",
  "![alt](https://example.org/i.png)",
];
const BROKEN = [
  "**",
  "*",
  "_",
  "`",
  "```",
  "~~",
  "[",
  "](",
  ")",
  "<b>",
  "&amp;",
  "|",
  "\\",
  ">",
  "#",
  "\u0000",
  "</pre>",
];

const piece = fc.oneof(
  fc.constantFrom(...WORDS),
  fc.constantFrom(...MARKUP),
  fc.constantFrom(...BROKEN),
  fc.string({ unit: "binary", maxLength: 5 }),
);
const inline = fc
  .tuple(fc.array(piece, { maxLength: 8 }), fc.constantFrom(" ", ""))
  .map(([pieces, glue]) => pieces.join(glue));

const prefix = fc.constantFrom(
  "",
  "",
  "",
  "# ",
  "### ",
  "- ",
  "  - ",
  "1. ",
  "12) ",
  "> ",
  "> > ",
  "    ",
  "| a | b |\n|---|---|\n| ",
);
const line = fc.tuple(prefix, inline).map(([start, text]) => start + text);
const fence = fc
  .tuple(fc.constantFrom("```", "```js", "~~~", "````sh"), fc.array(inline, { maxLength: 4 }), fc.boolean())
  .map(([open, lines, isClosed]) =>
    [open, ...lines, ...(isClosed ? [/^[`~]+/.exec(open)?.[0] ?? ""] : [])].join("\n"),
  );

/** Any message. */
export const anyMessage = fc
  .array(
    fc.oneof(
      { weight: 5, arbitrary: line },
      { weight: 1, arbitrary: fence },
      { weight: 1, arbitrary: fc.constant("") },
    ),
    { maxLength: 12 },
  )
  .map((lines) => lines.join("\n"));
