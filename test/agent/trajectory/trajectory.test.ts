// Trajectories: ShareGPT rows as Hermes' tools read them, made of what events told, and read back.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  readTrajectory,
  type TrajectoryFacts,
  trajectoryRow,
} from "../../../src/agent/trajectory/trajectory-row.ts";
import { makeRedact } from "../../../src/kernel/redact.ts";
import type { Message } from "../../../src/records/conversation.ts";
import { call, openWorld, PROMPT, type Step, tool } from "../loop/scripted-model.ts";

const TOOLS = ["read", "write"].map((name) => ({
  name,
  description: `The tool ${name}.`,
  parameters: { type: "object", properties: { path: { type: "string" } } },
  toolset: "files",
}));

function row(messages: readonly Message[], more: Partial<TrajectoryFacts> = {}) {
  return trajectoryRow({
    messages,
    tools: TOOLS,
    knownTools: ["terminal", "read", "write"],
    reason: "answered",
    apiCalls: 2,
    model: "main",
    at: Date.UTC(2026, 10, 29, 6),
    metadata: { runId: "run-1", rootId: "root-1" },
    redact: makeRedact(["s3cr3t-value"]),
    ...more,
  });
}

const result = (callId: string, name: string, text: string): Message => ({
  role: "tool",
  callId,
  name,
  text,
});

const TALK: readonly Message[] = [
  { role: "system", text: "You are at work." },
  { role: "user", origin: "prompt", text: "Look at a and b." },
  {
    role: "assistant",
    text: "Looking.",
    reasoning: "Both.",
    toolCalls: [call("read", { path: "a" }, "1"), call("read", '{"path": ', "2")],
  },
  result("1", "read", '{"error":null,"text":"a\\nb"}'),
  result("2", "read", '{"error":"no JSON"}'),
  { role: "assistant", text: "Done.", toolCalls: [] },
];

describe("a row", () => {
  test("has one turn for all results of a reply, thoughts first, arguments as objects", () => {
    const { conversations } = row(TALK);
    expect(conversations.map(({ from }) => from)).toEqual(["system", "human", "gpt", "tool", "gpt"]);
    expect(conversations.slice(1).map(({ value }) => value)).toEqual([
      "Look at a and b.",
      `<think>
Both.
</think>
Looking.
<tool_call>
{"name":"read","arguments":{"path":"a"}}
</tool_call>
<tool_call>
{"name":"read","arguments":{}}
</tool_call>`,
      `<tool_response>
{"tool_call_id":"1","name":"read","content":{"error":null,"text":"a\\nb"}}
</tool_response>
<tool_response>
{"tool_call_id":"2","name":"read","content":{"error":"no JSON"}}
</tool_response>`,
      "<think>\n</think>\nDone.",
    ]);
  });

  test("lists the tools in its system turn, as one JSON array with `required: null`", () => {
    const [system] = row(TALK).conversations;
    const listed = JSON.parse(/<tools>\n(.*)\n<\/tools>/.exec(system?.value ?? "")?.[1] ?? "");
    expect(listed).toEqual(
      TOOLS.map(({ name, description, parameters }) => ({ name, description, parameters, required: null })),
    );
  });

  test("counts every known tool, with zeros, by the loose and by the strict reading", () => {
    const messages = [
      ...TALK,
      result("3", "terminal", '{"error":null,"exitCode":1}'),
      result("4", "terminal", '{"success":false}'),
      result("5", "terminal", "Error: gone"),
      result("6", "terminal", ""),
      result("7", "nobody", '{"error":"There is no tool named nobody."}'),
    ];
    const { tool_stats, tool_error_counts, toolsets_used } = row(messages);
    expect(tool_stats).toEqual({
      read: { count: 2, success: 1, failure: 1 },
      terminal: { count: 4, success: 4, failure: 0 },
      write: { count: 0, success: 0, failure: 0 },
    });
    expect(tool_error_counts).toEqual({ read: 1, terminal: 3, write: 0 });
    expect(toolsets_used).toEqual(["files"]);
  });

  test("says whether it was completed, and keeps our lineage under metadata", () => {
    expect(row(TALK)).toMatchObject({
      completed: true,
      partial: false,
      api_calls: 2,
      model: "main",
      timestamp: "2026-11-29T06:00:00Z",
      metadata: { runId: "run-1", rootId: "root-1", model: "main", timestamp: "2026-11-29T06:00:00Z" },
    });
    expect(row(TALK, { reason: "interrupted" })).toMatchObject({ completed: false, partial: true });
    expect(row(TALK.slice(0, 2), { reason: "failed" })).toMatchObject({ completed: false, partial: false });
  });

  test("is one line of JSON without secrets, wherever they were", () => {
    const secret = "s3cr3t-value";
    const messages: Message[] = [
      { role: "user", text: secret },
      {
        role: "assistant",
        text: secret,
        reasoning: secret,
        toolCalls: [call("read", { path: secret }, "1")],
      },
      result("1", "read", JSON.stringify({ error: null, text: secret })),
    ];
    const line = JSON.stringify(row(messages, { metadata: { note: secret } }));
    expect(line).not.toContain(secret);
    expect(line).not.toContain("\n");
  });

  test.each([
    ["<REASONING_SCRATCHPAD>\nI see.\n</REASONING_SCRATCHPAD>\nYes.", "<think>\nI see.\n</think>\nYes."],
    ["<think>I see.</think>Yes.", "<think>\nI see.\n</think>\nYes."],
    ["Yes, <think> is a tag.", "<think>\n</think>\nYes, <think> is a tag."],
  ])("takes thoughts that a model wrote at the head of its text for thoughts: %j", (text, value) => {
    expect(row([{ role: "assistant", text, toolCalls: [] }]).conversations[1]?.value).toBe(value);
  });
});

describe("a row read back", () => {
  test("gives the messages and the tools again", () => {
    const read = readTrajectory(JSON.parse(JSON.stringify(row(TALK))));
    expect(read?.tools).toEqual(TOOLS.map(({ toolset: _, ...spec }) => spec));
    expect(read?.messages).toEqual([
      { role: "user", text: "Look at a and b." },
      {
        role: "assistant",
        text: "Looking.",
        reasoning: "Both.",
        toolCalls: [call("read", { path: "a" }, "1"), call("read", {}, "2")],
      },
      ...TALK.slice(3),
    ]);
  });

  test("is none for what is no row", () => {
    for (const odd of [null, 1, {}, { conversations: [{ from: "robot", value: "" }] }])
      expect(readTrajectory(odd)).toBeUndefined();
  });

  test("is the same for any conversation", () => {
    const text = fc
      .string({ maxLength: 40 })
      .filter((value) => !value.includes("<"))
      .map((value) => value.trim());
    const id = fc.integer({ min: 0, max: 9_999 }).map(String);
    const value = fc.jsonValue({ maxDepth: 2 }).map((json) => JSON.parse(JSON.stringify(json)));
    const turn = fc.record({
      text,
      reasoning: text,
      calls: fc.uniqueArray(
        fc.record({ id, given: fc.dictionary(fc.string({ minLength: 1 }), value), back: value }),
        { selector: (one) => one.id, maxLength: 3 },
      ),
    });
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 6 }), (turns) => {
        const messages: Message[] = [{ role: "user", text: "Go." }];
        for (const { text: said, reasoning, calls } of turns) {
          messages.push({
            role: "assistant",
            text: said,
            ...(reasoning !== "" && { reasoning }),
            toolCalls: calls.map((one) => call("read", one.given, one.id)),
          });
          for (const one of calls)
            messages.push(result(one.id, "read", JSON.stringify({ error: null, value: one.back })));
        }
        const plain = row(messages, { redact: (whole) => whole });
        expect(readTrajectory(JSON.parse(JSON.stringify(plain)))?.messages).toEqual(messages);
      }),
      { numRuns: 100 },
    );
  });

  test("text that only looks like a tag inside of JSON ends nothing", () => {
    const given = { path: "\n</tool_call>\n<tool_response>\n" };
    const messages: Message[] = [
      { role: "assistant", text: "", toolCalls: [call("read", given, "1")] },
      result("1", "read", JSON.stringify({ error: null, text: "\n</tool_response>\n" })),
    ];
    expect(readTrajectory(row(messages))?.messages).toEqual(messages);
  });
});

test("a trajectory of a run whose context was compacted has all of it", async () => {
  const page = tool("page", (value) => ({ error: null, text: `page ${value}: ${"word ".repeat(700)}` }));
  const read = (n: number): Step => ({
    text: "I think about it. ".repeat(60),
    toolCalls: [call("page", { value: `${n}` }, `c${n}`)],
  });
  const world = openWorld([...Array.from({ length: 16 }, (_, n) => read(n)), { text: "All read." }], {
    tools: [page],
    maxTurns: 20,
    window: { contextLength: 8_000, maxOutputTokens: 1_000 },
  });
  const end = await world.run(PROMPT);
  expect(world.kinds()).toContain("context-summarised");
  const { conversations } = row(end.messages, { tools: [] });
  expect(conversations.filter(({ from }) => from === "tool")).toHaveLength(16);
  expect(conversations.filter(({ value }) => value.includes("word word"))).toHaveLength(16);
  expect(JSON.stringify(conversations)).not.toContain("left out");
});
