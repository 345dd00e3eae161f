// S3: every attempt is set aside before it begins and settled after it ended.

import { describe, expect, test } from "vitest";
import { chooseModels } from "../../../src/agent/models/choose-model.ts";
import { requirePriced, unpricedModels } from "../../../src/agent/models/price.ts";
import { modelsOf } from "../../../src/records/models-config.ts";
import { cutAfter, fail, makeGate, say, startModelServer } from "../../support/model-server.ts";
import { asks, bookkeeper, calling, chainOf, portFor, scripted } from "./ports.ts";

const use = (book: ReturnType<typeof bookkeeper>, hasMoneyLimit = false) => ({
  budget: { rootId: "root", ledger: book.ledger, hasMoneyLimit },
});

describe("S3: a call under a budget", () => {
  test("sets input and maximum output aside at list price, and settles what was really used", async () => {
    const gate = makeGate();
    const server = await startModelServer([
      say("Fine.", { gate, usage: { input: 50, output: 20, cached: 10 } }),
    ]);
    const book = bookkeeper();
    const { call } = portFor(chainOf({ main: scripted(server, { maxOutputTokens: 1_000 }) }), use(book));
    const pending = call(asks("Go."), calling());
    await gate.whenWaiting();
    const held = book.row();
    expect(held.reservedTokens).toBeGreaterThan(1_000);
    expect(held.reservedTokens).toBeLessThan(1_050);
    expect(held.reservedMicroUsd).toBe((held.reservedTokens - 1_000) * 2 + 1_000 * 10);
    gate.open();
    await pending;
    expect(book.row()).toMatchObject({
      spent: { inputTokens: 50, outputTokens: 20, microUsd: 40 * 2 + 10 * 0.5 + 20 * 10, calls: 1 },
      reservedTokens: 0,
      reservedMicroUsd: 0,
    });
  });

  test("sends a ceiling where neither call nor config names one", async () => {
    const server = await startModelServer([say("x"), say("x")]);
    const chain = chainOf({ main: scripted(server) });
    await portFor(chain, use(bookkeeper())).call(asks("Go."), calling());
    await portFor(chain).call(asks("Go."), calling());
    expect(server.requests.map(({ body }) => body.max_tokens)).toEqual([8_192, undefined]);
  });

  test("is refused before it is sent when there is no room, with what was spent", async () => {
    const server = await startModelServer([]);
    const book = bookkeeper({ maxTokens: 500 });
    const { call } = portFor(chainOf({ main: scripted(server, { maxOutputTokens: 1_000 }) }), use(book));
    await expect(call(asks("Go."), calling())).rejects.toMatchObject({
      code: "budget.spent",
      message: expect.stringMatching(
        /^The budget of 500 tokens has no room for the next call: 0 tokens spent/,
      ),
    });
    const poor = bookkeeper({ maxMicroUsd: 900 });
    const second = portFor(chainOf({ main: scripted(server, { maxOutputTokens: 1_000 }) }), use(poor, true));
    await expect(second.call(asks("Go."), calling())).rejects.toMatchObject({
      code: "budget.spent",
      message: expect.stringContaining("$0.000900"),
    });
  });

  test("of two calls side by side, the second finds what the first has set aside", async () => {
    const gate = makeGate();
    const server = await startModelServer([say("Fine.", { gate })]);
    const book = bookkeeper({ maxTokens: 1_500 });
    const { call } = portFor(chainOf({ main: scripted(server, { maxOutputTokens: 1_000 }) }), use(book));
    const pending = call(asks("One."), calling());
    await gate.whenWaiting();
    await expect(call(asks("Two."), calling())).rejects.toMatchObject({ code: "budget.spent" });
    gate.open();
    expect((await pending).text).toBe("Fine.");
  });

  test("reserves and settles each attempt: a refused one costs nothing, its retry is paid", async () => {
    const server = await startModelServer([fail(429), say("Fine.", { usage: { input: 9, output: 4 } })]);
    const book = bookkeeper();
    const { call, clock } = portFor(chainOf({ main: scripted(server) }), use(book));
    const pending = call(asks("Go."), calling());
    await clock.whenSleeping();
    await clock.advance(1_100);
    await pending;
    expect(book.settled.map(({ spent }) => spent.calls)).toEqual([0, 1]);
    expect(book.row()).toMatchObject({ spent: { inputTokens: 9, outputTokens: 4 }, reservedTokens: 0 });
  });

  test("that is cut counts its input and what had come, by estimate", async () => {
    const server = await startModelServer([
      cutAfter("Fifty words or so, ", "said before the line went dead."),
      fail(400),
    ]);
    const book = bookkeeper();
    const { call, clock } = portFor(chainOf({ main: scripted(server) }), use(book));
    const pending = call(asks("Go."), calling({ onChunk() {} }));
    const ended = expect(pending).rejects.toThrow();
    await clock.whenSleeping();
    await clock.advance(1_100);
    await ended;
    const { spent, reservedTokens } = book.row();
    expect(spent.inputTokens).toBeGreaterThan(5);
    expect(spent.outputTokens).toBeGreaterThan(5);
    expect(spent.outputTokens).toBeLessThan(30);
    expect(reservedTokens).toBe(0);
  });

  test("that is cancelled is settled too", async () => {
    const server = await startModelServer([{ kind: "hang" }]);
    const book = bookkeeper();
    const { call } = portFor(chainOf({ main: scripted(server) }), use(book));
    const stop = new AbortController();
    const pending = call(asks("Go."), calling({ signal: stop.signal }));
    await server.arrived(1);
    stop.abort(new Error("stop"));
    await expect(pending).rejects.toThrow("stop");
    expect(book.row()).toMatchObject({ spent: { calls: 1 }, reservedTokens: 0 });
  });

  test("whose provider counts nothing is estimated, and so is the reply's usage", async () => {
    const server = await startModelServer([say("A few words.", { usage: null })]);
    const book = bookkeeper();
    const { call } = portFor(chainOf({ main: scripted(server) }), use(book));
    const reply = await call(asks("Go."), calling());
    expect(reply.usage.inputTokens).toBeGreaterThan(5);
    expect(reply.usage.outputTokens).toBeGreaterThan(1);
    expect(book.row().spent).toMatchObject({
      inputTokens: reply.usage.inputTokens,
      outputTokens: reply.usage.outputTokens,
    });
  });

  test("keeps its reply when the ledger cannot settle: the reservation stays, and so counts as spent", async () => {
    const server = await startModelServer([say("Fine.")]);
    const book = bookkeeper();
    const ledger = { ...book.ledger, settle: () => Promise.reject(new Error("disk full")) };
    const budget = { rootId: "root", ledger, hasMoneyLimit: false };
    const { call } = portFor(chainOf({ main: scripted(server) }), { budget });
    expect((await call(asks("Go."), calling())).text).toBe("Fine.");
    expect(book.row().reservedTokens).toBeGreaterThan(0);
  });
});

describe("S3: dollars and models without a price", () => {
  test("the model asked for must have one; a fallback without is passed over", async () => {
    const server = await startModelServer([fail(401), say("Paid.")]);
    const free = { ...scripted(server), price: undefined };
    const unpriced = portFor(chainOf({ main: free }), use(bookkeeper(), true));
    await expect(unpriced.call(asks("Go."), calling())).rejects.toMatchObject({ code: "model.unpriced" });
    const chain = chainOf({ main: scripted(server), free, paid: scripted(server) });
    const { call } = portFor(chain, use(bookkeeper(), true));
    expect(await call(asks("Go."), calling())).toMatchObject({ model: "paid" });
    expect(unpricedModels(chain)).toEqual(["free"]);
  });

  test("is refused at creation already, and only where dollars are limited", async () => {
    const named = { main: { provider: "ollama" as const, id: "m" } };
    const chain = chooseModels({ models: modelsOf({ named }), variable: () => undefined });
    expect(() => requirePriced(chain, { usd: 1 })).toThrow(
      expect.objectContaining({
        code: "model.unpriced",
        hint: expect.stringContaining("0 for a model of your own"),
      }),
    );
    expect(() => requirePriced(chain, { tokens: 1_000 })).not.toThrow();
  });
});
