// Changing a person's YAML without touching what they did not ask to change: edits are spliced into the text by position.
//
// I1. Every byte outside the named keys survives: comments, order, quotes, blank lines, line ends, byte-order mark.
// I2. The result is read back and must mean exactly the patched value; if a splice cannot reach that, the document is
//     rewritten through the YAML library, and failing that the patch is refused. A wrong file is never returned.

import { isDeepStrictEqual } from "node:util";
import { type Document, isMap, parseDocument } from "yaml";
import { Fault } from "../kernel/errors.ts";
import { appendToEmpty, applyEdits, eolOf, mapEdits } from "./yaml-splice.ts";
import { parseYamlDocument } from "./yaml-text.ts";

/**
 * The text with the named keys of its root set to new values, or removed where the value is undefined. A nested map
 * is compared key by key, so that only what differs inside it is touched. A key written in snake_case is found.
 * @throws Fault `job.yaml` when the text itself cannot be read or is not a map.
 */
export function patchYaml(text: string, patch: Record<string, unknown | undefined>): string {
  const mark = text.startsWith("\uFEFF") ? "\uFEFF" : "";
  const source = text.slice(mark.length);
  const { document, value } = parseYamlDocument(source, "document");
  const clean = Object.fromEntries(
    Object.entries(patch).map(([key, item]) => [key, item === undefined ? undefined : jsonCopy(item)]),
  );
  if (value !== null && !isMap(document.contents)) throw notAMap();
  const present = (value ?? {}) as Record<string, unknown>;
  const expected = patched(present, clean);
  const map = document.contents;
  const spliced = isMap(map)
    ? applyEdits(source, mapEdits({ source, map, present, patch: clean }))
    : appendToEmpty(source, clean);
  const result = means(spliced, expected) ? spliced : rewritten(source, expected);
  return mark + result;
}

/** The named keys in whichever spelling the text has them. */
function patched(value: Record<string, unknown>, patch: Record<string, unknown>): Record<string, unknown> {
  const result = new Map(Object.entries(value));
  for (const [key, item] of Object.entries(patch)) {
    const own = spellingIn(value, key) ?? key;
    if (item === undefined) result.delete(own);
    else result.set(own, item);
  }
  return Object.fromEntries(result);
}

function spellingIn(value: Record<string, unknown>, key: string): string | undefined {
  if (Object.hasOwn(value, key)) return key;
  const snake = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.hasOwn(value, snake) ? snake : undefined;
}

function means(text: string, expected: Record<string, unknown>): boolean {
  const document = parseDocument(text, { prettyErrors: false });
  if (document.errors.length > 0) return false;
  try {
    return isDeepStrictEqual(jsonCopy(document.toJS() ?? {}), jsonCopy(expected));
  } catch {
    // An alias whose anchor went with the patched value.
    return false;
  }
}

/** The last resort keeps comments and order through the library, which may normalise blank lines and indentation. */
function rewritten(source: string, expected: Record<string, unknown>): string {
  const document = parseDocument(source);
  const present = (document.toJS() ?? {}) as Record<string, unknown>;
  for (const key of Object.keys(present)) if (!Object.hasOwn(expected, key)) document.delete(key);
  for (const [key, value] of Object.entries(expected))
    if (!isDeepStrictEqual(present[key], value)) document.set(key, document.createNode(value));
  const text = libraryText(document)?.replaceAll("\n", eolOf(source));
  if (text !== undefined && means(text, expected)) return text;
  throw new Fault("job.yaml", "this document cannot be changed without losing part of it", {
    hint: "Change it by hand; it may use anchors or tags.",
  });
}

function libraryText(document: Document.Parsed): string | undefined {
  try {
    return document.toString({ lineWidth: 0 });
  } catch {
    return undefined;
  }
}

/** Drops what a document cannot hold (undefined members), so that values compare as they will be read back. */
function jsonCopy(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

function notAMap(): Fault {
  return new Fault("job.yaml", "document:1:1: this is not a map of keys and values", {
    hint: "Write `key: value` lines.",
    place: { line: 1, column: 1 },
  });
}
