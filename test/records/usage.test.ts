// What a run used, told by its log when its node is dead.

import { expect, test } from "vitest";
import { usageFromEvents } from "../../src/records/usage.ts";

const turn = (number: number) => ({ kind: "turn-started", data: { turn: number } });
const call = (inputTokens: number, outputTokens: number, costUsd?: number | null) => ({
  kind: "call-finished",
  data: { turn: 1, usage: { inputTokens, outputTokens }, ...(costUsd !== undefined && { costUsd }) },
});

test("S3: every call that ended is counted, those for summaries and of fallback models too", () => {
  const lines = [turn(1), call(100, 10, 0.1), call(50, 5, 0.2), turn(2), call(7, 3, 0.000_000_4)];
  expect(usageFromEvents(lines)).toEqual({
    tokensIn: 157,
    tokensOut: 18,
    // Rounded up to a millionth: never less than was spent.
    costUsd: 0.300_001,
    modelCalls: 3,
    turns: 2,
  });
});

test("a model without a price leaves no cost behind, rather than a cost of nothing", () => {
  expect(usageFromEvents([turn(1), call(1, 1), call(1, 1, null)])).toEqual({
    tokensIn: 2,
    tokensOut: 2,
    modelCalls: 2,
    turns: 1,
  });
});

test("a turn whose call never ended tells of the turn alone; a line of another version is passed over", () => {
  expect(usageFromEvents([turn(1)])).toEqual({ turns: 1 });
  expect(usageFromEvents([turn(1), { kind: "call-finished", data: { usage: "many" } }])).toEqual({
    turns: 1,
  });
});

test("a log without turns is no agent's", () => {
  expect(usageFromEvents([{ kind: "stdout", data: { text: "turn-started" } }])).toBeUndefined();
});
