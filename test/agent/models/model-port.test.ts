// The model port over real HTTP: replies, retries, fallbacks, cancelling. Budgets: model-budget.test.ts.

import { describe, expect, test } from "vitest";
import type { ModelChunk } from "../../../src/records/model.ts";
import {
  callTools,
  cutAfter,
  empty,
  fail,
  huge,
  makeGate,
  raw,
  redirect,
  say,
  stallAfter,
  startModelServer,
} from "../../support/model-server.ts";
import { asks, calling, chainOf, LOOK, portFor, scripted } from "./ports.ts";

/** Collects what a caller is told. */
function listener() {
  const chunks: ModelChunk[] = [];
  return { chunks, options: calling({ onChunk: (chunk) => chunks.push(chunk) }) };
}

describe("a reply", () => {
  test("streams text, reasoning and parallel calls in order, then comes whole with usage and cost", async () => {
    const server = await startModelServer([
      callTools(
        [
          { id: "a", name: "look", arguments: { at: "sea" } },
          { id: "b", name: "look", arguments: '{"at": ' },
        ],
        {
          text: ["I ", "look."],
          reasoning: "Hm.",
          usage: { input: 1_000, output: 200, cached: 400, reasoning: 50 },
        },
      ),
    ]);
    const { call } = portFor(chainOf({ main: scripted(server) }));
    const { chunks, options } = listener();

    const reply = await call(asks("Look.", { tools: [LOOK] }), options);

    expect(chunks).toEqual([
      { kind: "reasoning", text: "Hm." },
      { kind: "text", text: "I " },
      { kind: "text", text: "look." },
      { kind: "toolCall", name: "look" },
      { kind: "toolCall", name: "look" },
    ]);
    expect(reply).toMatchObject({
      text: "I look.",
      reasoning: "Hm.",
      toolCalls: [
        { id: "a", name: "look", arguments: '{"at":"sea"}' },
        { id: "b", name: "look", arguments: '{"at": ' },
      ],
      finish: "toolCalls",
      usage: { inputTokens: 1_000, outputTokens: 200, cachedInputTokens: 400, reasoningTokens: 50 },
      model: "main",
    });
    // 600 × $2 + 400 × $0.50 + 200 × $10, per million.
    expect(reply.costUsd).toBeCloseTo(0.0034, 9);
  });

  test("is asked for whole where the config says `stream: false`", async () => {
    const server = await startModelServer([say("Done.")]);
    const { call } = portFor(chainOf({ main: scripted(server, { stream: false }) }));
    expect(await call(asks("Go."), calling())).toMatchObject({ text: "Done.", finish: "stop" });
    expect(server.requests[0]?.isStreaming).toBe(false);
  });

  test("carries what config and call ask for: temperature, effort, maximum output, no more tools", async () => {
    const server = await startModelServer([say("x")]);
    const config = scripted(server, { temperature: 0.2, reasoningEffort: "low", maxOutputTokens: 900 });
    const { call } = portFor(chainOf({ main: config }));
    await call(asks("Go.", { tools: [LOOK], toolChoice: "none", maxOutputTokens: 700 }), calling());
    expect(server.requests[0]?.body).toMatchObject({
      temperature: 0.2,
      reasoning_effort: "low",
      max_tokens: 700,
      tool_choice: "none",
      tools: [{ type: "function", function: { name: "look", description: LOOK.description } }],
    });
  });

  test("may be empty, cut for length, or large: 3 MB in pieces arrive whole", async () => {
    const server = await startModelServer([empty(), say("a", { finish: "length" }), huge(3_000_000)]);
    const { call } = portFor(chainOf({ main: scripted(server) }));
    expect(await call(asks("1"), calling())).toMatchObject({ text: "", toolCalls: [], finish: "stop" });
    expect(await call(asks("2"), calling())).toMatchObject({ text: "a", finish: "length" });
    expect((await call(asks("3"), calling())).text.length).toBe(3_000_000);
  });

  test("gives each call an id of its own where a server repeats or leaves out ids", async () => {
    const twice = { name: "look", arguments: {} };
    const server = await startModelServer([
      callTools([
        { ...twice, id: "0-3" },
        { ...twice, id: "0" },
        { ...twice, id: "0" },
        { ...twice, id: "" },
      ]),
    ]);
    const { call } = portFor(chainOf({ main: scripted(server, { stream: false }) }));
    const { toolCalls } = await call(asks("Go.", { tools: [LOOK] }), calling());
    const ids = new Set(toolCalls.map(({ id }) => id));
    expect([ids.size, ids.has("")]).toEqual([4, false]);
  });

  test("S4: a slow drip is a sign of life for every piece", async () => {
    const gate = makeGate();
    const server = await startModelServer([say(["a", "b"], { gate })]);
    const { call } = portFor(chainOf({ main: scripted(server) }));
    const activities: string[] = [];
    const pending = call(asks("Go."), calling({ onActivity: (activity) => activities.push(activity) }));
    await gate.whenWaiting();
    gate.open();
    await pending;
    expect(activities).toEqual(["asking main", "main answers (200)", "writing", "writing"]);
  });
});

describe("S4: a retry", () => {
  test.each([408, 409, 429, 500, 502, 503, 529])(
    "is made after %d, and the caller never learns",
    async (status) => {
      const server = await startModelServer([fail(status), say("Fine.")]);
      const { call, clock } = portFor(chainOf({ main: scripted(server) }));
      const pending = call(asks("Go."), calling());
      await clock.whenSleeping();
      await clock.advance(1_100);
      expect(await pending).toMatchObject({ text: "Fine." });
    },
  );

  test.each([400, 401, 402, 403, 404, 413, 422])(
    "is not made after %d: the error comes as it is",
    async (status) => {
      const server = await startModelServer([fail(status, { message: "no" })]);
      const { call } = portFor(chainOf({ main: scripted(server) }));
      await expect(call(asks("Go."), calling())).rejects.toMatchObject({
        name: "AI_APICallError",
        statusCode: status,
      });
      expect(server.requests).toHaveLength(1);
    },
  );

  test("waits as long as Retry-After says in seconds, and not a millisecond less", async () => {
    const server = await startModelServer([fail(429, { retryAfter: 40 }), say("Fine.")]);
    const { call, clock } = portFor(chainOf({ main: scripted(server) }));
    const pending = call(asks("Go."), calling());
    await clock.whenSleeping();
    await clock.advance(39_999);
    expect(server.requests).toHaveLength(1);
    await clock.advance(4_001);
    expect(await pending).toMatchObject({ text: "Fine." });
  });

  test("waits until the date that Retry-After names", async () => {
    const server = await startModelServer([
      fail(503, { retryAfter: "Sun, 29 Nov 2026 06:00:20 GMT" }),
      say("Fine."),
    ]);
    const { call, clock } = portFor(chainOf({ main: scripted(server) }));
    const pending = call(asks("Go."), calling());
    await clock.whenSleeping();
    await clock.advance(19_999);
    expect(server.requests).toHaveLength(1);
    await clock.advance(2_001);
    expect(await pending).toMatchObject({ text: "Fine." });
  });

  test("is not waited for where a provider asks for an hour", async () => {
    const server = await startModelServer([fail(429, { retryAfter: 3_600 })]);
    const { call } = portFor(chainOf({ main: scripted(server) }));
    await expect(call(asks("Go."), calling())).rejects.toMatchObject({ statusCode: 429 });
  });

  test("is given up after five attempts with growing delays", async () => {
    const server = await startModelServer([fail(500), fail(500), fail(500), fail(500), fail(500)]);
    const { call, clock } = portFor(chainOf({ main: scripted(server) }));
    const pending = call(asks("Go."), calling());
    const ended = expect(pending).rejects.toMatchObject({ statusCode: 500 });
    for (const ms of [1_100, 2_200, 4_400, 8_800]) {
      await clock.whenSleeping();
      await clock.advance(ms);
    }
    await ended;
    expect(server.requests).toHaveLength(5);
  });

  test("is made when the connection breaks before anything was told", async () => {
    const server = await startModelServer([{ kind: "drop" }, say("Fine.")]);
    const { call, clock } = portFor(chainOf({ main: scripted(server) }));
    const { chunks, options } = listener();
    const pending = call(asks("Go."), options);
    await clock.whenSleeping();
    await clock.advance(1_100);
    expect(await pending).toMatchObject({ text: "Fine." });
    expect(chunks).toEqual([{ kind: "text", text: "Fine." }]);
  });

  test("after a cut answer that somebody heard, tells first that what was heard is void", async () => {
    const server = await startModelServer([cutAfter("One ", "two"), say("One two three.")]);
    const { call, clock } = portFor(chainOf({ main: scripted(server) }));
    const { chunks, options } = listener();
    const pending = call(asks("Go."), options);
    await clock.whenSleeping();
    await clock.advance(1_100);
    expect((await pending).text).toBe("One two three.");
    expect(chunks).toEqual([
      { kind: "text", text: "One " },
      { kind: "text", text: "two" },
      { kind: "restart" },
      { kind: "text", text: "One two three." },
    ]);
  });

  test("is made after a cut answer that nobody has listened to", async () => {
    const server = await startModelServer([cutAfter("One ", "two"), say("One two three.")]);
    const { call, clock } = portFor(chainOf({ main: scripted(server) }));
    const pending = call(asks("Go."), calling());
    await clock.whenSleeping();
    await clock.advance(1_100);
    expect((await pending).text).toBe("One two three.");
  });
});

describe("the fallback chain", () => {
  test.each([401, 402, 403])("S4: is taken after %d, without a wait", async (status) => {
    const server = await startModelServer([fail(status), say("Spare here.")]);
    const { call } = portFor(chainOf({ main: scripted(server), spare: scripted(server, { id: "other" }) }));
    expect(await call(asks("Go."), calling())).toMatchObject({ text: "Spare here.", model: "spare" });
    expect(server.requests.map(({ body }) => body.model)).toEqual(["scripted", "other"]);
  });

  test("S4: is taken when the host of the first model cannot be reached", async () => {
    const gone = await startModelServer([]);
    await gone.close();
    const server = await startModelServer([say("Spare here.")]);
    const { call, clock } = portFor(chainOf({ main: scripted(gone), spare: scripted(server) }));
    const pending = call(asks("Go."), calling());
    for (const ms of [1_100, 2_200, 4_400, 8_800]) {
      await clock.whenSleeping();
      await clock.advance(ms);
    }
    expect(await pending).toMatchObject({ model: "spare" });
  });

  test.each([400, 404])("is not taken after %d: another model would meet it too", async (status) => {
    const server = await startModelServer([fail(status)]);
    const { call } = portFor(chainOf({ main: scripted(server), spare: scripted(server) }));
    await expect(call(asks("Go."), calling())).rejects.toMatchObject({ statusCode: status });
  });

  test("ends with the error of the model that was asked for when all fail", async () => {
    const server = await startModelServer([
      fail(401, { message: "first" }),
      fail(403, { message: "second" }),
    ]);
    const { call } = portFor(chainOf({ main: scripted(server), spare: scripted(server) }));
    await expect(call(asks("Go."), calling())).rejects.toMatchObject({ statusCode: 401 });
  });
});

describe("an answer that is none", () => {
  test("wrong JSON is a provider's error as it is, and not asked for again", async () => {
    const server = await startModelServer([raw("<html>It works!</html>", "text/html")]);
    const { call } = portFor(chainOf({ main: scripted(server, { stream: false }) }));
    await expect(call(asks("Go."), calling())).rejects.toMatchObject({
      name: "AI_APICallError",
      statusCode: 200,
    });
  });

  test("an error inside a stream is the call's error", async () => {
    const server = await startModelServer([
      raw('data: {"error":{"message":"The model is gone","type":"server_error"}}\n\n', "text/event-stream"),
      say("Fine."),
    ]);
    const { call, clock } = portFor(chainOf({ main: scripted(server) }));
    const pending = call(asks("Go."), calling());
    await clock.whenSleeping();
    await clock.advance(1_100);
    expect((await pending).text).toBe("Fine.");
  });

  test("S4: a redirect is refused, and the key is not sent along", async () => {
    const other = await startModelServer([]);
    const server = await startModelServer([redirect(`${other.baseUrl}/chat/completions`)]);
    const { call } = portFor(
      chainOf({ main: scripted(server, { key: "${env:OWN}" }) }, { OWN: "secret-key" }),
    );
    await expect(call(asks("Go."), calling())).rejects.toMatchObject({ code: "model.host-refused" });
    expect(server.requests[0]?.headers.authorization).toBe("Bearer secret-key");
    expect(other.requests).toEqual([]);
  });
});

describe("cancelling", () => {
  test("ends a stalled stream at once, with the signal's reason, and closes the connection", async () => {
    const server = await startModelServer([stallAfter("One")]);
    const { call } = portFor(chainOf({ main: scripted(server) }));
    const stop = new AbortController();
    const reason = new Error("cancelled by a person");
    const pending = call(asks("Go."), calling({ signal: stop.signal, onChunk: () => stop.abort(reason) }));
    await expect(pending).rejects.toBe(reason);
    expect(await (await server.arrived(1)).ended).toBe("gone");
  });

  test("ends a request that nobody answers", async () => {
    const server = await startModelServer([{ kind: "hang" }]);
    const { call } = portFor(chainOf({ main: scripted(server), spare: scripted(server) }));
    const stop = new AbortController();
    const pending = call(asks("Go."), calling({ signal: stop.signal }));
    const request = await server.arrived(1);
    const reason = new Error("stop");
    stop.abort(reason);
    await expect(pending).rejects.toBe(reason);
    expect(await request.ended).toBe("gone");
  });

  test("ends a wait between attempts, and asks nothing that was cancelled before", async () => {
    const server = await startModelServer([fail(429, { retryAfter: 60 })]);
    const { call, clock } = portFor(chainOf({ main: scripted(server) }));
    const stop = new AbortController();
    const pending = call(asks("Go."), calling({ signal: stop.signal }));
    await clock.whenSleeping();
    const reason = new Error("stop");
    stop.abort(reason);
    await expect(pending).rejects.toBe(reason);
    await expect(call(asks("Go."), calling({ signal: stop.signal }))).rejects.toBe(reason);
    expect(server.requests).toHaveLength(1);
    expect(clock.sleeping()).toBe(0);
  });
});
