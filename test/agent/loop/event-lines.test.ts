// The whole conversation is in the lines of a run's log, and can be read back from them alone.

import { describe, expect, test } from "vitest";
import { type EventLine, lineOf } from "../../../src/agent/loop/event-lines.ts";
import { messagesOf, turnsOf } from "../../../src/agent/loop/read-lines.ts";
import { makeRunLog } from "../../../src/app/run-log.ts";
import type { AgentEvent } from "../../../src/records/agent-event.ts";
import type { ModelCallRecord } from "../../../src/records/model.ts";
import { call, echo, openWorld, PROMPT, tool, type World } from "./scripted-model.ts";

/** As the ledger gives them back: through the run's log and JSON. */
function logged(events: readonly AgentEvent[]): EventLine[] {
  const limits = () => ({ lines: 1_000, characters: 1_000_000, rest: "" });
  const log = makeRunLog({ id: "r", jobId: undefined }, { now: () => 0, redact: (text) => text, limits });
  for (const event of events) {
    const line = lineOf(event);
    if (line) log.emit(line.kind, line.data);
  }
  return JSON.parse(JSON.stringify(log.take()));
}

async function talk(): Promise<World> {
  const fail = tool("fail", () => ({ error: "no such file" }));
  const world = openWorld(
    [
      {
        text: "Looking.",
        reasoning: "First this.",
        toolCalls: [call("echo", { value: "a" }), call("fail", { value: "b" }), call("nope", "{}")],
      },
      { text: "All done." },
    ],
    { tools: [echo, fail] },
  );
  await world.run();
  return world;
}

const record: ModelCallRecord = {
  id: "call-1",
  runId: "run-1",
  rootId: "run-1",
  role: "primary",
  model: "main",
  provider: "openai",
  isStreaming: true,
  startedAt: 1,
  attempts: 2,
  firstTokenMs: undefined,
  durationMs: 40,
  end: "done",
  usage: { inputTokens: 7, outputTokens: 3, cachedInputTokens: 0, reasoningTokens: 0 },
  costUsd: 0.25,
  errorClass: undefined,
};

describe("lines of a run's log", () => {
  test("hold the whole conversation, and give it back message by message", async () => {
    const world = await talk();
    const read = messagesOf(logged(world.events));
    expect(read).toEqual([
      ...PROMPT,
      {
        role: "assistant",
        text: "Looking.",
        reasoning: "First this.",
        toolCalls: [call("echo", { value: "a" }), call("fail", { value: "b" }), call("nope", "{}")],
      },
      { role: "tool", callId: "id-echo", name: "echo", text: '{"error":null,"value":"a"}' },
      { role: "tool", callId: "id-fail", name: "fail", text: '{"error":"no such file"}' },
      { role: "tool", callId: "id-nope", name: "nope", text: expect.stringContaining("There is no tool") },
      { role: "assistant", text: "All done.", toolCalls: [] },
    ]);
  });

  test("tell the turns with their tools, errors and calls of models", async () => {
    const world = await talk();
    const called: AgentEvent = { kind: "call-finished", turn: 1, record };
    const [first, second] = turnsOf(logged([...world.events, called]));
    expect(first).toEqual({
      turn: 1,
      text: "Looking.",
      reasoning: "First this.",
      tools: [
        {
          callId: "id-echo",
          name: "echo",
          arguments: '{"value":"a"}',
          summary: "a",
          durationMs: 0,
          error: null,
          resultBytes: 26,
          isTruncated: false,
        },
        expect.objectContaining({ name: "fail", summary: "b", error: "no such file" }),
        expect.objectContaining({
          name: "nope",
          summary: "",
          durationMs: undefined,
          error: expect.stringContaining("There is no tool"),
        }),
      ],
      calls: [
        {
          role: "primary",
          model: "main",
          attempts: 2,
          durationMs: 40,
          firstTokenMs: undefined,
          end: "done",
          inputTokens: 7,
          outputTokens: 3,
          costUsd: 0.25,
        },
      ],
    });
    expect(second).toMatchObject({ turn: 2, text: "All done.", tools: [], calls: [] });
  });

  test("of a run that died in the middle of a tool say that it had not ended", async () => {
    const { events } = await talk();
    const cut = events.slice(
      0,
      events.findIndex(({ kind }) => kind === "tool-finished"),
    );
    const [turn] = turnsOf(logged(cut));
    expect(turn?.tools[0]).toMatchObject({
      name: "echo",
      summary: "a",
      durationMs: undefined,
      error: undefined,
    });
  });

  test("hold no streamed pieces: the message has them", () => {
    expect(lineOf({ kind: "text-arrived", turn: 1, text: "a" })).toBeUndefined();
    expect(lineOf({ kind: "reasoning-arrived", turn: 1, text: "a" })).toBeUndefined();
  });

  test("that another version wrote, or that were cut, are passed over", () => {
    const odd: EventLine[] = [
      { kind: "message-added", data: { turn: 1, role: "robot", text: "?" } },
      { kind: "tool-finished", data: { turn: "one" } },
      { kind: "log-cut", data: { text: "cut" } },
      { kind: "agent-started", data: {} },
    ];
    expect(messagesOf(odd)).toEqual([]);
    expect(turnsOf(odd)).toEqual([]);
  });
});
