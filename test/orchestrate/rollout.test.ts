// How tasks are shared between two versions, and when the new one must go.

import { describe, expect, test } from "vitest";
import { versionFor } from "../../src/orchestrate/rollout/choose-version.ts";
import { sumVersions, whyRollBack } from "../../src/orchestrate/rollout/judge-version.ts";
import { DEFAULT_BOUNDS, type Rollout, type VersionAttempt } from "../../src/records/rollout.ts";

const KEYS = Array.from({ length: 5_000 }, (_, index) => `parent/run-${index}/task`);

const rollout = (parts: Partial<Rollout> = {}) => ({
  ...({ executor: "detect", version: "2", baseline: "1", traffic: 20, state: "running" } as const),
  bounds: DEFAULT_BOUNDS,
  ...parts,
});

describe("a task's version", () => {
  test("a share of the keys gets the version, the same keys every time; a greater share only adds keys", () => {
    const chosen = (traffic: number) => KEYS.filter((key) => versionFor(rollout({ traffic }), key) === "2");

    expect(chosen(0)).toEqual([]);
    expect(chosen(100)).toEqual(KEYS);
    expect(chosen(20).length / KEYS.length).toBeCloseTo(0.2, 1);
    expect(chosen(20)).toEqual(chosen(20));
    const more = new Set(chosen(50));
    expect(chosen(20).filter((key) => !more.has(key))).toEqual([]);
  });

  test.each([
    ["stopped", "1"],
    ["rolledBack", "1"],
    ["finished", "2"],
  ] as const)("a rollout that is %s gives every task %s", (state, version) => {
    expect(new Set(KEYS.map((key) => versionFor(rollout({ state, traffic: 50 }), key)))).toEqual(
      new Set([version]),
    );
  });

  test("a version that is registered no more gives way to the other; without either the preferred one does it", () => {
    const all = rollout({ traffic: 100 });
    expect(versionFor(all, "key", ["2", "1"])).toBe("2");
    expect(versionFor(all, "key", ["3", "1"])).toBe("1");
    expect(versionFor(all, "key", ["3"])).toBeUndefined();
    expect(versionFor(all, "key", [])).toBe("2");
  });
});

describe("a version is rolled back", () => {
  const attempts = (version: string, count: number, failed: number, durationMs = 100): VersionAttempt[] =>
    Array.from({ length: count }, (_, index) => ({ version, hasFailed: index < failed, durationMs }));
  const why = (old: VersionAttempt[], young: VersionAttempt[], parts: Partial<Rollout> = {}) =>
    whyRollBack(rollout(parts), sumVersions(rollout(parts), [...old, ...young]));

  test.each([
    ["too few attempts say nothing", attempts("1", 100, 0), attempts("2", 19, 19), undefined],
    ["as good as the old one", attempts("1", 100, 10), attempts("2", 20, 4), undefined],
    [
      "more failures than allowed",
      attempts("1", 100, 10),
      attempts("2", 20, 5),
      "5 of 20 attempts of 2 failed (10 of 100 of 1): more than 10 percentage points above",
    ],
    [
      "an old one that nobody has seen counts as flawless",
      attempts("1", 4, 4),
      attempts("2", 20, 3),
      "3 of 20 attempts of 2 failed (too few of 1 to compare): more than 10 percentage points above",
    ],
    ["half as long again is allowed", attempts("1", 20, 0, 200), attempts("2", 20, 0, 300), undefined],
    [
      "longer than that is not",
      attempts("1", 20, 0, 200),
      attempts("2", 20, 0, 301),
      "2 takes 301 ms in the middle, 1 200 ms: more than 1.5 times as long",
    ],
    ["few ms are no reason", attempts("1", 20, 0, 2), attempts("2", 20, 0, 52), undefined],
    ["failures have no duration", attempts("1", 20, 0, 200), attempts("2", 20, 2, 9), undefined],
    [
      "one slow attempt in twenty is no reason",
      attempts("1", 20, 0, 200),
      [...attempts("2", 19, 0, 200), ...attempts("2", 1, 0, 60_000)],
      undefined,
    ],
  ])("%s", (_, old, young, sentence) => {
    expect(why(old, young)).toBe(sentence);
  });

  test("only while it is running, and by its own bounds", () => {
    const bad = attempts("2", 20, 20);
    expect(why([], bad, { state: "finished" })).toBeUndefined();
    expect(why([], bad, { bounds: { ...DEFAULT_BOUNDS, minSamples: 21 } })).toBeUndefined();
    expect(why([], bad, { bounds: { ...DEFAULT_BOUNDS, maxMoreFailures: 100 } })).toBeUndefined();
  });
});
