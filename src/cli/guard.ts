// `guard [FILE | -]`: what the prompt guard thinks of a text.

import { readFile } from "node:fs/promises";
import { type GuardAnswer, judgeLines, judgeText } from "../app/guard.ts";
import { Fault, messageOf } from "../kernel/errors.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import type { Io } from "./io.ts";
import { isSet } from "./options.ts";

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

async function readInput(io: Io, file: string): Promise<string> {
  if (file === "-") return io.readStdin();
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new Fault("input.not-found", `${file} cannot be read: ${messageOf(error)}.`, {
      hint: "Correct the file's name, or write - for standard input.",
    });
  }
}
