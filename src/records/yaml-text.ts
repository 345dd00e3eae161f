// YAML (and JSON, its subset) as people write it: values with the place each came from, and faults with line and column.
//
// I1. A text is read as a whole or refused with every error in it; nothing is guessed around an error.
// I2. Lines and columns count from 1 in the text as given, without its byte-order mark.

import {
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type ParsedNode,
  parseDocument,
  type YAMLError,
} from "yaml";
import { Fault, messageOf, type Place } from "../kernel/errors.ts";
import { camelCase } from "./snake-case.ts";

/** Where a value stands: keys and list positions from the root. */
export type ValuePath = readonly (string | number)[];

export interface YamlText {
  /** The file's name as it is to be shown. */
  file: string;
  /** The root as plain values; an empty text is `null`. */
  value: unknown;
  document: Document.Parsed;
  /** The place of the value at `path` (of its key, for `of: "key"`), or of the nearest parent that exists. */
  place(path: ValuePath, of?: "key" | "value"): Place;
  /** The number at `path` as it was typed (`017`), or undefined when there is none. */
  numberSource(path: ValuePath): string | undefined;
}

/**
 * Reads one YAML document. Core schema of YAML 1.2: `yes` and dates stay texts.
 * @throws Fault `job.yaml`: every syntax error as `file:line:column: what; do this`, the first one's place filled in.
 */
export function parseYamlDocument(text: string, file: string): YamlText {
  const lines = new LineCounter();
  const source = text.startsWith("\uFEFF") ? text.slice(1) : text;
  const document = parseDocument(source, { lineCounter: lines, prettyErrors: false });
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(1, line), column: Math.max(1, col) };
  };
  if (document.errors.length > 0) throw syntaxFault(document.errors, source, placeAt);
  return {
    file,
    value: plainValue(document, file),
    document,
    place: (path, of = "value") => placeAt(offsetOf(document, path, of)),
    numberSource: (path) => numberSourceOf(document, path),
  };
}

function plainValue(document: Document.Parsed, file: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw new Fault("job.yaml", `${file}:1:1: ${messageOf(error)}`, {
      hint: "Write the repeated parts out instead of using aliases.",
      place: { file, line: 1, column: 1 },
      cause: error,
    });
  }
}

function syntaxFault(
  errors: readonly YAMLError[],
  source: string,
  placeAt: (offset: number) => Place,
): Fault {
  const lines = source.split(/\r?\n/);
  const seen = new Set<number>();
  const reports: { place: Place; what: string; hint: string }[] = [];
  for (const error of errors) {
    const place = placeAt(error.pos[0]);
    const line = place.line ?? 1;
    // One mistake often breaks the rest of its line several times over; the first report is the useful one.
    if (seen.has(line)) continue;
    seen.add(line);
    reports.push({ place, ...explain(error, lines[line - 1] ?? "") });
  }
  const message = reports
    .map(({ place, what, hint }) => `${place.file}:${place.line}:${place.column}: ${what}; ${hint}`)
    .join("\n");
  const first = reports[0];
  return new Fault("job.yaml", message, {
    hint: capitalise(first?.hint ?? "correct the YAML"),
    ...(first ? { place: first.place } : {}),
    details: { issues: reports },
  });
}

/** W2: what YAML refuses most often in our files is a schedule that begins with `@` or `*`. */
function explain(error: YAMLError, line: string): { what: string; hint: string } {
  const schedule = /(?:schedule|cron)["']?\s*:\s*([@*][^#}\n]*)/.exec(line);
  if (schedule) {
    const quoted = `"${(schedule[1] ?? "").trim()}"`;
    return { what: "YAML cannot read this schedule without quotes", hint: `quote the schedule: ${quoted}` };
  }
  const what = `not valid YAML (${error.message.charAt(0).toLowerCase()}${error.message.slice(1)})`;
  if (error.code === "DUPLICATE_KEY") return { what: "this key appears twice", hint: "keep one of the two" };
  if (error.code === "TAB_AS_INDENT") return { what: "a tab is used to indent", hint: "indent with spaces" };
  if (error.code === "MULTIPLE_DOCS")
    return { what: "a second document begins here", hint: "keep one document in a file" };
  if (/:\s+[@*&!%`]/.test(line))
    return { what, hint: "quote the value: it begins with a character YAML reserves" };
  if (error.code === "BLOCK_AS_IMPLICIT_KEY")
    return { what, hint: "quote the value: it holds a colon and a space" };
  return { what, hint: "correct the YAML here" };
}

function offsetOf(document: Document.Parsed, path: ValuePath, of: "key" | "value"): number {
  let node: unknown = document.contents;
  let offset = rangeStart(node) ?? 0;
  for (const [depth, step] of path.entries()) {
    const found = childOf(node, step, document);
    if (!found) return offset;
    const isLast = depth === path.length - 1;
    offset = (isLast && of === "key" ? found.keyOffset : undefined) ?? found.valueOffset ?? offset;
    node = found.node;
  }
  return offset;
}

interface Child {
  node: unknown;
  keyOffset: number | undefined;
  valueOffset: number | undefined;
}

function childOf(parent: unknown, step: string | number, document: Document.Parsed): Child | undefined {
  const node = isAlias(parent) ? parent.resolve(document) : parent;
  if (isSeq(node)) {
    const item = node.items[Number(step)];
    return item === undefined
      ? undefined
      : { node: item, keyOffset: undefined, valueOffset: rangeStart(item) };
  }
  if (!isMap(node)) return undefined;
  const pair = pairOf(node.items, String(step));
  if (!pair) return undefined;
  const keyOffset = rangeStart(pair.key);
  return { node: pair.value, keyOffset, valueOffset: rangeStart(pair.value) ?? keyOffset };
}

/** The pair with this key: exact spelling first, then the snake_case one. */
export function pairOf(
  items: readonly unknown[],
  key: string,
): { key: ParsedNode; value: ParsedNode | null } | undefined {
  const pairs = items.filter(isPair) as { key: ParsedNode; value: ParsedNode | null }[];
  const nameOf = (pair: { key: ParsedNode }) => (isScalar(pair.key) ? String(pair.key.value) : undefined);
  return (
    pairs.find((pair) => nameOf(pair) === key) ??
    pairs.find((pair) => {
      const name = nameOf(pair);
      return name !== undefined && camelCase(name) === key;
    })
  );
}

function numberSourceOf(document: Document.Parsed, path: ValuePath): string | undefined {
  let node: unknown = document.contents;
  for (const step of path) node = childOf(node, step, document)?.node;
  if (!isScalar(node) || typeof node.value !== "number") return undefined;
  return node.source ?? String(node.value);
}

function rangeStart(node: unknown): number | undefined {
  return (node as { range?: readonly number[] | null } | null | undefined)?.range?.[0];
}

function capitalise(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
