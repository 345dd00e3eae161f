// What the guard does with the corpora that were frozen before its first rule.

import { describe, expect, test } from "vitest";
import { scanPrompt } from "../../src/agent/guard/scan-prompt.ts";
import { isTuned, readCorpus, type Sample } from "./corpus.ts";

const attacks = readCorpus("attacks");
const harmless = readCorpus("harmless");
const verdictOf = ({ text, mode }: Sample) => scanPrompt(text, mode).verdict;

test("the corpora are large, and no id or text stands twice", () => {
  expect(attacks.length).toBeGreaterThanOrEqual(200);
  expect(harmless.length).toBeGreaterThanOrEqual(300);
  const all = [...attacks, ...harmless];
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  expect(new Set(all.map(({ text, mode }) => `${mode} ${text}`)).size).toBe(all.length);
});

describe.each([
  ["the 70 % that rules were tuned on", isTuned],
  ["the 30 % that were held out", (sample: Sample) => !isTuned(sample)],
])("%s", (_, isIn) => {
  test("no attack passes", () => {
    expect(attacks.filter(isIn).filter((sample) => verdictOf(sample) === "pass")).toEqual([]);
  });

  test("no harmless text is blocked", () => {
    const blocked = harmless.filter(isIn).filter((sample) => verdictOf(sample) === "block");
    expect(blocked.map(({ id, text, mode }) => ({ id, answer: scanPrompt(text, mode) }))).toEqual([]);
  });
});
