// The pure planner of the context window: what it may leave out, and what it never touches.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type ContextLimits,
  elideResults,
  planContext,
  replaceRegion,
} from "../../../src/agent/loop/plan-context.ts";
import type { Message } from "../../../src/records/conversation.ts";

/** One token a character, and four a message. */
const sizeOf = (message: Message) =>
  4 +
  message.text.length +
  (message.role === "assistant" ? message.toolCalls.reduce((sum, one) => sum + one.arguments.length, 0) : 0);
const total = (messages: readonly Message[]) => messages.reduce((sum, one) => sum + sizeOf(one), 0);

const HEAD: Message[] = [
  { role: "system", text: "system" },
  { role: "user", text: "prompt" },
];

interface Turn {
  text: string;
  results: number[];
  nudge: boolean;
}

/** A conversation of turns: each a reply with calls, its results, and sometimes a user's message behind it. */
function conversation(turns: readonly Turn[]): Message[] {
  const messages = [...HEAD];
  for (const [turn, { text, results, nudge }] of turns.entries()) {
    const ids = results.map((_, index) => `${turn}-${index}`);
    const toolCalls = ids.map((id) => ({ id, name: "read", arguments: "{}" }));
    messages.push({ role: "assistant", text, toolCalls });
    for (const [index, callId] of ids.entries()) {
      const result = JSON.stringify({ error: null, text: "x".repeat(results[index] ?? 0) });
      messages.push({ role: "tool", callId, name: "read", text: result });
    }
    if (nudge) messages.push({ role: "user", text: "go on" });
  }
  return messages;
}

/** The plan carried out with a summary as large as it may be. */
function applied(messages: readonly Message[], limits: ContextLimits): Message[] {
  const plan = planContext(messages, sizeOf, limits);
  const elided = elideResults(messages, plan.elide);
  return plan.summarise
    ? replaceRegion(elided, plan.summarise, "s".repeat(limits.summaryTokens - 4))
    : elided;
}

const turnArbitrary = fc.record({
  text: fc.string({ maxLength: 60 }),
  results: fc.array(fc.nat(600), { maxLength: 4 }),
  nudge: fc.boolean(),
});
const caseArbitrary = fc
  .record({
    turns: fc.array(turnArbitrary, { maxLength: 14 }),
    room: fc.integer({ min: 150, max: 4_000 }),
    share: fc.integer({ min: 30, max: 100 }),
    keepTurns: fc.integer({ min: 1, max: 5 }),
    keepResults: fc.nat(4),
    summaryTokens: fc.integer({ min: 20, max: 120 }),
  })
  .map(({ turns, room, share, ...rest }) => ({
    messages: conversation(turns),
    limits: { room, target: Math.floor((room * share) / 100), ...rest },
  }));

/** Ids of calls whose results do not follow them at once and completely. */
function parted(messages: readonly Message[]): string[] {
  return messages.flatMap((message, index) => {
    if (message.role === "tool") {
      const caller = messages.slice(0, index).findLast(({ role }) => role !== "tool");
      const isCalled =
        caller?.role === "assistant" && caller.toolCalls.some(({ id }) => id === message.callId);
      return isCalled ? [] : [message.callId];
    }
    if (message.role !== "assistant") return [];
    const results = messages.slice(index + 1, index + 1 + message.toolCalls.length);
    return message.toolCalls.flatMap(({ id }, at) => {
      const result = results[at];
      return result?.role === "tool" && result.callId === id ? [] : [id];
    });
  });
}

/** The least that has to stay: the head and the last turn with what follows it. */
function lastTurnOf(messages: readonly Message[]): readonly Message[] {
  const at = messages.findLastIndex(({ role }) => role === "assistant");
  return at < 0 ? [] : messages.slice(at);
}

describe("for any conversation and any room", () => {
  const holds = (check: (input: { messages: Message[]; limits: ContextLimits }, after: Message[]) => void) =>
    fc.assert(
      fc.property(caseArbitrary, (input) => {
        check(input, applied(input.messages, input.limits));
      }),
      { numRuns: 400 },
    );

  test("a call is never parted from its result", () => {
    holds((_input, after) => expect(parted(after)).toEqual([]));
  });

  test("the head and the last turn stay whole", () => {
    holds(({ messages }, after) => {
      expect(after.slice(0, 2)).toEqual(HEAD);
      const last = lastTurnOf(messages);
      if (last.length > 0) expect(after.slice(-last.length)).toEqual(last);
    });
  });

  test("the last turns stay whole, as many as fit half the room", () => {
    holds(({ messages, limits }, after) => {
      const starts = messages.flatMap(({ role }, index) => (role === "assistant" ? [index] : []));
      const from = starts.at(-limits.keepTurns) ?? starts[0];
      if (from === undefined || total(messages.slice(from)) > limits.room / 2) return;
      expect(after.slice(from - messages.length)).toEqual(messages.slice(from));
    });
  });

  test("it never grows, and what fits is not touched", () => {
    holds(({ messages, limits }, after) => {
      expect(total(after)).toBeLessThanOrEqual(total(messages));
      if (total(messages) <= limits.room) expect(after).toEqual(messages);
    });
  });

  test("it fits whenever head, kept turns and a summary fit", () => {
    holds(({ messages, limits }, after) => {
      const kept = Math.max(total(lastTurnOf(messages)), Math.floor(limits.room / 2));
      if (total(HEAD) + kept + limits.summaryTokens > limits.room) return;
      expect(total(after)).toBeLessThanOrEqual(limits.room);
    });
  });

  test("the newest results asked for are never elided", () => {
    holds(({ messages, limits }) => {
      const results = messages.flatMap(({ role }, index) => (role === "tool" ? [index] : []));
      const newest = new Set(results.slice(results.length - limits.keepResults));
      if (limits.keepResults === 0) newest.clear();
      const { elide } = planContext(messages, sizeOf, limits);
      expect(elide.filter((index) => newest.has(index))).toEqual([]);
    });
  });

  test("what it says it saves is what it saves", () => {
    holds(({ messages, limits }) => {
      const { elide, savedTokens } = planContext(messages, sizeOf, limits);
      expect(total(messages) - total(elideResults(messages, elide))).toBe(savedTokens);
    });
  });
});

describe("what goes first", () => {
  const limits = { room: 1_000, target: 700, keepTurns: 1, keepResults: 1, summaryTokens: 50 };

  test("old results, oldest first, and no more than it takes", () => {
    const messages = conversation([
      { text: "a", results: [400], nudge: false },
      { text: "b", results: [400], nudge: false },
      { text: "c", results: [400], nudge: false },
    ]);
    const plan = planContext(messages, sizeOf, limits);
    expect(plan).toMatchObject({ elide: [3, 5], summarise: undefined });
    const note = elideResults(messages, plan.elide)[3];
    expect(note).toMatchObject({ role: "tool", callId: "0-0", isElided: true });
    expect(JSON.parse(note?.text ?? "")).toEqual({
      error: null,
      note: expect.stringContaining("The result (424 characters) was left out"),
    });
  });

  test("then the oldest turns, when eliding is not enough", () => {
    const messages = conversation(
      Array.from({ length: 12 }, () => ({ text: "t".repeat(120), results: [10], nudge: false })),
    );
    const { elide, summarise } = planContext(messages, sizeOf, limits);
    expect(elide).toEqual([]);
    expect(summarise?.from).toBe(2);
    expect(summarise?.to).toBeLessThan(messages.length - 2);
  });

  test("an old summary goes into the next one instead of piling up", () => {
    const long = { text: "t".repeat(200), results: [10], nudge: false };
    const messages = conversation([long, long, long, long, long, long]);
    const once = replaceRegion(messages, { from: 2, to: 4 }, "earlier summary");
    const plan = planContext(once, sizeOf, limits);
    expect(plan.summarise?.from).toBe(2);
    const twice = replaceRegion(once, plan.summarise ?? { from: 0, to: 0 }, "newer summary");
    expect(twice.filter((one) => one.role === "user" && one.origin === "summary")).toHaveLength(1);
  });

  test("an elided failure stays known as one", () => {
    const failed: Message = {
      role: "tool",
      callId: "0-0",
      name: "read",
      text: `{"error":"${"why ".repeat(200)}"}`,
    };
    const messages = conversation([{ text: "a", results: [1], nudge: false }]);
    messages[3] = failed;
    expect(JSON.parse(elideResults(messages, [3])[3]?.text ?? "").error).toBe("The call had failed.");
  });
});
