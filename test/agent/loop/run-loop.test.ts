// The loop's turns and ends, with a model that follows a script and real tools.

import { describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { defineTool } from "../../../src/agent/define-tool.ts";
import { Fault } from "../../../src/kernel/errors.ts";
import { call, openWorld, type Step, tool } from "./scripted-model.ts";

describe("a conversation", () => {
  test("goes on while the model calls tools, and ends with its answer", async () => {
    const world = openWorld([
      { text: "Looking.", reasoning: "Hm.", toolCalls: [call("echo", { value: "a" })] },
      { text: "Done." },
    ]);
    const end = await world.run();
    expect(end).toMatchObject({
      reason: "answered",
      text: "Done.",
      isCut: false,
      why: "",
      turns: 2,
      calls: 2,
    });
    expect(world.kinds()).toEqual([
      "agent-started",
      "turn-started",
      "reasoning-arrived",
      "text-arrived",
      "message-added",
      "tool-started",
      "tool-finished",
      "message-added",
      "turn-finished",
      "turn-started",
      "text-arrived",
      "message-added",
      "turn-finished",
      "agent-finished",
    ]);
    expect(world.model.requests[1]?.messages.slice(2)).toEqual([
      { role: "assistant", text: "Looking.", reasoning: "Hm.", toolCalls: [call("echo", { value: "a" })] },
      { role: "tool", callId: "id-echo", name: "echo", text: '{"error":null,"value":"a"}' },
    ]);
  });

  test("sums usage and cost, and has no cost as soon as one reply has no price", async () => {
    const usage = { inputTokens: 10, outputTokens: 3, cachedInputTokens: 4, reasoningTokens: 1 };
    const first = { usage, toolCalls: [call("echo", { value: "a" })] };
    const priced = await openWorld([first, { text: "x", usage, costUsd: 0.5 }]).run();
    expect(priced.costUsd).toBeCloseTo(0.501);
    expect(priced.usage).toEqual({
      inputTokens: 20,
      outputTokens: 6,
      cachedInputTokens: 8,
      reasoningTokens: 2,
    });
    const unpriced = await openWorld([first, { text: "x", costUsd: undefined }]).run();
    expect(unpriced.costUsd).toBeUndefined();
  });

  test("gives back to the provider the opaque parts of its reply, and to nobody else", async () => {
    const world = openWorld([
      { toolCalls: [call("echo", { value: "a" })], providerParts: [{ signature: "opaque" }] },
      { text: "x" },
    ]);
    const end = await world.run();
    expect(world.model.requests[1]?.messages[2]).toHaveProperty("providerParts", [{ signature: "opaque" }]);
    expect(JSON.stringify([world.events, end.messages])).not.toContain("opaque");
  });
});

describe("limits", () => {
  test("when the turns are used up the model gets one more to answer, without tools", async () => {
    const calling = { toolCalls: [call("echo", { value: "a" })] };
    const world = openWorld([calling, calling, { text: "Half of it." }], { maxTurns: 2 });
    const end = await world.run();
    expect(end).toMatchObject({ reason: "maxTurns", text: "Half of it.", turns: 3 });
    expect(end.why).toBe("The agent used all of its 2 turns and was told to answer with what it had.");
    expect(world.model.requests.map(({ toolChoice }) => toolChoice)).toEqual(["auto", "auto", "none"]);
    expect(world.model.requests[2]?.messages.at(-1)).toMatchObject({ role: "user", origin: "lastTurn" });
  });

  test("a model that calls tools even then is not obeyed, and no call is left without a result", async () => {
    const calling = { toolCalls: [call("echo", { value: "a" })] };
    const world = openWorld([{ ...calling, text: "So far." }, calling], { maxTurns: 1 });
    const end = await world.run();
    // What was said on the way is no answer, but it is kept.
    expect(end).toMatchObject({ reason: "empty", text: "So far." });
    expect(end.why).toContain("did not answer when told to");
    expect(world.results()).toEqual(['{"error":null,"value":"a"}', '{"error":"Not run: no turn is left."}']);
    expect(world.kinds().filter((kind) => kind === "tool-started")).toHaveLength(1);
  });

  test.each([
    ["blank text", { text: " \n" }, "The model ended without any text."],
    [
      "nothing but thoughts up to the limit",
      { reasoning: "…", finish: "length" } as const,
      "used up its maximum output",
    ],
  ])("%s is no answer (DESIGN §6)", async (_what, step, why) => {
    const end = await openWorld([step]).run();
    expect(end).toMatchObject({ reason: "empty", text: "" });
    expect(end.why).toContain(why);
  });

  test("an answer that reached the maximum length is kept and marked as cut", async () => {
    const end = await openWorld([{ text: "The first half", finish: "length" }]).run();
    expect(end).toMatchObject({ reason: "answered", text: "The first half", isCut: true });
  });

  test("a provider's filter is a failure with a sentence, and calls in that reply are not run", async () => {
    const world = openWorld([
      { text: "I will", toolCalls: [call("echo", { value: "a" })], finish: "filter" },
    ]);
    const end = await world.run();
    expect(end).toMatchObject({ reason: "failed", error: undefined, text: "I will" });
    expect(end.why).toContain("content filter");
    expect(world.results()[0]).toContain("Not run");
  });
});

describe("malformed calls", () => {
  const bad = { toolCalls: [call("ecko", { value: "a" })] };

  test("three turns of nothing else end the run; before that the model is told what is known", async () => {
    const world = openWorld([bad, bad, bad]);
    const end = await world.run();
    expect(end).toMatchObject({ reason: "malformedCalls", turns: 3 });
    expect(end.why).toContain("Did you mean echo?");
    expect(JSON.parse(world.results()[0] ?? "")).toEqual({
      error: 'There is no tool named "ecko". Did you mean echo? There are: echo.',
    });
  });

  test("many bad calls in one turn are one strike: a model can only mend what it was told of", async () => {
    const world = openWorld([
      { toolCalls: [1, 2, 3, 4].map((n) => call("ecko", { value: "a" }, `c${n}`)) },
      { text: "Sorry, done." },
    ]);
    expect(await world.run()).toMatchObject({ reason: "answered" });
    expect(world.results()).toHaveLength(4);
  });

  test("one good call clears the strikes, also beside bad ones", async () => {
    const mixed = { toolCalls: [call("ecko", {}, "1"), call("echo", { value: "a" }, "2")] };
    expect(await openWorld([bad, bad, mixed, bad, bad, { text: "ok" }]).run()).toMatchObject({
      reason: "answered",
    });
  });

  test.each([
    ["no JSON", '{"value": "a"', "The arguments of echo are no JSON."],
    ["a list", '["a"]', "The arguments of echo are no JSON object."],
    ["the wrong shape", '{"valu": "a"}', "value"],
  ])("arguments that are %s come back as a sentence", async (_what, text, sentence) => {
    const world = openWorld([{ toolCalls: [call("echo", text)] }, { text: "ok" }]);
    await world.run();
    expect(JSON.parse(world.results()[0] ?? "").error).toContain(sentence);
    expect(world.kinds()).not.toContain("tool-started");
  });

  test("a call that the maximum length cut off is not run, those before it are", async () => {
    const world = openWorld([
      { finish: "length", toolCalls: [call("echo", { value: "a" }, "1"), call("echo", '{"value": "b', "2")] },
      { finish: "length", toolCalls: [call("echo", "", "3")] },
      { text: "ok" },
    ]);
    await world.run();
    const [first, cut, unbegun] = world.results().map((text) => JSON.parse(text));
    expect(first).toEqual({ error: null, value: "a" });
    expect(cut.error).toContain("was cut off: the reply reached its maximum length. Nothing was done.");
    expect(unbegun.error).toContain("was cut off");
  });

  test("no arguments at all are an empty object", async () => {
    const now = defineTool({
      name: "now",
      toolset: "test",
      description: "Tells the time.",
      schema: z.strictObject({}),
      isParallelSafe: true,
      run: async () => ({ error: null, at: "noon" }),
    });
    const world = openWorld([{ toolCalls: [call("now", "")] }, { text: "ok" }], { tools: [now] });
    await world.run();
    expect(world.results()).toEqual(['{"error":null,"at":"noon"}']);
  });
});

describe("failures", () => {
  test("a provider's error comes back untouched, with the text that had arrived", async () => {
    const error = new Error("upstream said no to s3cr3t-value\nwith details");
    const step: Step = async (_request, { onChunk }) => {
      onChunk?.({ kind: "text", text: "The disk is" });
      throw error;
    };
    const end = await openWorld([step], { secrets: ["s3cr3t-value"] }).run();
    expect(end.error).toBe(error);
    expect(end.why).toBe("The model main failed in turn 1: upstream said no to [redacted] with details");
    expect(end).toMatchObject({ reason: "failed", text: "The disk is", turns: 1, calls: 0 });
    expect(end.messages.at(-1)).toEqual({ role: "assistant", text: "The disk is", toolCalls: [] });
  });

  test("a tool that throws is a result for the model and a line in the log, both redacted", async () => {
    const boom = tool("boom", () => {
      throw new Error("no way: s3cr3t-value");
    });
    const world = openWorld([{ toolCalls: [call("boom", { value: "a" })] }, { text: "ok" }], {
      tools: [boom],
      secrets: ["s3cr3t-value"],
    });
    expect(await world.run()).toMatchObject({ reason: "answered" });
    expect(world.results()).toEqual(['{"error":"boom failed: no way: [redacted]"}']);
    expect(world.logs).toEqual([
      { event: "tool-threw", fields: { runId: "run-1", tool: "boom", error: "no way: [redacted]" } },
    ]);
  });

  const broken = new Fault("environment.broken", "The container is gone", { hint: "Start it." });
  const exec = (faults: readonly (Fault | undefined)[]) => {
    const left = [...faults];
    return tool("exec", () => {
      const fault = left.shift();
      if (fault) throw fault;
      return { error: null };
    });
  };
  const turns = Array.from({ length: 4 }, () => ({ toolCalls: [call("exec", { value: "ls" })] }));

  test("a broken environment is told to the model; twice in a row ends the run with the fault itself", async () => {
    const world = openWorld(turns, { tools: [exec([broken, broken])] });
    const end = await world.run();
    expect(end).toMatchObject({ reason: "failed", turns: 2 });
    expect(end.error).toBe(broken);
    expect(JSON.parse(world.results()[0] ?? "").error).toBe("The container is gone. Start it.");
  });

  test("one that came back in between is no reason to end", async () => {
    const tools = [exec([broken, undefined, broken, undefined])];
    expect(await openWorld([...turns, { text: "ok" }], { tools }).run()).toMatchObject({
      reason: "answered",
    });
  });

  test("a file that is not there is not a broken environment", async () => {
    const missing = new Fault("environment.file-missing", "There is no a.txt", { hint: "List the folder." });
    const tools = [exec([missing, missing, missing, missing])];
    expect(await openWorld([...turns, { text: "ok" }], { tools }).run()).toMatchObject({
      reason: "answered",
    });
  });
});
