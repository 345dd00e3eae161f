// What the guard and the bounds say of words that an agent will read.

import type { ScanMode } from "../../agent/guard/rule.ts";
import { scanPrompt } from "../../agent/guard/scan-prompt.ts";
import { Fault } from "../../kernel/errors.ts";
import type { Context } from "../context.ts";

/** What a person or an agent writes as a prompt (U4). Throws `input.too-large`, `prompt.blocked`. */
export function judgePrompt(context: Pick<Context, "config">, prompt: string): void {
  requirePromptLength(context, prompt);
  requirePass(prompt, "strict", "the prompt");
}

/** Throws `input.too-large`. */
export function requirePromptLength({ config }: Pick<Context, "config">, prompt: string): void {
  const { promptBytes } = config.limits;
  const bytes = Buffer.byteLength(prompt);
  if (bytes <= promptBytes) return;
  throw new Fault("input.too-large", `the prompt has ${bytes} bytes; at most ${promptBytes} are taken`, {
    hint: "Shorten it, or put the material into a file and name its path.",
  });
}

/** Throws `prompt.blocked`, with the rule and its place in `details`. `of` names the text. */
export function requirePass(text: string, mode: ScanMode, of: string): void {
  const answer = scanPrompt(text, mode);
  if (answer.verdict === "pass") return;
  const { rule, reason, at } = answer;
  throw new Fault("prompt.blocked", `${of} is refused by rule ${rule}: ${reason} (line ${at.line})`, {
    hint: "Say it otherwise, or look at where it came from; `nightshift guard` tells what it thinks of a text.",
    details: { rule, of, line: at.line, column: at.column },
  });
}
