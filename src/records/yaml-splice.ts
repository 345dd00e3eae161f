// Where in a text the pieces of a YAML map stand, and what to put there instead: edits by position, never a rewrite.
//
// I1. An edit spans a value, a whole pair or the place behind the last pair; everything outside is never part of one.
// I2. A value keeps the form of the one it replaces: quotes, block or flow, the comment behind it.

import { isDeepStrictEqual } from "node:util";
import { isMap, isScalar, type ParsedNode, type YAMLMap } from "yaml";
import { pairOf } from "./yaml-text.ts";
import { blockLines, inlineText, isBlockValue, keyText } from "./yaml-write.ts";

/** Replace the characters from `start` to `end`. */
export interface Edit {
  start: number;
  end: number;
  text: string;
}

export interface PatchTarget {
  source: string;
  map: YAMLMap;
  /** The map's present values. */
  present: Record<string, unknown>;
  patch: Record<string, unknown>;
}

/** The edits that give the named keys their new values; undefined removes a key. */
export function mapEdits(target: PatchTarget): Edit[] {
  const { source, map, patch } = target;
  const edits: Edit[] = [];
  const added: [string, unknown][] = [];
  for (const [key, value] of Object.entries(patch)) {
    const pair = pairOf(map.items, key);
    if (!pair && value !== undefined) added.push([key, value]);
    if (!pair) continue;
    if (value === undefined) edits.push(removal(source, map, pair));
    else edits.push(...pairEdits(target, pair, value));
  }
  if (added.length > 0) edits.push(addition(source, map, added));
  return edits;
}

type Pair = { key: ParsedNode; value: ParsedNode | null };

function pairEdits({ source, map, present }: PatchTarget, pair: Pair, value: unknown): Edit[] {
  const before = present[String(isScalar(pair.key) ? pair.key.value : "")];
  if (isDeepStrictEqual(before, value)) return [];
  const nested = nestedPatch(before, value);
  if (nested && isMap(pair.value))
    return mapEdits({
      source,
      map: pair.value as YAMLMap,
      present: before as Record<string, unknown>,
      patch: nested,
    });
  const [start, end] = valueSpan(source, pair);
  if (map.flow) return [{ start, end, text: JSON.stringify(value) }];
  return [blockReplacement(source, pair, value)];
}

/** What differs between two maps; undefined when they share no key and the value is better written anew. */
function nestedPatch(present: unknown, value: unknown): Record<string, unknown> | undefined {
  if (!isPlainMap(present) || !isPlainMap(value)) return undefined;
  if (!Object.keys(present).some((key) => Object.hasOwn(value, key))) return undefined;
  const gone = Object.keys(present).filter((key) => !Object.hasOwn(value, key));
  return { ...value, ...Object.fromEntries(gone.map((key) => [key, undefined])) };
}

function blockReplacement(source: string, pair: Pair, value: unknown): Edit {
  const eol = eolOf(source);
  const [start, end] = valueSpan(source, pair);
  const [keyStart, keyEnd] = rangeOf(pair.key);
  const colonEnd = source.indexOf(":", keyEnd) + 1;
  const between = source.slice(colonEnd, start);
  const isOnOwnLines = between.includes("\n");
  const indented = (lines: readonly string[], indent: number) =>
    lines.map((line) => (line === "" ? eol : `${eol}${" ".repeat(indent)}${line}`)).join("");
  if (isBlockValue(value, pair.value)) {
    if (isOnOwnLines) {
      const text = indented(blockLines(value), columnOf(source, start));
      return { start, end, text: text.trimStart() };
    }
    const text = indented(blockLines(value), columnOf(source, keyStart) + 2);
    return withComment(source, { start: colonEnd, end, text }, "");
  }
  const [head = "", ...rest] = inlineText(value, pair.value).split("\n");
  const tail = indented(rest, columnOf(source, keyStart));
  const comment = isOnOwnLines ? /#[^\r\n]*/.exec(between)?.[0] : undefined;
  if (comment) return { start: colonEnd, end, text: ` ${head} ${comment}${tail}` };
  if (rest.length > 0) return withComment(source, { start: colonEnd, end, text: tail }, ` ${head}`);
  if (isOnOwnLines || start === colonEnd) return { start: colonEnd, end, text: ` ${head}` };
  return { start, end, text: head };
}

/** A comment behind a value that grows to several lines moves up behind the key. */
function withComment(source: string, edit: Edit, head: string): Edit {
  const end = lineEnd(source, edit.end);
  const comment = source.slice(edit.end, end);
  if (!/^\s+#/.test(comment)) return { ...edit, text: head + edit.text };
  return { ...edit, end, text: head + comment + edit.text };
}

function removal(source: string, map: YAMLMap, pair: Pair): Edit {
  const [keyStart] = rangeOf(pair.key);
  const [, end] = valueSpan(source, pair);
  const pairs = map.items as unknown as Pair[];
  const index = pairs.indexOf(pairs.find((item) => item.key === pair.key) ?? pair);
  if (!map.flow) return { start: lineStart(source, keyStart), end: nextLine(source, end), text: "" };
  const before = pairs[index - 1];
  if (before) return { start: valueSpan(source, before)[1], end, text: "" };
  const after = pairs[index + 1];
  return { start: keyStart, end: after ? rangeOf(after.key)[0] : end, text: "" };
}

function addition(source: string, map: YAMLMap, entries: readonly [string, unknown][]): Edit {
  const eol = eolOf(source);
  const last = (map.items as unknown as Pair[]).at(-1);
  if (!last) {
    const at = (map.range?.[0] ?? 0) + 1;
    const text = entries.map(([key, value]) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`).join(", ");
    return { start: at, end: at, text };
  }
  const [keyStart] = rangeOf(last.key);
  const end = valueSpan(source, last)[1];
  const indent = " ".repeat(columnOf(source, keyStart));
  if (map.flow) return { start: end, end, text: flowAddition(source, keyStart, entries) };
  const at = lineEnd(source, end);
  const lines = entries.flatMap(([key, value]) => keyText(key, value));
  return {
    start: at,
    end: at,
    text: lines.map((line) => `${eol}${line === "" ? "" : indent}${line}`).join(""),
  };
}

function flowAddition(source: string, keyStart: number, entries: readonly [string, unknown][]): string {
  const before = source.slice(lineStart(source, keyStart), keyStart);
  const separator = /^\s*$/.test(before) && before !== "" ? `,${eolOf(source)}${before}` : ", ";
  const name = (key: string) => (source[keyStart] === '"' ? JSON.stringify(key) : key);
  return entries.map(([key, value]) => `${separator}${name(key)}: ${JSON.stringify(value)}`).join("");
}

/** A document without any key (empty, or comments only) takes the new ones at its end. */
export function appendToEmpty(source: string, patch: Record<string, unknown>): string {
  const lines = Object.entries(patch).flatMap(([key, value]) =>
    value === undefined ? [] : keyText(key, value),
  );
  const eol = eolOf(source);
  const head = source === "" || source.endsWith("\n") ? source : source + eol;
  return head + lines.map((line) => line + eol).join("");
}

/** The text after all edits, which must not overlap. */
export function applyEdits(source: string, edits: readonly Edit[]): string {
  // From the back, so that positions stay true; of two pieces put at one place the later one ends up behind.
  const ordered = [...edits].reverse().sort((a, b) => b.start - a.start);
  return ordered.reduce(
    (text, { start, end, text: piece }) => text.slice(0, start) + piece + text.slice(end),
    source,
  );
}

/** From the value's first character to its last, without the line end that closes a block. */
function valueSpan(source: string, pair: Pair): [number, number] {
  const [start, end] =
    pair.value === null ? [rangeOf(pair.key)[1], rangeOf(pair.key)[1]] : rangeOf(pair.value);
  const text = source.slice(start, end);
  const block = isScalar(pair.value) && String(pair.value.type).startsWith("BLOCK");
  const trimmed = block || text.endsWith("\n") ? text.replace(/\r?\n$/, "") : text;
  return [start, start + trimmed.length];
}

function rangeOf(node: ParsedNode): [number, number] {
  return [node.range[0], node.range[1]];
}

/** The line end this text uses. */
export const eolOf = (source: string) => (source.includes("\r\n") ? "\r\n" : "\n");
const lineStart = (source: string, offset: number) => source.lastIndexOf("\n", offset - 1) + 1;
const columnOf = (source: string, offset: number) => offset - lineStart(source, offset);

function lineEnd(source: string, offset: number): number {
  const found = source.indexOf("\n", offset);
  if (found === -1) return source.length;
  return source[found - 1] === "\r" && found > offset ? found - 1 : found;
}

function nextLine(source: string, offset: number): number {
  const found = source.indexOf("\n", offset);
  return found === -1 ? source.length : found + 1;
}

function isPlainMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
