// What is wrong with a document, said for people: where (line and column), what, and what to write instead.
//
// I1. Every mistake found is reported at once; the first one's place is the fault's place.
// I2. A message is `what; do this`: schemas give theirs in this form, everything else is worded here.

import type { $ZodIssue, $ZodType } from "zod/v4/core";
import { Fault, type FaultCode, nearestWord, type Place } from "../kernel/errors.ts";
import { knownKeysAt } from "./snake-case.ts";
import type { ValuePath, YamlText } from "./yaml-text.ts";

/** More than these help nobody; the message says how many were left out. */
const MOST_REPORTED = 20;

export interface DocumentIssue {
  path: ValuePath;
  /** Whether the key itself is meant, or its value. */
  of: "key" | "value";
  what: string;
  hint: string;
}

/** The issues of a failed parse, worded. `value` is what was parsed: it says what stands where something else should. */
export function issuesOf(issues: readonly $ZodIssue[], value: unknown, schema: $ZodType): DocumentIssue[] {
  return issues.flatMap((issue) => wordIssue(issue, [], value, schema));
}

/** One fault for all issues; undefined when there are none. */
export function faultOfIssues(
  code: FaultCode,
  issues: readonly DocumentIssue[],
  text: Pick<YamlText, "place" | "file">,
): Fault | undefined {
  const placed = issues
    .map((issue) => ({ ...issue, place: text.place(issue.path, issue.of) }))
    .sort(
      (a, b) => (a.place.line ?? 0) - (b.place.line ?? 0) || (a.place.column ?? 0) - (b.place.column ?? 0),
    );
  const first = placed[0];
  if (!first) return undefined;
  const lines = placed.slice(0, MOST_REPORTED).map((issue) => reportLine(issue.place, issue));
  if (placed.length > MOST_REPORTED) lines.push(`… and ${placed.length - MOST_REPORTED} more`);
  return new Fault(code, lines.join("\n"), {
    hint: sentence(first.hint),
    place: first.place,
    details: {
      issues: placed.map(({ place, path, what, hint }) => ({ ...place, path: path.join("."), what, hint })),
    },
  });
}

function sentence(hint: string): string {
  return `${hint.charAt(0).toUpperCase()}${hint.slice(1)}${/[.?!…]$/.test(hint) ? "" : "."}`;
}

function reportLine(place: Place, issue: DocumentIssue): string {
  const where = place.line === undefined ? place.file : `${place.file}:${place.line}:${place.column}`;
  return `${where}: ${issue.what}; ${issue.hint}`;
}

function wordIssue(issue: $ZodIssue, parent: ValuePath, root: unknown, schema: $ZodType): DocumentIssue[] {
  const path = [...parent, ...issue.path.map((step) => (typeof step === "number" ? step : String(step)))];
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => unknownKey([...path, key], knownKeysAt(schema, path)));
  const [what, hint] = issue.message.split(/; (.*)/s);
  if (what && hint) return [{ path, of: "value", what: `${nameOf(path)} ${what}`, hint }];
  if (issue.code === "invalid_union" && valueAt(root, path) !== undefined) {
    const branch = bestBranch(issue.errors);
    if (branch) return branch.flatMap((inner) => wordIssue(inner, path, root, schema));
  }
  return [{ path, of: "value", ...wordValue(issue, path, valueAt(root, path)) }];
}

function unknownKey(path: ValuePath, known: readonly string[]): DocumentIssue {
  const key = String(path.at(-1));
  const nearest = nearestWord(key, known);
  const what = `unknown key "${key}"`;
  if (nearest === key || known.length === 0) return { path, of: "key", what, hint: "remove it" };
  if (nearest) return { path, of: "key", what, hint: `did you mean "${nearest}"?` };
  return { path, of: "key", what, hint: `use one of: ${known.join(", ")}` };
}

/** The branch the person meant: one whose own form fits and that has the fewest mistakes. */
function bestBranch(branches: readonly (readonly $ZodIssue[])[]): readonly $ZodIssue[] | undefined {
  const fitting = branches.filter((issues) => !issues.some((issue) => isRootMismatch(issue)));
  return [...fitting].sort((a, b) => weight(a) - weight(b))[0];
}

function isRootMismatch(issue: $ZodIssue): boolean {
  return issue.path.length === 0 && issue.code !== "unrecognized_keys" && issue.code !== "invalid_format";
}

/** A wrong `kind` says that another branch was meant. */
function weight(issues: readonly $ZodIssue[]): number {
  const mistakes = issues.map((issue) => (issue.code === "unrecognized_keys" ? issue.keys.length : 1));
  const isOther = issues.some((issue) => issue.code === "invalid_value");
  return mistakes.reduce((sum, count) => sum + count, isOther ? 100 : 0);
}

function wordValue(issue: $ZodIssue, path: ValuePath, value: unknown): { what: string; hint: string } {
  const name = nameOf(path);
  if (value === undefined) return { what: `${name} is missing`, hint: "add it" };
  if (value === null) return { what: `${name} is empty`, hint: "give it a value or remove the key" };
  if (issue.code === "invalid_type") return wordType(issue.expected, name, value);
  if (issue.code === "invalid_value") return wordChoice(issue.values.map(String), name, value);
  if (issue.code === "too_small")
    return {
      what: `${name} is too small`,
      hint: `write at least ${Number(issue.minimum) + (issue.inclusive === false ? 1 : 0)}`,
    };
  if (issue.code === "too_big")
    return { what: `${name} is too large`, hint: `write at most ${String(issue.maximum)}` };
  if (issue.code === "invalid_union") return wordUnion(issue.errors, name, value);
  return { what: `${name} is not valid`, hint: "see docs/jobs.md for its forms" };
}

function wordType(expected: string, name: string, value: unknown): { what: string; hint: string } {
  const isNumber = expected === "number" || expected === "int";
  if (isNumber && typeof value === "string" && value.trim() !== "" && Number.isFinite(Number(value)))
    return { what: `${name} is a number in quotes`, hint: `write ${Number(value)}, not "${value}"` };
  if (expected === "boolean" && typeof value === "string" && /^(true|false)$/i.test(value))
    return { what: `${name} is a text`, hint: `write ${value.toLowerCase()}, not "${value}"` };
  if (expected === "int") return { what: `${name} is no whole number`, hint: "write a whole number" };
  const what = `${name} must be ${articled(expected)}, not ${articled(typeName(value))}`;
  if (expected === "string" && typeof value !== "object") return { what, hint: quoteIt(value) };
  return { what, hint: `write ${articled(expected)}` };
}

/** A number beyond 2^53 is not repeated: YAML has already rounded it (O5). */
function quoteIt(value: unknown): string {
  const isBent = typeof value === "number" && !Number.isSafeInteger(value);
  return isBent ? "write it in quotes" : `quote it: "${String(value)}"`;
}

function wordChoice(
  choices: readonly string[],
  name: string,
  value: unknown,
): { what: string; hint: string } {
  const nearest = typeof value === "string" ? nearestWord(value, choices) : undefined;
  const shown = typeof value === "object" ? articled(typeName(value)) : `"${String(value)}"`;
  const list = choices.length === 1 ? `${choices[0]}` : `one of ${choices.join(", ")}`;
  return { what: `${name} must be ${list}, not ${shown}`, hint: `write ${nearest ?? list}` };
}

function wordUnion(
  branches: readonly (readonly $ZodIssue[])[],
  name: string,
  value: unknown,
): { what: string; hint: string } {
  const forms = expectedForms(branches.flat());
  const list = [...new Set(forms)].map(articled).join(" or ");
  if (forms.includes("string") && typeof value !== "object")
    return { what: `${name} must be ${list}`, hint: quoteIt(value) };
  return {
    what: `${name} must be ${list || "something else"}, not ${articled(typeName(value))}`,
    hint: `write ${list}`,
  };
}

/** The types any branch would have taken, those of nested unions included. */
function expectedForms(issues: readonly $ZodIssue[]): string[] {
  return issues.flatMap((issue) => {
    if (issue.code === "invalid_union") return expectedForms(issue.errors.flat());
    return issue.code === "invalid_type" && issue.path.length === 0 ? [issue.expected] : [];
  });
}

const WORDS: Record<string, string> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "a map",
  record: "a map",
};

const articled = (type: string) => WORDS[type] ?? type;

function typeName(value: unknown): string {
  return Array.isArray(value) ? "array" : typeof value;
}

function nameOf(path: ValuePath): string {
  return path.length === 0 ? "the document" : path.join(".");
}

function valueAt(root: unknown, path: ValuePath): unknown {
  let value = root;
  for (const step of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}
