// The `search_files` tool: contents by regular expression, or files by name, wherever the environment is.
//
// I1. What the guard refuses is in no result, whatever was searched (S1).

import { posix } from "node:path";
import * as z from "zod/mini";
import { MINUTE } from "../../kernel/time.ts";
import type { Tool, ToolContext, ToolResult } from "../../records/tool.ts";
import { defineTool } from "../define-tool.ts";
import { decodeOutput } from "./decode-output.ts";
import { type FileToolDeps, placeOf } from "./file-place.ts";
import { PATH_TEXT, SEARCH_FILES_TEXT } from "./file-texts.ts";
import { orSentence } from "./mendable.ts";
import { BAD_PATTERN, MAX_SEARCH_BYTES, NO_PATH, searchCommand } from "./search-command.ts";

const DEFAULT_RESULTS = 100;
const MAX_RESULTS = 1_000;
/** Characters of a matching line. */
const MAX_LINE = 300;
/** Lines asked for beyond what is shown: the guard may take some away. */
const SPARE_LINES = 1_000;

const schema = z
  .strictObject({
    pattern: z.optional(z.string().check(z.minLength(1), z.describe("Regular expression for a line."))),
    name: z.optional(z.string().check(z.minLength(1), z.describe("Glob for files' names."))),
    path: z.optional(z.string().check(z.minLength(1), z.describe(`${PATH_TEXT} Default: that directory.`))),
    caseSensitive: z.optional(z.boolean().check(z.describe("Default true."))),
    maxResults: z.optional(z.int().check(z.gte(1), z.lte(MAX_RESULTS), z.describe("Default 100."))),
  })
  .check(
    z.refine(
      ({ pattern, name }) => pattern !== undefined || name !== undefined,
      "give `pattern`, `name` or both",
    ),
    z.refine(
      ({ pattern = "", name = "" }) => !/[\0\n]/.test(pattern + name),
      "a search cannot span lines: leave out line breaks and NUL",
    ),
  );

type Input = z.infer<typeof schema>;

export function makeSearchFilesTool(deps: FileToolDeps): Tool {
  return defineTool({
    name: "search_files",
    toolset: "files",
    description: SEARCH_FILES_TEXT,
    schema,
    isParallelSafe: true,
    summarise: ({ pattern, name, path }) =>
      [pattern ?? name, path && `in ${path}`].filter(Boolean).join(" ").slice(0, 80),
    run: (input, context) => orSentence(() => search(deps, input, context)),
  });
}

async function search(deps: FileToolDeps, input: Input, { signal }: ToolContext): Promise<ToolResult> {
  const { path: asked = ".", pattern, name, caseSensitive = true, maxResults = DEFAULT_RESULTS } = input;
  const place = await placeOf(deps, asked, signal);
  if ("error" in place) return place;
  const command = searchCommand({
    path: place.path,
    pattern,
    name,
    isCaseSensitive: caseSensitive,
    skipFolders: deps.skipFolders ?? [],
    maxLines: maxResults + SPARE_LINES,
  });
  const result = await deps.environment.exec(command, {
    signal,
    timeoutMs: MINUTE,
    maxBytes: 2 * MAX_SEARCH_BYTES,
  });
  if (result.exitCode === NO_PATH) return { error: `${place.path} does not exist.` };
  if (result.exitCode === BAD_PATTERN)
    return {
      error: `The pattern cannot be read: ${decodeOutput(result.stderr, false).trim().slice(0, 300)}`,
    };
  const [kind, ...rows] = decodeOutput(result.stdout, false)
    .split("\n")
    .filter((row) => row !== "");
  const root = kind === "f" ? posix.dirname : (path: string) => path;
  const matches = rows.map((row) => matchOf(row, pattern !== undefined));
  const allowed = allowedMatches(deps, root(place.path), matches);
  const shown = allowed.slice(0, maxResults).map((match) => lineOf(root(asked), match));
  return {
    error: result.timedOut ? "The search was ended after a minute; narrow the path or the name." : null,
    results: pattern === undefined ? shown.sort() : shown,
    isCut: allowed.length > shown.length || rows.length >= maxResults + SPARE_LINES || result.timedOut,
  };
}

interface Match {
  /** Relative to the searched folder. */
  file: string;
  /** `:12: text`; empty where only names were asked for. */
  line: string;
}

/** `./a/b.log:12:text`. A file's name with `:12:` in it would be read wrongly; the guard then judges its beginning. */
function matchOf(row: string, hasLine: boolean): Match {
  const [, file = row, number, text = ""] = (hasLine && /^(.*?):(\d+):(.*)$/.exec(row)) || [];
  const shown = text.length > MAX_LINE ? `${text.slice(0, MAX_LINE)} […]` : text;
  return { file: file.replace(/^\.\//, ""), line: number === undefined ? "" : `:${number}: ${shown}` };
}

/** I1. Each file is judged once. */
function allowedMatches(deps: FileToolDeps, folder: string, matches: readonly Match[]): Match[] {
  const verdicts = new Map<string, boolean>();
  return matches.filter(({ file }) => {
    const known = verdicts.get(file) ?? deps.guardPath(posix.resolve(folder, file)) === undefined;
    verdicts.set(file, known);
    return known;
  });
}

/** With a path that `read_file` takes. */
function lineOf(folder: string, { file, line }: Match): string {
  return `${folder === "." ? "" : `${folder.replace(/\/+$/, "")}/`}${file}${line}`;
}
