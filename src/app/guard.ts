// `guard`: what the prompt guard thinks of a text, or of many as JSON lines. Needs no home.

import type { ScanMode } from "../agent/guard/rule.ts";
import { scanPrompt } from "../agent/guard/scan-prompt.ts";
import { Fault } from "../kernel/errors.ts";

/** The longest text that is judged, in characters: the bound of prompts (U4), with room for many in one file. */
export const MAX_PROMPT = 200_000;

/** Where the guard's objection begins in the text as given; line and column count from 1. */
export interface GuardPlace {
  offset: number;
  line: number;
  column: number;
  excerpt: string;
}

/** One verdict as a document; the last three are null for a text that passes. */
export interface GuardAnswer {
  /** The line's own id; null for a plain text. */
  id: string | number | null;
  verdict: "pass" | "block";
  rule: string | null;
  reason: string | null;
  at: GuardPlace | null;
}

/** One text's verdict. Throws `input.too-large`. */
export function judgeText(text: string, mode: ScanMode, id: GuardAnswer["id"] = null): GuardAnswer {
  if (text.length > MAX_PROMPT)
    throw new Fault(
      "input.too-large",
      `The text has ${text.length} characters; at most ${MAX_PROMPT} are judged.`,
      {
        hint: "Split it, or judge its parts one by one.",
      },
    );
  const answer = scanPrompt(text, mode);
  if (answer.verdict === "pass") return { id, verdict: "pass", rule: null, reason: null, at: null };
  const { verdict, rule, reason, at } = answer;
  return { id, verdict, rule, reason, at };
}

/**
 * Verdicts of JSON lines `{id, text, mode}`, in order; `mode` defaults to `fallback`. Undefined when the input is no
 * JSON lines but a text. Throws `input.invalid` with the number of the first line that is wrong; then none is judged.
 */
export function judgeLines(input: string, fallback: ScanMode): GuardAnswer[] | undefined {
  const lines = input
    .split("\n")
    .map((line, index) => ({ line: line.replace(/^\ufeff/, "").trim(), number: index + 1 }));
  const filled = lines.filter(({ line }) => line !== "");
  const [first] = filled;
  if (!first || !isRequestLike(first.line)) return undefined;
  return filled
    .map(({ line, number }) => parseRequest(line, number))
    .map(({ id, text, mode }) => judgeText(text, mode ?? fallback, id));
}

interface GuardRequest {
  id: string | number | null;
  text: string;
  mode: ScanMode | undefined;
}

/** Whether a first line begins an object with one of the keys of a request: otherwise the input is a text. */
function isRequestLike(line: string): boolean {
  return /^\{\s*"(?:id|text|mode)"\s*:/.test(line);
}

function parseRequest(line: string, number: number): GuardRequest {
  const value = parseObject(line, number);
  const { id = null, text, mode } = value;
  if (typeof text !== "string") throw badLine(number, "has no `text` that is a string");
  if (id !== null && typeof id !== "string" && typeof id !== "number")
    throw badLine(number, "has an `id` that is neither text nor number");
  if (mode !== undefined && mode !== "strict" && mode !== "loose")
    throw badLine(number, "has a `mode` other than strict and loose");
  return { id, text, mode };
}

function parseObject(line: string, number: number): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // Said below: what is wrong is that it is no JSON object, whatever the parser calls it.
  }
  throw badLine(number, "is no JSON object");
}

function badLine(number: number, what: string): Fault {
  return new Fault("input.invalid", `line ${number} ${what}.`, {
    hint: 'Write one {"id": …, "text": "…", "mode": "strict"} per line.',
    place: { line: number },
  });
}
