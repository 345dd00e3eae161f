// The lines of a piece of output that somebody watches for.
//
// I1. A pattern is somebody else's: one that would hold up everybody is stopped, and said to be too slow.

import { createContext, Script } from "node:vm";
import { Fault, messageOf } from "../../kernel/errors.ts";
import type { WatchPattern } from "../../records/background.ts";

/** For all patterns on one piece of output. */
const MATCH_MS = 100;
/** Of a line; what follows is not looked at. */
const LONGEST_LINE = 2_000;

const SCRIPT = new Script(
  `lines.filter((line) => regexes.some((source) => new RegExp(source, "u").test(line)))`,
);

/** Throws `input.invalid` for an expression that cannot be read, or an empty pattern. */
export function checkPatterns(patterns: readonly WatchPattern[]): void {
  for (const pattern of patterns) {
    const text = "text" in pattern ? pattern.text : pattern.regex;
    if (text === "") throw invalid("a watch pattern is empty");
    if (!("regex" in pattern)) continue;
    try {
      new RegExp(pattern.regex, "u");
    } catch (error) {
      throw invalid(`the watch pattern ${JSON.stringify(pattern.regex)} cannot be read: ${messageOf(error)}`);
    }
  }
}

/** The matching lines in order; `tooSlow` when the expressions took longer than 100 ms. */
export function matchLines(
  patterns: readonly WatchPattern[],
  lines: readonly string[],
): string[] | "tooSlow" {
  const short = lines.map((line) => line.slice(0, LONGEST_LINE));
  const texts = patterns.flatMap((pattern) => ("text" in pattern ? [pattern.text] : []));
  const regexes = patterns.flatMap((pattern) => ("regex" in pattern ? [pattern.regex] : []));
  const byText = new Set(short.filter((line) => texts.some((text) => line.includes(text))));
  if (regexes.length === 0) return short.filter((line) => byText.has(line));
  try {
    const found: unknown = SCRIPT.runInContext(createContext({ lines: short, regexes }), {
      timeout: MATCH_MS,
    });
    const byRegex = new Set(Array.isArray(found) ? found.map(String) : []);
    return short.filter((line) => byText.has(line) || byRegex.has(line));
  } catch {
    return "tooSlow";
  }
}

const invalid = (message: string) =>
  new Fault("input.invalid", message, {
    hint: "Write a text, or a regular expression as JavaScript has them.",
  });
