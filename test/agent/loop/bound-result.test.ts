// Bounded results: always JSON, never longer than allowed, head and tail kept.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { boundResult, cutMiddle } from "../../../src/agent/loop/bound-result.ts";

describe("a bounded result", () => {
  test("that fits is not touched", () => {
    expect(boundResult({ error: null, a: [1] }, 2_000)).toEqual({
      text: '{"error":null,"a":[1]}',
      isTruncated: false,
    });
  });

  test("loses the middle of its long strings only, and says how much", () => {
    const { text, isTruncated } = boundResult(
      { error: null, command: "npm test", stdout: `first\n${"line\n".repeat(20_000)}last`, exitCode: 1 },
      5_000,
    );
    const read = JSON.parse(text);
    expect(isTruncated).toBe(true);
    expect(text.length).toBeGreaterThan(4_000);
    expect(read).toMatchObject({ error: null, command: "npm test", exitCode: 1 });
    expect(read.stdout).toMatch(/^first[\s\S]*… \[[\d,]+ characters left out\] …[\s\S]*last$/);
  });

  test("shares the room among long strings", () => {
    const { text } = boundResult(
      { error: null, a: "a".repeat(9_000), b: "b".repeat(9_000), c: "short" },
      4_000,
    );
    const { a, b, c } = JSON.parse(text);
    expect(a.length).toBe(b.length);
    expect(a.length).toBeGreaterThan(1_500);
    expect(c).toBe("short");
  });

  test("loses the middle of a long list, and says so in it", () => {
    const matches = Array.from({ length: 9_000 }, (_, line) => ({ line, text: `match ${line}` }));
    const read = JSON.parse(boundResult({ error: null, matches }, 10_000).text);
    expect(read.matches[0]).toEqual({ line: 0, text: "match 0" });
    expect(read.matches.at(-1)).toEqual({ line: 8_999, text: "match 8999" });
    expect(read.matches).toContainEqual(expect.stringMatching(/^\[\d+ items left out\]$/));
  });

  test("of a shape that is neither becomes text, with its error", () => {
    const wide = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`key${index}`, index]));
    const read = JSON.parse(boundResult({ error: "half of it failed", ...wide }, 3_000).text);
    expect(read.error).toBe("half of it failed");
    expect(read.json).toContain('"key0":0');
  });

  test("is JSON with `error` within the limit, whatever it was", () => {
    const wild = fc.dictionary(
      fc.string(),
      fc.oneof(
        { maxDepth: 3 },
        fc.jsonValue({ maxDepth: 4 }),
        fc.integer({ min: 0, max: 9_000 }).map((size) => '"\\\u0001é😀'.repeat(size)),
        fc.array(fc.string(), { maxLength: 3_000 }),
      ),
      { maxKeys: 5 },
    );
    fc.assert(
      fc.property(wild, fc.integer({ min: 2_000, max: 6_000 }), (parts, limit) => {
        const { text, isTruncated } = boundResult({ ...parts, error: null }, limit);
        expect(text.length).toBeLessThanOrEqual(limit);
        expect(JSON.parse(text)).toHaveProperty("error", null);
        expect(isTruncated).toBe(JSON.stringify({ ...parts, error: null }).length > limit);
      }),
      { numRuns: 200 },
    );
  });
});

test("a cut never parts the two halves of a character, and what is left is within the length", () => {
  fc.assert(
    fc.property(fc.nat(400), fc.integer({ min: 60, max: 200 }), fc.nat(3), (count, max, shift) => {
      const cut = cutMiddle("x".repeat(shift) + "😀".repeat(count), max);
      expect(cut.length).toBeLessThanOrEqual(Math.max(max, 0));
      expect(() => encodeURIComponent(cut)).not.toThrow();
    }),
  );
});
