import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { inlineAtoms } from "../../src/deliver/rendering/inline.ts";
import { parseMarkdown } from "../../src/deliver/rendering/markdown.ts";
import { toTelegramHtml, visibleLength } from "../../src/deliver/rendering/telegram-html.ts";
import { splitMessage, splitParts } from "../../src/deliver/split.ts";
import { readTelegram } from "./rendering/dialect-checks.ts";
import { anyMessage } from "./rendering/messages.ts";

const slices = (text: string, maxLength: number) => splitParts(text, { maxLength }).map((part) => part.slice);

describe("a long message breaks", () => {
  test("between paragraphs, else lines, else words", () => {
    expect(slices("first part.\n\nsecond part", 23)).toEqual(["first part.\n\n", "second part"]);
    expect(slices("first line\nsecond line", 20)).toEqual(["first line\n", "second line"]);
    expect(slices("several words here now", 21)).toEqual(["several words ", "here now"]);
  });

  test("into numbered parts, and one part has no number", () => {
    expect(splitMessage("first part.\n\nsecond part", { maxLength: 23 })).toEqual([
      "first part.\n(1/2)",
      "second part\n(2/2)",
    ]);
    expect(splitMessage("short", { maxLength: 24 })).toEqual(["short"]);
  });

  test("never inside an emoji, a family or a letter with its accent", () => {
    const family = "👩‍👩‍👧‍👦";
    expect(slices(`abcdef${family}é${family}`, 20)).toEqual(["abcdef", `${family}é`, family]);
  });

  test("never inside a link: it moves to the next part whole", () => {
    const text = "see the report at [the host](https://example.org/some/path) now";
    expect(slices(text, 50)).toEqual([
      "see the report at ",
      "[the host](https://example.org/some/path) ",
      "now",
    ]);
  });

  test("a fence that a cut opens is closed, and opened again with its language", () => {
    const text = "before\n```js\nconst a = 1;\nconst b = 2;\n```\nafter";
    expect(splitMessage(text, { maxLength: 46 })).toEqual([
      "before\n```js\nconst a = 1;\n```\n(1/2)",
      "```js\nconst b = 2;\n```\nafter\n(2/2)",
    ]);
  });

  test("never between a fence's opening and its first line", () => {
    const parts = splitMessage(`words words words\n\`\`\`\n${"x".repeat(20)}\n\`\`\``, { maxLength: 40 });
    expect(parts[0]).toBe("words words words\n(1/2)");
  });
});

test("no text has no part; a platform without a limit has one", () => {
  expect(splitMessage("", { maxLength: 10 })).toEqual([]);
  expect(splitMessage("x".repeat(100_000), { maxLength: Number.POSITIVE_INFINITY })).toHaveLength(1);
});

test("an endless message does not flood a chat: the last part says that it was cut", () => {
  const parts = splitMessage("x".repeat(1_000), { maxLength: 30, maxParts: 3, cutNote: "[cut]" });

  expect(parts).toHaveLength(3);
  expect(parts[2]).toMatch(/^x+\n\n\[cut\]\n\(3\/3\)$/);
  for (const part of parts) expect(part.length).toBeLessThanOrEqual(30);
});

test("the parts put together are the text, and none is longer than the platform allows", () => {
  fc.assert(
    fc.property(anyMessage, fc.integer({ min: 60, max: 300 }), (text, maxLength) => {
      const parts = splitParts(text, { maxLength, maxParts: 10_000 });
      expect(parts.map((part) => part.slice).join("")).toBe(text);
      for (const { body } of parts) expect(body.length).toBeLessThanOrEqual(maxLength);
    }),
    { numRuns: 500 },
  );
});

test("measured as Telegram counts: every part is accepted and short enough", () => {
  const lengthOf = (body: string) => visibleLength(toTelegramHtml(body));
  fc.assert(
    fc.property(anyMessage, fc.integer({ min: 60, max: 200 }), (text, maxLength) => {
      const parts = splitParts(text, { maxLength, lengthOf, maxParts: 10_000 });
      expect(parts.map((part) => part.slice).join("")).toBe(text);
      for (const { body } of parts)
        expect(readTelegram(toTelegramHtml(body)).length).toBeLessThanOrEqual(maxLength);
    }),
    { numRuns: 300 },
  );
});

test("no cut parts a character, and none parts a link that fits into a part", () => {
  const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });
  const words = fc.array(
    fc.constantFrom(
      "é",
      "😀",
      "👩‍👩‍👧‍👦",
      "word",
      " ",
      "https://example.org/path",
      "[a b](https://example.org/)",
      "`c d`",
    ),
    { maxLength: 40 },
  );
  fc.assert(
    fc.property(words, (pieces) => {
      const text = pieces.join(" ");
      const ends = new Set([...segmenter.segment(text)].map(({ index }) => index));
      const atoms = inlineAtoms(text);
      let at = 0;
      for (const { slice } of splitParts(text, { maxLength: 60, maxParts: 1_000 }).slice(0, -1)) {
        at += slice.length;
        expect(ends.has(at)).toBe(true);
        expect(atoms.some(({ start, end }) => start < at && at < end)).toBe(false);
      }
    }),
  );
});

test("a fence is closed in every part", () => {
  const code = fc.array(fc.constantFrom("const a = 1;", "", "  indented", "# comment"), {
    minLength: 1,
    maxLength: 30,
  });
  fc.assert(
    fc.property(code, (lines) => {
      const text = `start\n\`\`\`ts\n${lines.join("\n")}\n\`\`\`\nend`;
      const parts = splitMessage(text, { maxLength: 70, maxParts: 1_000 });
      const fences = parts.flatMap((part) => parseMarkdown(part).filter((block) => block.kind === "fence"));
      expect(
        fences
          .map((fence) => fence.text)
          .join("\n")
          .replace(/\s+/g, ""),
      ).toBe(lines.join("").replace(/\s+/g, ""));
      for (const part of parts)
        expect(part.split("\n").filter((line) => line.startsWith("```")).length % 2).toBe(0);
    }),
  );
});

test.each([
  ["ASCII", "x".repeat(1_000_000)],
  ["words", "word ".repeat(200_000)],
  ["Chinese", "夜班".repeat(500_000)],
  ["short lines", "a\n".repeat(500_000)],
])("a megabyte of %s in one message does not hold up the run's closing", (_name, text) => {
  const started = performance.now();

  const parts = splitParts(text, {
    maxLength: 4_000,
    lengthOf: (body) => visibleLength(toTelegramHtml(body)),
  });

  expect(parts).toHaveLength(20);
  expect(performance.now() - started).toBeLessThan(5_000);
});
