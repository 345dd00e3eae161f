// The loop with the real model port and a scripted model behind real HTTP: several turns, parallel and malformed calls,
// broken and stalled streams, slow drips.

import { describe, expect, test } from "vitest";
import { classOfModelError } from "../../../src/agent/models/model-error.ts";
import type { CallModel } from "../../../src/records/model.ts";
import {
  callTools,
  cutAfter,
  empty,
  fail,
  type ModelServer,
  makeGate,
  type Script,
  say,
  stallAfter,
  startModelServer,
} from "../../support/model-server.ts";
import { chainOf, portFor, scripted, type TestPort } from "../models/ports.ts";
import { echo, openWorld, tool, type World, type WorldOptions } from "./scripted-model.ts";

interface HttpWorld extends World {
  server: ModelServer;
  port: TestPort;
}

async function overHttp(script: Script, options: WorldOptions = {}, isAnthropic = false): Promise<HttpWorld> {
  const server = await startModelServer(script);
  const variables = { OWN_KEY: "own-key" };
  const config = isAnthropic ? { provider: "anthropic" as const, key: "${env:OWN_KEY}" } : {};
  const port = portFor(chainOf({ main: scripted(server, config) }, variables));
  const callModel: CallModel = port.call;
  return Object.assign(openWorld([], { callModel, errorClassOf: classOfModelError, ...options }), {
    server,
    port,
  });
}

const look = tool("look", (value) => ({ error: null, seen: value }), { isParallelSafe: true });
const looking = (...places: string[]) =>
  callTools(
    places.map((value, index) => ({ id: `call-${value}-${index}`, name: "look", arguments: { value } })),
  );

describe.each([
  ["OpenAI's form", false],
  ["Anthropic's form", true],
])("over HTTP in %s", (_form, isAnthropic) => {
  test("several turns with calls side by side: results reach the model in call order", async () => {
    const world = await overHttp(
      [looking("a", "b"), looking("c"), say(["All ", "seen."])],
      { tools: [look] },
      isAnthropic,
    );
    const end = await world.run();
    expect(end).toMatchObject({ reason: "answered", text: "All seen.", turns: 3, calls: 3 });
    expect(world.results()).toEqual(["a", "b", "c"].map((seen) => JSON.stringify({ error: null, seen })));
    const sent = JSON.stringify(world.server.requests[1]?.body);
    expect(sent.indexOf('\\"seen\\":\\"a\\"')).toBeGreaterThan(0);
    expect(sent.indexOf('\\"seen\\":\\"a\\"')).toBeLessThan(sent.indexOf('\\"seen\\":\\"b\\"'));
    expect(end.usage).toMatchObject({ inputTokens: 30, outputTokens: 15 });
    expect(end.costUsd).toBeGreaterThan(0);
  });

  test("a call that is no JSON is told to the model, which can mend it", async () => {
    const world = await overHttp(
      [
        callTools([{ name: "look", arguments: '{"value": "a' }]),
        callTools([{ name: "lok", arguments: { value: "a" } }]),
        looking("a"),
        say("Seen."),
      ],
      { tools: [look] },
      isAnthropic,
    );
    expect(await world.run()).toMatchObject({ reason: "answered", turns: 4 });
    const [notJson, unknown, good] = world.results().map((text) => JSON.parse(text));
    expect(notJson.error).toContain("no JSON");
    expect(unknown.error).toContain("Did you mean look?");
    expect(good).toEqual({ error: null, seen: "a" });
  });

  test("the last turn forbids calls and gets the answer", async () => {
    const world = await overHttp([looking("a"), say("Only a.")], { tools: [look], maxTurns: 1 }, isAnthropic);
    expect(await world.run()).toMatchObject({ reason: "maxTurns", text: "Only a." });
    const last = JSON.stringify(world.server.requests[1]?.body);
    expect(last).toContain("No turn is left");
  });
});

describe("over HTTP, when things go wrong", () => {
  test("a stream that is cut is asked for anew; what had come is void, and said to be", async () => {
    const heard: string[] = [];
    const world = await overHttp([cutAfter("Half an ", "answer"), say("A whole one.")], {
      onEvent: (event) => {
        if (event.kind === "text-arrived") heard.push(event.text);
        if (event.kind === "reply-restarted") heard.splice(0);
      },
    });
    const ending = world.run();
    await world.port.clock.whenSleeping();
    await world.port.clock.advance(1_100);
    expect(await ending).toMatchObject({ reason: "answered", text: "A whole one.", turns: 1 });
    expect(heard.join("")).toBe("A whole one.");
  });

  test("one that is cut each time keeps what came last, and the error is the provider's side's own", async () => {
    const cut = () => cutAfter("Half an ", "answer");
    const world = await overHttp([looking("a"), cut(), cut(), cut(), cut(), cut()], { tools: [look] });
    const ending = world.run();
    for (const ms of [1_100, 2_200, 4_400, 8_800]) {
      await world.port.clock.whenSleeping();
      await world.port.clock.advance(ms);
    }
    const end = await ending;
    expect(end).toMatchObject({ reason: "failed", turns: 2, text: "Half an answer" });
    expect(classOfModelError(end.error)).toBe("network");
  });

  test("L14: a stream that stalls is no activity; the interrupt ends it with the partial answer", async () => {
    const world = await overHttp([stallAfter("Thinking ", "about ")], {
      onEvent: (event) => {
        if (event.kind === "text-arrived" && event.text.includes("Thinking")) setImmediate(give);
      },
    });
    const give = () =>
      world.abort({
        kind: "idleTimeout",
        limitMs: 1,
        lastActivity: world.touches.at(-1) ?? "",
        lastActivityAt: 0,
      });
    const end = await world.run();
    expect(end.reason).toBe("interrupted");
    expect(end.text).toContain("Thinking");
    expect(new Set(world.touches)).toEqual(new Set(["turn 1, model main: text"]));
    expect(await world.server.requests[0]?.ended).toBe("gone");
  });

  test("L14: every piece of a slow drip is activity, and nothing in between is", async () => {
    const gate = makeGate();
    const world = await overHttp([say(["one ", "two ", "three"], { gate })]);
    const ending = world.run();
    for (const count of [0, 1, 2]) {
      await gate.whenWaiting();
      expect(world.touches.length).toBeLessThanOrEqual(count);
      gate.release();
    }
    gate.open();
    expect(await ending).toMatchObject({ reason: "answered", text: "one two three" });
    expect(world.touches).toHaveLength(3);
  });

  test("L14: waiting to ask again after a 429 is no activity", async () => {
    const world = await overHttp([fail(429, { retryAfter: 30 }), say("Now.")]);
    const ending = world.run();
    await world.port.clock.whenSleeping();
    expect(world.touches).toEqual([]);
    await world.port.clock.advance(40_000);
    expect(await ending).toMatchObject({ reason: "answered", text: "Now." });
  });

  test("an empty answer is a failure, a refused key keeps the provider's error", async () => {
    expect(await (await overHttp([empty()])).run()).toMatchObject({ reason: "empty" });
    const end = await (await overHttp([fail(401, { message: "bad key" })])).run();
    expect(end.reason).toBe("failed");
    expect(classOfModelError(end.error)).toBe("auth");
  });

  test("a reply that a filter cut is a failure; one cut by its length is kept and marked", async () => {
    expect(await (await overHttp([say("I", { finish: "filter" })])).run()).toMatchObject({
      reason: "failed",
    });
    expect(await (await overHttp([say("The first", { finish: "length" })])).run()).toMatchObject({
      reason: "answered",
      isCut: true,
    });
  });

  test("three turns of malformed calls end the run", async () => {
    const bad = callTools([{ name: "look", arguments: "{" }]);
    const end = await (await overHttp([bad, bad, bad], { tools: [look, echo] })).run();
    expect(end).toMatchObject({ reason: "malformedCalls", turns: 3 });
  });
});
