// A tape of a run: what is on it, how a replay is compared with it, and where it goes live again.

import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Message } from "../../../src/records/conversation.ts";
import type { CallModel, ModelRequest } from "../../../src/records/model.ts";
import type { Tool } from "../../../src/records/tool.ts";
import { manualClock } from "../../support/clock.ts";
import { callTools, fail, type Step, say, startModelServer } from "../../support/model-server.ts";
import { asks, calling, chainOf, LOOK, portFor, START, scripted } from "../models/ports.ts";
import { play, tape, writeToFullDisk } from "./ways.ts";

/** A tool that counts how often it was really run. */
function lookTool() {
  const ran: unknown[] = [];
  const tool: Tool = {
    ...LOOK,
    toolset: "test",
    isParallelSafe: true,
    prepare: (value) => ({
      ok: true,
      call: {
        summary: "look",
        async run() {
          ran.push(value);
          return { error: null, seen: `${ran.length} ships, password hunter2` };
        },
      },
    }),
  };
  return { tool, ran };
}

/** The smallest agent: asks, runs what is called, asks again, until there is an answer. */
async function converse(call: CallModel, tools: readonly Tool[], prompt: string): Promise<Message[]> {
  const messages: Message[] = [...asks(prompt).messages];
  for (;;) {
    const request: ModelRequest = { messages: [...messages], tools: [LOOK] };
    const { text, toolCalls } = await call(request, calling());
    messages.push({ role: "assistant", text, toolCalls });
    if (toolCalls.length === 0) return messages;
    for (const { id, name, arguments: args } of toolCalls) {
      const prepared = tools[0]?.prepare(JSON.parse(args));
      if (!prepared?.ok) throw new Error("not prepared");
      const context = { callId: id, runId: "run-1", signal: new AbortController().signal, touch() {} };
      messages.push({
        role: "tool",
        callId: id,
        name,
        text: JSON.stringify(await prepared.call.run(context)),
      });
    }
  }
}

const twoTurns: Step[] = [
  callTools([{ id: "c1", name: "look", arguments: { at: "sea" } }]),
  callTools([{ id: "c2", name: "look", arguments: { at: "sky" } }]),
  say("Ships and clouds."),
];

/** As of a server that numbers calls anew in each answer. */
const sameIds: Step[] = [
  callTools([{ id: "0", name: "look", arguments: { at: "sea" } }]),
  callTools([{ id: "0", name: "look", arguments: { at: "sky" } }]),
  say("Ships and clouds."),
];

async function recorded(script: Step[] = twoTurns, prompt = "Look around.") {
  const server = await startModelServer(script);
  const { call, clock } = portFor(chainOf({ main: scripted(server) }));
  const recorder = tape(call, clock);
  const { tool, ran } = lookTool();
  const messages = await converse(recorder.call, recorder.tools([tool]), prompt);
  await recorder.settled();
  return { text: recorder.text(), messages, ran, reports: recorder.reports };
}

describe("S4: a cassette", () => {
  test("plays a whole run again: the same conversation, no network, no tool run", async () => {
    const { text, messages } = await recorded();
    const cassette = play(text);
    const { tool, ran } = lookTool();
    const again = await converse(cassette.call, cassette.tools([tool]), "Look around.");
    // What was secret in a tool's result was redacted on the tape.
    expect(JSON.stringify(again)).toBe(JSON.stringify(messages).replaceAll("hunter2", "[redacted]"));
    expect(ran).toEqual([]);
    expect(cassette.unused()).toEqual([]);
    expect(cassette.runId).toBe("run-1");
  });

  test("gives each call the result it had, where a server numbers calls anew in each answer", async () => {
    const { text, messages } = await recorded(sameIds);
    const cassette = play(text);
    const again = await converse(cassette.call, cassette.tools([lookTool().tool]), "Look around.");
    expect(JSON.stringify(again)).toBe(JSON.stringify(messages).replaceAll("hunter2", "[redacted]"));
  });

  test("after a fork a call is live, though it has the id of one on the tape", async () => {
    const { text } = await recorded(sameIds);
    const server = await startModelServer([
      callTools([{ id: "0", name: "look", arguments: { at: "land" } }]),
      say("Trees."),
    ]);
    const { call } = portFor(chainOf({ main: scripted(server) }));
    const cassette = play(text, { fork: { turns: 1, live: call } });
    const { tool, ran } = lookTool();
    await converse(cassette.call, cassette.tools([tool]), "Look around.");
    expect(ran).toEqual([{ at: "land" }]);
  });

  test("holds no secret, wherever it stood", async () => {
    const { text } = await recorded(
      [callTools([{ id: "c1", name: "look", arguments: { at: "hunter2" } }]), say("It is hunter2.")],
      "The password is hunter2.",
    );
    expect(text).not.toContain("hunter2");
    expect(text).toContain("[redacted]");
  });

  test("whose prompt has changed is refused at the first difference, with both sides", async () => {
    const { text } = await recorded();
    const cassette = play(text);
    await expect(converse(cassette.call, [], "Look around, please.")).rejects.toMatchObject({
      code: "cassette.differs",
      message:
        'Call 1 differs from the recording at messages[1].text: recorded "Look around.", now "Look around, please."',
      details: { call: 1, path: "messages[1].text" },
    });
  });

  test("goes on after a difference where a person wants to see all of them", async () => {
    const { text } = await recorded();
    const differences: { call: number; path: string }[] = [];
    const cassette = play(text, { onDifference: (difference) => differences.push(difference) });
    await converse(cassette.call, cassette.tools([lookTool().tool]), "Look there.");
    expect(differences.map(({ call, path }) => [call, path])).toEqual([
      [1, "messages[1].text"],
      [2, "messages[1].text"],
      [3, "messages[1].text"],
    ]);
  });

  test("sees a changed tool, a missing message, another role", async () => {
    const { text } = await recorded();
    const paths: string[] = [];
    const request = { ...asks("Look around."), tools: [LOOK] };
    const change = async (changed: ModelRequest) =>
      play(text, { onDifference: ({ path, now }) => paths.push(`${path}: ${now}`) }).call(changed, calling());
    await change({ ...request, tools: [{ ...LOOK, description: "Looks twice." }] });
    await change({ ...request, messages: request.messages.slice(1) });
    await change({ ...request, toolChoice: "none" });
    expect(paths).toEqual([
      'tools[0].description: "Looks twice."',
      'messages[0].role: "user"',
      'toolChoice: "none"',
    ]);
  });

  test("that ends before the run does says so, and where to fork", async () => {
    const { text } = await recorded();
    const cassette = play(text);
    await converse(cassette.call, cassette.tools([lookTool().tool]), "Look around.");
    await expect(cassette.call(asks("More."), calling())).rejects.toMatchObject({
      code: "cassette.missing",
      hint: expect.stringContaining("--fork 3"),
    });
  });

  test("answers parallel calls by what they ask, in whatever order they come", async () => {
    const server = await startModelServer((request) => say(`to ${request.body.messages.at(-1).content}`));
    const { call, clock } = portFor(chainOf({ main: scripted(server) }));
    const recorder = tape(call, clock);
    await Promise.all(["one", "two", "three"].map((text) => recorder.call(asks(text), calling())));
    const cassette = play(recorder.text());
    for (const text of ["three", "one", "two"])
      expect((await cassette.call(asks(text), calling())).text).toBe(`to ${text}`);
  });
});

describe("S4: a fork", () => {
  test("plays the first turns with their tools, then asks and runs for real", async () => {
    const { text } = await recorded();
    const server = await startModelServer([
      callTools([{ id: "c9", name: "look", arguments: { at: "harbour" } }]),
      say("A new ending."),
    ]);
    const { call } = portFor(chainOf({ main: scripted(server) }));
    const cassette = play(text, { fork: { turns: 1, live: call } });
    const { tool, ran } = lookTool();
    const messages = await converse(cassette.call, cassette.tools([tool]), "Look around.");
    expect(ran).toEqual([{ at: "harbour" }]);
    expect(messages.at(-1)?.text).toBe("A new ending.");
    expect(server.requests[0]?.body.messages.at(-1)).toMatchObject({
      role: "tool",
      content: expect.stringContaining("1 ships"),
    });
  });

  test("after no turn is live from the start", async () => {
    const { text } = await recorded();
    const server = await startModelServer([say("Anew.")]);
    const { call } = portFor(chainOf({ main: scripted(server) }));
    const cassette = play(text, { fork: { turns: 0, live: call } });
    expect((await cassette.call(asks("Other."), calling())).text).toBe("Anew.");
  });
});

describe("S4: a tape that breaks", () => {
  test.skipIf(!existsSync("/dev/full"))(
    "on a full disk is let go and reported once; the run ends as it would have",
    async () => {
      const server = await startModelServer([...twoTurns]);
      const { call, clock } = portFor(chainOf({ main: scripted(server) }));
      const recorder = tape(call, clock, writeToFullDisk);
      const { tool, ran } = lookTool();
      const messages = await converse(recorder.call, recorder.tools([tool]), "Look around.");
      await recorder.settled();
      expect(messages.at(-1)?.text).toBe("Ships and clouds.");
      expect(ran).toHaveLength(2);
      expect(recorder.reports).toMatchObject([{ code: "ENOSPC" }]);
    },
  );

  test("whose last line a power cut tore plays up to there", async () => {
    const { text } = await recorded();
    const torn = text.slice(0, -40);
    const cassette = play(torn);
    const conversing = converse(cassette.call, cassette.tools([lookTool().tool]), "Look around.");
    await expect(conversing).rejects.toMatchObject({ code: "cassette.missing" });
  });

  test.each([
    ["nothing", ""],
    ["no call", '{"kind":"cassette","version":1,"runId":"r"}\n'],
    ["a line that is no JSON", "{\n"],
    ["a line of a later version", '{"kind":"cassette","version":9}\n'],
  ])("with %s is refused", (_what, text) => {
    expect(() => play(text)).toThrow(expect.objectContaining({ code: "cassette.missing" }));
  });

  test("keeps failures with what they are told apart by, and leaves cancelled calls out", async () => {
    const server = await startModelServer([fail(403, { message: "not yours" }), { kind: "hang" }]);
    const { call } = portFor(chainOf({ main: scripted(server) }));
    const recorder = tape(call, manualClock(START));
    await expect(recorder.call(asks("1"), calling())).rejects.toMatchObject({ statusCode: 403 });
    const stop = new AbortController();
    const pending = recorder.call(asks("2"), calling({ signal: stop.signal }));
    await server.arrived(2);
    stop.abort(new Error("stop"));
    await expect(pending).rejects.toThrow("stop");
    const cassette = play(recorder.text());
    await expect(cassette.call(asks("1"), calling())).rejects.toMatchObject({
      name: "AI_APICallError",
      statusCode: 403,
      message: "not yours",
    });
    expect(cassette.unused()).toEqual([]);
  });
});
