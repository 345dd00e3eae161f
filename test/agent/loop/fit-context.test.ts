// Staying inside the model's context: what the loop sends when a conversation outgrows it, and what it keeps.

import { describe, expect, test } from "vitest";
import { estimateMessages } from "../../../src/agent/models/estimate-tokens.ts";
import type { Message } from "../../../src/records/conversation.ts";
import type { CallModel, ModelRequest } from "../../../src/records/model.ts";
import { call, openWorld, reply, type Step, tool } from "./scripted-model.ts";

const page = tool("page", (value) => ({ error: null, text: `page ${value}: ${"word ".repeat(700)}` }));
const read = (n: number): Step => ({
  text: `Reading ${n}. ${"I think about it. ".repeat(60)}`,
  toolCalls: [call("page", { value: `${n}` }, `c${n}`)],
});
const reads = (count: number) => Array.from({ length: count }, (_, n) => read(n));
/** 1,000 tokens of output and a margin leave about 6,500; a turn takes about 1,200. */
const SMALL = { contextLength: 8_000, maxOutputTokens: 1_000 };

const texts = (request: ModelRequest | undefined) => (request?.messages ?? []).map(({ text }) => text);
const tokens = (request: ModelRequest) => estimateMessages(request.messages);

function summaries(...answers: readonly (string | Error)[]): {
  callModel: CallModel;
  requests: ModelRequest[];
} {
  const requests: ModelRequest[] = [];
  const callModel: CallModel = async (request, { role }) => {
    expect(role).toBe("auxiliary");
    const answer = answers[Math.min(requests.length, answers.length - 1)];
    requests.push(request);
    if (answer instanceof Error) throw answer;
    return reply({ text: answer ?? "", costUsd: 0.01 });
  };
  return { callModel, requests };
}

describe("a conversation that outgrows the context", () => {
  test("loses old results first; every request stays inside, head and last turns whole", async () => {
    const world = openWorld([...reads(8), { text: "ok" }], {
      tools: [page],
      window: { contextLength: 9_000, maxOutputTokens: 1_000 },
    });
    const end = await world.run();
    expect(end.reason).toBe("answered");
    for (const request of world.model.requests) expect(tokens(request)).toBeLessThan(8_000);
    const last = world.model.requests.at(-1);
    expect(texts(last).slice(0, 2)).toEqual(["You are at work.", "Do it."]);
    expect(texts(last).at(-1)).toContain("page 7: word");
    expect(last?.messages.some((one) => one.role === "tool" && one.isElided)).toBe(true);
    expect(world.kinds()).toContain("context-elided");
    expect(world.kinds()).not.toContain("context-summarised");
  });

  test("then has its middle summarised by the cheap model, and the events still hold all of it", async () => {
    const cheap = summaries("Pages 0 to 3 say: word.");
    const world = openWorld([...reads(16), { text: "ok" }], {
      tools: [page],
      maxTurns: 20,
      window: { ...SMALL, summarise: cheap.callModel },
    });
    const end = await world.run();
    expect(end.reason).toBe("answered");
    const last = world.model.requests.at(-1);
    expect(texts(last)[2]).toMatch(/^\[Summary of \d+ earlier messages.*\nPages 0 to 3 say: word\.$/s);
    expect(cheap.requests[0]?.messages.at(-1)?.text).toContain("[agent calls page]");
    const told = end.messages.filter(({ role }) => role === "tool");
    expect(told).toHaveLength(16);
    expect(told.every(({ text }) => text.includes("word word"))).toBe(true);
    expect(end.calls).toBe(17 + cheap.requests.length);
    expect(end.costUsd).toBeCloseTo(17 * 0.001 + cheap.requests.length * 0.01);
    const done = world.events.find((event) => event.kind === "context-summarised");
    expect(done && done.afterTokens < done.beforeTokens).toBe(true);
  });

  test("a summary that is too wordy is cut: it never outgrows what it stands for", async () => {
    const cheap = summaries("blah ".repeat(50_000));
    const world = openWorld([...reads(16), { text: "ok" }], {
      tools: [page],
      maxTurns: 20,
      window: { ...SMALL, summarise: cheap.callModel },
    });
    await world.run();
    for (const request of world.model.requests) expect(tokens(request)).toBeLessThan(7_000);
  });

  test.each([
    ["fails", new Error("no quota")],
    ["says nothing", " "],
  ])("where the cheap model %s twice, the middle is left out with a note", async (_how, answer) => {
    const cheap = summaries(answer);
    const world = openWorld([...reads(16), { text: "ok" }], {
      tools: [page],
      maxTurns: 20,
      window: { ...SMALL, summarise: cheap.callModel },
    });
    expect(await world.run()).toMatchObject({ reason: "answered" });
    const compactions = world.kinds().filter((kind) => kind === "context-summarised").length;
    expect(compactions).toBeGreaterThan(0);
    expect(cheap.requests).toHaveLength(2 * compactions);
    const [first, second] = cheap.requests.map((one) => one.messages.at(-1)?.text.length ?? 0);
    expect(second).toBeLessThanOrEqual(first ?? 0);
    expect(texts(world.model.requests.at(-1))[2]).toMatch(
      /^\[\d+ earlier messages were left out.*page ×\d+\.\]$/,
    );
  });

  test("an interrupt during a summary ends the loop as interrupted, without the summary", async () => {
    const world = openWorld([...reads(16), { text: "never" }], {
      tools: [page],
      maxTurns: 20,
      window: {
        ...SMALL,
        summarise: (_request, { signal }) => {
          world.abort({ kind: "cancel", by: "someone" });
          return Promise.reject(signal.reason);
        },
      },
    });
    expect(await world.run()).toMatchObject({ reason: "interrupted" });
    expect(world.kinds()).not.toContain("context-summarised");
  });
});

describe("the estimate", () => {
  test("is corrected by what the provider counted", async () => {
    const counting = (n: number): Step => ({
      ...(read(n) as object),
      // Twice what we think.
      usage: { inputTokens: 2_600 * n + 200, outputTokens: 1, cachedInputTokens: 0, reasoningTokens: 0 },
    });
    const options = { tools: [page], window: { contextLength: 16_000, maxOutputTokens: 1_000 } };
    const corrected = openWorld([0, 1, 2, 3, 4, 5, 6].map(counting).concat([{ text: "ok" }]), options);
    await corrected.run();
    const trusting = openWorld([...reads(7), { text: "ok" }], options);
    await trusting.run();
    expect(corrected.kinds()).toContain("context-elided");
    expect(trusting.kinds()).not.toContain("context-elided");
  });

  test("that was wrong is mended once: a refusal as too long makes room and asks again", async () => {
    const tooLong = Object.assign(new Error("400"), { isTooLong: true });
    let refusals = 0;
    const limited = (inner: Step): Step => {
      return async (request, options) => {
        if (tokens(request) > 5_000) {
          refusals += 1;
          throw tooLong;
        }
        return typeof inner === "function" ? await inner(request, options) : reply(inner as object);
      };
    };
    // The context is configured ten times too large; the script has room for every refusal.
    const script = Array.from({ length: 40 }, (_, n) => n);
    let turn = 0;
    const world = openWorld(
      script.map(() => async (request, options) => {
        const step = limited(turn < 9 ? read(turn) : { text: "ok" });
        const answer = await (typeof step === "function" ? step(request, options) : Promise.reject(step));
        turn += 1;
        return answer;
      }),
      {
        tools: [page],
        window: { contextLength: 80_000, maxOutputTokens: 1_000 },
        errorClassOf: (error) => (error === tooLong ? "contextLength" : "other"),
      },
    );
    expect(await world.run()).toMatchObject({ reason: "answered", turns: 10 });
    // What was learned holds: not every later turn is refused first.
    expect(refusals).toBeGreaterThan(0);
    expect(refusals).toBeLessThan(4);
  });

  test("a refusal that nothing can be done about ends the run with the provider's own error", async () => {
    const tooLong = new Error("400");
    const world = openWorld([tooLong], { errorClassOf: () => "contextLength" });
    const end = await world.run();
    expect(end).toMatchObject({ reason: "failed", turns: 1 });
    expect(end.error).toBe(tooLong);
    expect(world.model.requests).toHaveLength(1);
  });
});

test("a long conversation that is given stays whole where it is the head, and is fitted where it is not", async () => {
  const before: Message[] = [
    { role: "system", text: "s" },
    { role: "user", text: "earlier question" },
    { role: "assistant", text: "x".repeat(60_000), toolCalls: [] },
    { role: "user", text: "now this" },
    { role: "assistant", text: "short", toolCalls: [] },
    { role: "user", text: "and this" },
  ];
  const world = openWorld([{ text: "ok" }], { window: SMALL });
  await world.run(before);
  expect(texts(world.model.requests[0])).toEqual([
    "s",
    "earlier question",
    expect.stringContaining("earlier messages were left out"),
    "now this",
    "short",
    "and this",
  ]);
});
