// Which watched lines are told of (upstream.md 1.9), over every order of bursts; and which lines match at all.

import fc from "fast-check";
import { expect, test } from "vitest";
import { checkPatterns, matchLines } from "../../../src/execute/background/match-lines.ts";
import {
  decideWatch,
  EVENT_EVERY_MS,
  FRESH_WATCH,
  MOST_EVENTS,
  MOST_LINES,
  MOST_STRIKES,
  type WatchEvent,
} from "../../../src/execute/background/watch-decision.ts";

const START = Date.parse("2026-11-30T06:00:00Z");

/** Plays bursts of matching lines: gap before each, and how many lines. */
function play(bursts: readonly { gapMs: number; lines: number }[]) {
  let state = FRESH_WATCH;
  let now = START;
  let wasOffAt: number | undefined;
  const told: { at: number; event: WatchEvent }[] = [];
  let matched = 0;
  for (const { gapMs, lines } of bursts) {
    now += gapMs;
    const isOn = state.offWhy === undefined;
    if (isOn) matched += lines;
    const decided = decideWatch(state, {
      matched: Array.from({ length: lines }, (_, n) => `line ${n}`),
      now,
    });
    state = decided.state;
    if (decided.event) told.push({ at: now, event: decided.event });
    if (isOn && state.offWhy !== undefined) wasOffAt = now;
  }
  return { state, told, matched, wasOffAt };
}

const bursts = fc.array(
  fc.record({ gapMs: fc.integer({ min: 0, max: 40_000 }), lines: fc.integer({ min: 0, max: 60 }) }),
  { maxLength: 60 },
);

test("hermes#93513: in any order of bursts one event in 15 s, at most 20 lines each, 8 in all, and no line uncounted", () => {
  fc.assert(
    fc.property(bursts, (played) => {
      const { state, told, matched, wasOffAt } = play(played);
      for (const [index, { at, event }] of told.entries()) {
        expect(event.lines.length).toBeLessThanOrEqual(MOST_LINES);
        expect(event.number).toBe(index + 1);
        expect(at - (told[index - 1]?.at ?? Number.NEGATIVE_INFINITY)).toBeGreaterThanOrEqual(EVENT_EVERY_MS);
        expect(event.offWhy === undefined).toBe(index < told.length - 1 || state.offWhy === undefined);
        if (wasOffAt !== undefined) expect(at).toBeLessThanOrEqual(wasOffAt);
      }
      expect(told.length).toBeLessThanOrEqual(MOST_EVENTS);
      const counted = told.reduce((sum, { event }) => sum + event.lines.length + event.suppressed, 0);
      expect(counted + state.suppressed).toBe(matched);
    }),
  );
});

test("watching ends exactly at the eighth event told; suppressed lines do not count towards it", () => {
  const calm = Array.from({ length: 9 }, () => ({ gapMs: EVENT_EVERY_MS, lines: 1 }));
  expect(play(calm.slice(0, 7)).state).toMatchObject({ events: 7, offWhy: undefined });
  expect(play(calm.slice(0, 8)).state).toMatchObject({ events: MOST_EVENTS, offWhy: "events" });
  expect(play(calm).told).toHaveLength(MOST_EVENTS);
});

test("three events in a row that left lines untold end it; a quiet stretch between forgives", () => {
  const noisy = [
    { gapMs: EVENT_EVERY_MS - 1, lines: 1 },
    { gapMs: 1, lines: 1 },
  ];
  const first = { gapMs: 0, lines: 1 };
  const calm = { gapMs: EVENT_EVERY_MS, lines: 1 };
  expect(play([first, ...noisy, ...noisy, ...noisy]).state).toMatchObject({
    strikes: MOST_STRIKES,
    offWhy: "strikes",
  });
  expect(play([first, ...noisy, ...noisy, calm, ...noisy]).state).toMatchObject({
    strikes: 1,
    offWhy: undefined,
  });
});

test("the lines before an event that were not told of are counted in the next one", () => {
  const { told } = play([
    { gapMs: 0, lines: 25 },
    { gapMs: 14_999, lines: 3 },
    { gapMs: 1, lines: 2 },
  ]);
  expect(told.map(({ event }) => [event.lines.length, event.suppressed])).toEqual([
    [20, 5],
    [2, 3],
  ]);
});

test("a pattern is a text that a line contains, or a regular expression; the order of lines stays", () => {
  const lines = ["ready: 夜", "error 5", "nothing", "ERROR 6"];
  expect(matchLines([{ regex: "^error \\d" }, { text: "夜" }], lines)).toEqual(["ready: 夜", "error 5"]);
  expect(matchLines([{ text: "(" }], ["f(x)", "x"])).toEqual(["f(x)"]);
  expect(() => checkPatterns([{ regex: "(" }])).toThrow(expect.objectContaining({ code: "input.invalid" }));
  expect(() => checkPatterns([{ text: "" }])).toThrow(expect.objectContaining({ code: "input.invalid" }));
});

test("an expression that would never end holds up nobody", () => {
  const began = performance.now();
  expect(matchLines([{ regex: "^(a+)+$" }], [`${"a".repeat(60)}!`])).toBe("tooSlow");
  expect(performance.now() - began).toBeLessThan(3_000);
});
