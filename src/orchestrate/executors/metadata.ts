// What a comment or a docstring says of its executor: `nightshift: timeout=60 retry=2`, `hermes:timeout 60`, `param host string`.
//
// I1. Read as strictly as config.yaml: an unknown word or a number in quotes is a mistake, with its line.
// I2. Lines that say none of this are the person's own words; the first of them is the description.
// @source seed 003 §3.3 (`hermes:timeout 60`, `hermes:resources {cpu: 1, memory_mb: 64}`).

import { messageOf } from "../../kernel/errors.ts";
import { issuesOf } from "../../records/document-issues.ts";
import type { JsonSchema } from "../../records/executor.ts";
import type { ExecutorMetadata } from "../../records/executor-schema.ts";
import { metadataSchema } from "../../records/executor-schema.ts";
import { camelCase, knownKeysInCamelCase } from "../../records/snake-case.ts";
import { parseYamlDocument } from "../../records/yaml-text.ts";

export interface TextLine {
  text: string;
  /** From 1. */
  line: number;
}

export interface MetadataReading {
  metadata: ExecutorMetadata;
  /** Of `param` lines; undefined = there are none, and anything is taken. */
  input: JsonSchema | undefined;
  /** The first of the person's own words. */
  description: string | undefined;
  /** Whether anything was said at all. */
  isPresent: boolean;
  problems: { line: number; text: string }[];
}

/** Parts of `resources` that may stand by themselves. */
const RESOURCE_WORDS = ["cpu", "memoryMb", "gpu", "gpuMemoryMb", "labels"];

/** Reads a comment's or docstring's lines, without their comment signs. Never throws. */
export function readMetadata(lines: readonly TextLine[]): MetadataReading {
  const reader: Reader = { words: new Map(), properties: {}, required: [], problems: [], own: [] };
  for (const line of lines) readLine(reader, line);
  const { metadata, problems } = judge(reader);
  const hasParams = Object.keys(reader.properties).length > 0;
  return {
    metadata,
    input: hasParams ? inputOf(reader) : undefined,
    description: metadata.description ?? reader.own.find((text) => /\p{L}/u.test(text)),
    isPresent: hasParams || reader.words.size > 0,
    problems: [...reader.problems, ...problems].sort((a, b) => a.line - b.line),
  };
}

interface Reader {
  words: Map<string, { value: unknown; line: number }>;
  properties: Record<string, Record<string, unknown>>;
  required: string[];
  problems: { line: number; text: string }[];
  own: string[];
}

function readLine(reader: Reader, { text, line }: TextLine): void {
  const said = /^\s*(?:nightshift|hermes)\s*:\s*(.*)$/i.exec(text);
  const param = /^\s*param\s+(.*)$/.exec(text);
  if (said) readWords(reader, said[1] ?? "", line);
  else if (param) readParam(reader, param[1] ?? "", line);
  else if (text.trim() !== "") reader.own.push(text.trim());
}

/** `timeout=60 retry=2`, or one word with its value: `timeout 60`. */
function readWords(reader: Reader, text: string, line: number): void {
  const single = /^([A-Za-z_]\w*)\s+([^=].*)$/.exec(text.trim());
  const pairs =
    single && !/^\S+=/.test(text.trim()) ? [[single[1] ?? "", single[2] ?? ""]] : assignments(text);
  if (!pairs) {
    reader.problems.push({ line, text: `"${text.trim()}" is not name=value; write timeout=60 retry=2` });
    return;
  }
  for (const [key = "", source = ""] of pairs) {
    const name = camelCase(key);
    if (reader.words.has(name))
      reader.problems.push({ line, text: `${name} is said twice; keep one of the two` });
    const value = readValue(source);
    if ("problem" in value) reader.problems.push({ line, text: `${name}: ${value.problem}` });
    else reader.words.set(name, { value: value.value, line });
  }
}

/** `a=1 b="x y" c={d: 1}` in pairs; undefined where it is not of that form. */
function assignments(text: string): [string, string][] | undefined {
  const pairs: [string, string][] = [];
  let rest = text.trim();
  while (rest !== "") {
    const match = /^([A-Za-z_]\w*)=("(?:[^"\\]|\\.)*"|'[^']*'|\{[^}]*\}|\[[^\]]*\]|\S*)(?:\s+|$)/.exec(rest);
    if (!match) return undefined;
    pairs.push([match[1] ?? "", match[2] ?? ""]);
    rest = rest.slice(match[0].length);
  }
  return pairs;
}

/** As YAML reads it: a number, a word, a map. */
function readValue(source: string): { value: unknown } | { problem: string } {
  try {
    return { value: parseYamlDocument(source, "value").value };
  } catch (error) {
    return { problem: messageOf(error).replace(/^value:\d+:\d+: /, "") };
  }
}

/** `NAME [TYPE][=DEFAULT] [optional] [words]`. */
const PARAM =
  /^([A-Za-z_][\w-]*)(?:\s+(str|string|int|integer|float|number|bool|boolean|list|array|dict|map|object|any)\b)?(?:\s*=\s*("(?:[^"\\]|\\.)*"|'[^']*'|\{[^}]*\}|\[[^\]]*\]|\S+))?(?:\s+(optional|required)\b)?(?:[\s:–-]+(.*))?$/;

const TYPES: Readonly<Record<string, string>> = {
  ...{
    str: "string",
    string: "string",
    int: "integer",
    integer: "integer",
    float: "number",
    number: "number",
  },
  ...{ bool: "boolean", boolean: "boolean", list: "array", array: "array" },
  ...{ dict: "object", map: "object", object: "object" },
};

function readParam(reader: Reader, text: string, line: number): void {
  const [, name, type = "any", source, word, words] = PARAM.exec(text.trim()) ?? [];
  if (name === undefined) {
    reader.problems.push({ line, text: `"param ${text.trim()}" cannot be read; write: param host string` });
    return;
  }
  if (Object.hasOwn(reader.properties, name)) {
    reader.problems.push({ line, text: `param ${name} stands twice; keep one of the two` });
    return;
  }
  const fallback = source === undefined ? undefined : readValue(source);
  if (fallback && "problem" in fallback)
    reader.problems.push({ line, text: `param ${name}: ${fallback.problem}` });
  reader.properties[name] = {
    ...(TYPES[type] !== undefined && { type: TYPES[type] }),
    ...(fallback && "value" in fallback && { default: fallback.value }),
    ...(words && { description: words }),
  };
  if (fallback === undefined && word !== "optional") reader.required.push(name);
}

function inputOf({ properties, required }: Reader): JsonSchema {
  return { type: "object", properties, required, additionalProperties: false };
}

function judge({ words }: Reader): Pick<MetadataReading, "metadata" | "problems"> {
  const value: Record<string, unknown> = {};
  const resources: Record<string, unknown> = {};
  for (const [name, { value: one }] of words) {
    if (RESOURCE_WORDS.includes(name)) resources[name] = one;
    else value[name] = one;
  }
  if (Object.keys(resources).length > 0)
    value.resources = { ...(value.resources as Record<string, unknown> | undefined), ...resources };
  // A version may look like a number: `version=2` means the text.
  if (typeof value.version === "number") value.version = String(value.version);
  const schema = metadataSchema();
  const known = knownKeysInCamelCase(value, schema);
  const parsed = schema.safeParse(known);
  if (parsed.success) return { metadata: parsed.data, problems: [] };
  const problems = issuesOf(parsed.error.issues, known, schema).map(({ path, what, hint }) => ({
    line: lineOf(words, path),
    text: `${what}; ${hint}`,
  }));
  return { metadata: {}, problems };
}

function lineOf(words: Reader["words"], path: readonly (string | number)[]): number {
  const [first, second] = path.map(String);
  return (words.get(second ?? "") ?? words.get(first ?? ""))?.line ?? [...words.values()][0]?.line ?? 1;
}
