// S4: the same calls, whichever way they go. The bare port is the measure; every other way must be told apart from it by
// nothing that a caller can see.

import { describe, expect, test } from "vitest";
import type { CallModel, CallRole, ModelChunk } from "../../../src/records/model.ts";
import { manualClock } from "../../support/clock.ts";
import { callTools, fail, type Step, say, startModelServer } from "../../support/model-server.ts";
import { asks, calling, chainOf, LOOK, portFor, START, scripted } from "../models/ports.ts";
import { play, tape, watch, writeToFullDisk } from "./ways.ts";

type TestClock = ReturnType<typeof manualClock>;

/** What a caller can see of one call. */
interface Seen {
  chunks: ModelChunk[];
  reply?: unknown;
  error?: unknown;
}

async function see(call: CallModel, text: string, { role = "primary" as CallRole, listens = true } = {}) {
  const chunks: ModelChunk[] = [];
  const options = calling({
    role,
    ...(listens ? { onChunk: (chunk: ModelChunk) => chunks.push(chunk) } : {}),
  });
  const seen: Seen = { chunks };
  try {
    seen.reply = await call(asks(text, { tools: [LOOK] }), options);
  } catch (error) {
    const { name, message, statusCode, code, hint } = error as Record<string, unknown>;
    seen.error = { name, message, statusCode, code, hint };
  }
  return seen;
}

interface Scenario {
  script: Step[];
  stream?: boolean;
  /** Advances the clock for waits between attempts. */
  waitsMs?: number[];
  run(call: CallModel): Promise<Seen[]>;
}

const look = callTools(
  [
    { id: "a", name: "look", arguments: { at: "sea" } },
    { id: "b", name: "look", arguments: "{broken" },
  ],
  { text: ["I ", "look."], reasoning: ["Hm", "."], usage: { input: 90, output: 30, cached: 20 } },
);

const scenarios: Record<string, Scenario> = {
  "a streamed answer with reasoning and calls": {
    script: [look],
    run: async (call) => [await see(call, "Look.")],
  },
  "a whole answer": { script: [look], stream: false, run: async (call) => [await see(call, "Look.")] },
  "an answer that nobody listens to": {
    script: [look],
    run: async (call) => [await see(call, "Look.", { listens: false })],
  },
  "an empty answer": { script: [say("")], run: async (call) => [await see(call, "Nothing?")] },
  "a refusal": { script: [fail(401)], run: async (call) => [await see(call, "Go.")] },
  "a success at the second attempt": {
    script: [fail(503), say("Fine.")],
    waitsMs: [1_100],
    run: async (call) => [await see(call, "Go.")],
  },
  "turns one after the other": {
    script: [look, say("Done.")],
    run: async (call) => [await see(call, "One."), await see(call, "Two.")],
  },
  "an auxiliary call inside of a primary one": {
    script: [say("Summary."), say("Done.")],
    run: async (call) => {
      const inner: Seen[] = [];
      const outer: CallModel = async (request, options) => {
        inner.push(await see(call, "Summarise.", { role: "auxiliary" }));
        return call(request, options);
      };
      return [await see(outer, "Go."), ...inner];
    },
  },
};

/** Runs a scenario against its own server; `wrap` is the way it goes. */
async function runScenario(scenario: Scenario, wrap: (port: CallModel, clock: TestClock) => CallModel) {
  const server = await startModelServer(scenario.script);
  const { call, clock } = portFor(chainOf({ main: scripted(server, { stream: scenario.stream ?? true }) }));
  // Time of its own for who observes: the waits of the call are the call's.
  const observing = manualClock(START);
  const running = scenario.run(wrap(call, observing));
  for (const ms of scenario.waitsMs ?? []) {
    await clock.whenSleeping();
    await clock.advance(ms);
  }
  const seen = await running;
  // A sink that hangs is waited for by a timer; let it run out.
  await observing.advance(2_000);
  await server.close();
  return seen;
}

const ways: Record<string, (port: CallModel, clock: TestClock) => CallModel> = {
  watched: (port, clock) => watch(port, clock).call,
  "watched by a sink that throws": (port, clock) =>
    watch(port, clock, () => {
      throw new Error("broken");
    }).call,
  "watched by a sink that rejects": (port, clock) =>
    watch(port, clock, () => Promise.reject(new Error("broken"))).call,
  "watched by a sink that hangs": (port, clock) => watch(port, clock, () => new Promise(() => {})).call,
  "watched with the disk full": (port, clock) => watch(port, clock, () => writeToFullDisk("record\n")).call,
  recorded: (port, clock) => tape(port, clock).call,
  "recorded on a full disk": (port, clock) => tape(port, clock, writeToFullDisk).call,
  "watched and recorded": (port, clock) => watch(tape(port, clock).call, clock).call,
};

describe.each(Object.entries(scenarios))("S4: %s", (_name, scenario) => {
  test.each(Object.entries(ways))("is the same when it is %s", async (_way, wrap) => {
    const bare = await runScenario(scenario, (port) => port);
    expect(await runScenario(scenario, wrap)).toEqual(bare);
  });

  test("is the same when it is played from its tape, without a server", async () => {
    let recorder: ReturnType<typeof tape> | undefined;
    const recorded = await runScenario(scenario, (port, clock) => {
      recorder = tape(port, clock);
      return recorder.call;
    });
    const cassette = play(recorder?.text() ?? "");
    expect(await scenario.run(cassette.call)).toEqual(recorded);
    expect(cassette.unused()).toEqual([]);
  });
});
