// What an agent's last words mean. A marker inside a sentence once silenced a real answer elsewhere, and one that stood on
// its own line once did not (hermes #69495, PR 37753).

import { describe, expect, test } from "vitest";
import { readFinalReply } from "../../../src/agent/loop/final-reply.ts";

describe("a final reply", () => {
  test.each([
    ["the whole reply", "[SILENT]"],
    ["the whole reply with space around", "\n  [SILENT] \n"],
    ["alone on the first line", "[SILENT]\nNothing new since yesterday."],
    ["alone on the last line", "Nothing new since yesterday.\r\n\r\n[SILENT]"],
  ])("is silent when the marker is %s (hermes #69495)", (_where, text) => {
    expect(readFinalReply(text)).toEqual({ kind: "silent", text: text.trim() });
  });

  test.each([
    "I will answer [SILENT] when nothing is new.",
    "[SILENT] is what I say when nothing is new.",
    "First line\n[SILENT]\nLast line",
    "[silent]",
    "`[SILENT]`",
    "[SILENT].",
    "[SILENTLY]",
  ])("is delivered when the marker is only talked about: %j (hermes PR 37753)", (text) => {
    expect(readFinalReply(text)).toEqual({ kind: "text", text });
  });

  test.each([
    ["[FAILED] the disk is gone", "the disk is gone", ""],
    ["[FAILED] no access\n\nI tried twice.", "no access", "I tried twice."],
    ["[FAILED]\nthe host is down\nmore", "the host is down", "the host is down\nmore"],
    ["[FAILED]", "the agent said it failed, without a reason", ""],
  ])("fails the run when it begins %j", (text, why, rest) => {
    expect(readFinalReply(text)).toEqual({ kind: "failed", why, text: rest });
  });

  test("a failure is never silent", () => {
    expect(readFinalReply("[FAILED] broken\n[SILENT]").kind).toBe("failed");
  });

  test.each(["[FAILED]: 3 tests", "The job [FAILED] twice.", "All well\n[FAILED] no"])(
    "does not fail when the marker is part of the text: %j",
    (text) => {
      expect(readFinalReply(text)).toEqual({ kind: "text", text });
    },
  );

  test.each(["", " \n\t"])("without any text is none, which is a failure: %j", (text) => {
    expect(readFinalReply(text)).toEqual({ kind: "none" });
  });
});
