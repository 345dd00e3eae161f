import fc from "fast-check";
import { expect, test } from "vitest";
import { splitMessage } from "../../src/deliver/split.ts";

test("a long message breaks between paragraphs, else lines, else words", () => {
  expect(splitMessage("first part.\n\nsecond part", { maxLength: 16 })).toEqual([
    "first part.\n\n",
    "second part",
  ]);
  expect(splitMessage("first line\nsecond line", { maxLength: 16 })).toEqual(["first line\n", "second line"]);
  expect(splitMessage("several words here", { maxLength: 14 })).toEqual(["several words ", "here"]);
});

test("a word longer than the limit is cut, but never inside an emoji", () => {
  expect(splitMessage("ab😀cd", { maxLength: 3 })).toEqual(["ab", "😀c", "d"]);
});

test("no text has no part; a platform without a limit has one", () => {
  expect(splitMessage("", { maxLength: 10 })).toEqual([]);
  expect(splitMessage("x".repeat(100_000), { maxLength: Number.POSITIVE_INFINITY })).toHaveLength(1);
});

test("an endless message does not flood a chat: the last part says that it was cut", () => {
  const parts = splitMessage("x".repeat(1_000), { maxLength: 30, maxParts: 3, cutNote: "[cut]" });

  expect(parts).toHaveLength(3);
  expect(parts[2]).toBe(`${"x".repeat(25)}[cut]`);
});

test("the parts put together are the text, none is too long, none ends inside a surrogate pair", () => {
  const words = fc.array(fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom(" ", "\n", "\n\n", "😀")));
  fc.assert(
    fc.property(words, fc.integer({ min: 2, max: 40 }), (pieces, maxLength) => {
      const text = pieces.join("");
      const parts = splitMessage(text, { maxLength, maxParts: Number.POSITIVE_INFINITY });
      expect(parts.join("")).toBe(text);
      for (const part of parts) {
        expect(part.length).toBeLessThanOrEqual(maxLength);
        expect(part).not.toMatch(/\p{Surrogate}/u);
      }
    }),
  );
});
