// `check-env --models`: one tiny call, its latency, and a sentence where it fails.

import { describe, expect, test } from "vitest";
import { probeModel } from "../../../src/agent/models/probe-model.ts";
import type { ModelErrorClass } from "../../../src/records/model.ts";
import { manualClock } from "../../support/clock.ts";
import { fail, makeGate, raw, type Step, say, startModelServer } from "../../support/model-server.ts";
import { chainOf, START, scripted } from "./ports.ts";

async function probe(step: Step, act?: (clock: ReturnType<typeof manualClock>) => Promise<void>) {
  const server = await startModelServer([step]);
  const clock = manualClock(START);
  const { first } = chainOf({ main: scripted(server) });
  const probing = probeModel({ fetch: globalThis.fetch, clock }, first, new AbortController().signal);
  await server.arrived(1);
  await act?.(clock);
  const result = await probing;
  expect(clock.sleeping()).toBe(0);
  return { result, body: server.requests[0]?.body };
}

describe("a check of a model", () => {
  test("is one small call, with its latency", async () => {
    const gate = makeGate();
    const { result, body } = await probe(say("OK", { gate }), async (clock) => {
      await gate.whenWaiting();
      await clock.advance(250);
      gate.open();
    });
    expect(result).toEqual({ ok: true, name: "main", latencyMs: 250 });
    expect(body).toMatchObject({ max_tokens: 16, messages: [{ role: "user" }] });
  });

  test.each<[string, Step, ModelErrorClass, RegExp]>([
    ["a refused key", fail(401, { message: "bad key" }), "auth", /^bad key\. The key was refused\./],
    ["a busy provider", fail(429), "rateLimit", /Try again later\.$/],
    ["an unknown model", fail(404, { message: "no such model" }), "invalidRequest", /`id` and `baseUrl`\.$/],
    ["something else at the address", raw("<html>"), "badReply", /no model server of this kind/],
    ["a broken connection", { kind: "drop" }, "network", /cannot be reached/],
  ])("says what to do about %s, after one attempt", async (_what, step, errorClass, sentence) => {
    const { result } = await probe(step);
    expect(result).toMatchObject({ ok: false, errorClass, error: expect.stringMatching(sentence) });
  });

  test("gives up after 30 s, and leaves no timer", async () => {
    const { result } = await probe({ kind: "hang" }, (clock) => clock.advance(30_000));
    expect(result).toMatchObject({ ok: false, errorClass: "timeout", latencyMs: 30_000 });
  });

  test("ends with the signal's reason when it is cancelled", async () => {
    const server = await startModelServer([{ kind: "hang" }]);
    const clock = manualClock(START);
    const stop = new AbortController();
    const { first } = chainOf({ main: scripted(server) });
    const probing = probeModel({ fetch: globalThis.fetch, clock }, first, stop.signal);
    await server.arrived(1);
    const reason = new Error("stop");
    stop.abort(reason);
    await expect(probing).rejects.toBe(reason);
    expect(clock.sleeping()).toBe(0);
  });
});
