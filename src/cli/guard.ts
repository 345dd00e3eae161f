// `guard [FILE | -]`: what the prompt guard thinks of a text.

import { type GuardAnswer, judgeLines, judgeText } from "../app/guard.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { isSet } from "./options.ts";
import { readInput } from "./read-input.ts";

export const guard: RunCommand = async ({ args: [file = "-"], options, io }) => {
  const mode = isSet(options, "loose") ? "loose" : "strict";
  const input = await readInput(io, file);
  const answers = (io.isJson ? judgeLines(input, mode) : undefined) ?? [judgeText(input, mode)];
  io.out(answers.map((answer) => (io.isJson ? JSON.stringify(answer) : answerText(answer))).join("\n"));
  return answers.some(({ verdict }) => verdict === "block") ? EXIT.failed : EXIT.ok;
};

function answerText({ verdict, rule, reason, at }: GuardAnswer): string {
  if (verdict === "pass" || at === null) return "pass";
  return `block  ${rule}\n  ${reason}\n  ${at.line}:${at.column}: ${at.excerpt}`;
}
