// A run's live log: what it may hold, and that no string of it leaves unredacted.

import { expect, test } from "vitest";
import { AGENT_LOG, makeRunLog, type RunLogLimits, SCRIPT_LOG } from "../../src/app/run-log.ts";
import { makeRedact } from "../../src/kernel/redact.ts";

function open(limits: RunLogLimits) {
  return makeRunLog(
    { id: "run", jobId: "job" },
    { now: () => 7, redact: makeRedact(["s3cr3t-value"]), limits: () => limits },
  );
}

test("every string of a line is redacted, however deep, and a NUL that PostgreSQL refuses is replaced", () => {
  const log = open(SCRIPT_LOG);
  log.emit("message-added", {
    text: "a s3cr3t-value\0",
    turn: 2,
    toolCalls: [{ name: "terminal", arguments: '{"command":"echo s3cr3t-value"}' }],
    error: null,
  });
  expect(log.take()).toEqual([
    {
      runId: "run",
      jobId: "job",
      at: 7,
      kind: "message-added",
      data: {
        text: "a [redacted]\uFFFD",
        turn: 2,
        toolCalls: [{ name: "terminal", arguments: '{"command":"echo [redacted]"}' }],
        error: null,
      },
    },
  ]);
  expect(log.waiting).toBe(0);
});

test("what does not fit is not kept, and that is said once with the place of the rest", () => {
  const log = open({ lines: 2, characters: 1_000, rest: "see elsewhere" });
  for (let count = 0; count < 5; count++) log.emit("stdout", { text: `${count}` });
  expect(log.take().map(({ kind, data }) => [kind, data.text])).toEqual([
    ["stdout", "0"],
    ["stdout", "1"],
    ["log-cut", "live log cut after 2 lines; see elsewhere"],
  ]);
});

test("characters are counted over all strings, not only over the text", () => {
  const log = open({ lines: 100, characters: 500, rest: "-" });
  log.emit("message-added", { toolCalls: [{ arguments: "x".repeat(600) }] });
  expect(log.take().map(({ kind }) => kind)).toEqual(["log-cut"]);
});

test("an agent's log holds a whole conversation of 60 turns with results of full length", () => {
  const log = open(AGENT_LOG);
  for (let turn = 0; turn < 60; turn++) {
    log.emit("message-added", {
      turn,
      text: "t".repeat(4_000),
      toolCalls: [{ arguments: "a".repeat(4_000) }],
    });
    log.emit("message-added", { turn, text: "r".repeat(50_000) });
  }
  expect(log.take().some(({ kind }) => kind === "log-cut")).toBe(false);
});
