// Reading option values: numbers, durations, instants and lists, each refused with the option's name.

import { Fault } from "../kernel/errors.ts";
import { type Instant, parseDuration, parseInstant } from "../kernel/time.ts";
import type { Options } from "./command.ts";

/** A text option; undefined when absent. */
export function textOption(options: Options, name: string): string | undefined {
  const value = options[name];
  return typeof value === "string" ? value : undefined;
}

/** A repeatable option, also split at commas. */
export function listOption(options: Options, name: string): string[] | undefined {
  const value = options[name];
  if (value === undefined || value === false || value === true) return undefined;
  return (Array.isArray(value) ? value : [value])
    .flatMap((part) => part.split(","))
    .map((part) => part.trim())
    .filter(Boolean);
}

/** A repeatable option whose values may hold commas; empty when absent. */
export function textsOption(options: Options, name: string): string[] {
  const value = options[name];
  if (typeof value === "string") return [value];
  return Array.isArray(value) ? value : [];
}

export function isSet(options: Options, name: string): boolean {
  return options[name] === true;
}

/** A whole number within [min, max]. */
export function numberOption(
  options: Options,
  name: string,
  range: { min: number; max: number },
): number | undefined {
  const text = textOption(options, name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^-?\d+$/.test(text.trim()) && value >= range.min && value <= range.max) return value;
  throw refused(name, text, `a whole number from ${range.min} to ${range.max}`);
}

/** `30s`, `5m`, `2h` as milliseconds. */
export function durationOption(options: Options, name: string): number | undefined {
  const text = textOption(options, name);
  if (text === undefined) return undefined;
  const value = parseDuration(text);
  if (value !== undefined) return value;
  throw refused(name, text, "a duration such as 30s, 5m or 2h");
}

/** An ISO instant, or a duration that means so long ago. */
export function instantOption(options: Options, name: string, now: Instant): Instant | undefined {
  const text = textOption(options, name);
  if (text === undefined) return undefined;
  const value = parseInstant(text) ?? before(now, parseDuration(text)) ?? dayStart(text);
  if (value !== undefined) return value;
  throw refused(
    name,
    text,
    "an instant such as 2026-11-29T06:00:00Z, a day such as 2026-11-29, or a duration such as 24h (that long ago)",
  );
}

function before(now: Instant, durationMs: number | undefined): Instant | undefined {
  return durationMs === undefined ? undefined : now - durationMs;
}

function dayStart(text: string): Instant | undefined {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) ? parseInstant(`${text}T00:00:00Z`) : undefined;
}

/** One of a fixed set of words, or a list of them. */
export function wordsOption<Word extends string>(
  options: Options,
  name: string,
  words: readonly Word[],
): Word[] | undefined {
  const list = listOption(options, name);
  return list?.map((word) => {
    const known = words.find((candidate) => candidate === word);
    if (known === undefined) throw refused(name, word, `one of ${words.join(", ")}`);
    return known;
  });
}

/** An id as lists print it: a page begins behind it, whether its row still exists or not. */
export function idOption(options: Options, name: string): string | undefined {
  const text = textOption(options, name);
  if (text === undefined || /^[0-9a-z]{26}$/.test(text)) return text;
  throw refused(name, text, "a whole id, as lists print it");
}

/** An instant or a day to come, or a duration from now. */
export function laterOption(options: Options, name: string, now: Instant): Instant | undefined {
  const text = textOption(options, name);
  if (text === undefined) return undefined;
  const durationMs = parseDuration(text);
  const value = durationMs === undefined ? (parseInstant(text) ?? dayStart(text)) : now + durationMs;
  const expected =
    "an instant to come such as 2030-01-31T06:00:00Z, a day, or a duration such as 2h (from now)";
  if (value === undefined || value <= now) throw refused(name, text, expected);
  return value;
}

function refused(name: string, value: string, expected: string): Fault {
  const flag = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return new Fault("input.usage", `--${flag} cannot be "${value}".`, { hint: `Write ${expected}.` });
}
