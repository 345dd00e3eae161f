// The `read_file` tool: a range of a text file's lines, numbered.

import * as z from "zod/mini";
import { isFault } from "../../kernel/errors.ts";
import { quoteForShell } from "../../kernel/shell-quote.ts";
import { MINUTE } from "../../kernel/time.ts";
import type { Tool, ToolContext, ToolResult } from "../../records/tool.ts";
import { defineTool } from "../define-tool.ts";
import { decodeOutput } from "./decode-output.ts";
import { type FileToolDeps, placeOf } from "./file-place.ts";
import { PATH_TEXT, READ_FILE_TEXT } from "./file-texts.ts";
import { orSentence } from "./mendable.ts";

const MAX_LINES = 2_000;
const MAX_CHARACTERS = 100_000;
/** A longer line is cut: minified files have lines of megabytes. */
const MAX_LINE = 2_000;
/** Larger files are not read whole; only the wanted lines are asked for. */
const MAX_WHOLE_BYTES = 5_000_000;
/** A NUL this near to the beginning means that a file is no text. */
const BINARY_SEARCH = 8_000;

const schema = z.strictObject({
  path: z.string().check(z.minLength(1), z.describe(PATH_TEXT)),
  offset: z.optional(
    z.int().check(
      z.describe("First line, from 1; negative = from the end. Default 1."),
      z.refine((n) => n !== 0, "is 0; lines count from 1"),
    ),
  ),
  limit: z.optional(z.int().check(z.gte(1), z.lte(MAX_LINES), z.describe("How many lines. Default 2,000."))),
});

interface Range {
  offset: number;
  limit: number;
}

export function makeReadFileTool(deps: FileToolDeps): Tool {
  return defineTool({
    name: "read_file",
    toolset: "files",
    description: READ_FILE_TEXT,
    schema,
    isParallelSafe: true,
    summarise: ({ path }) => path,
    run: ({ path, offset = 1, limit = MAX_LINES }, context) =>
      orSentence(() => read(deps, path, { range: { offset, limit }, context })),
  });
}

async function read(
  deps: FileToolDeps,
  asked: string,
  { range, context }: { range: Range; context: ToolContext },
): Promise<ToolResult> {
  const { signal } = context;
  const place = await placeOf(deps, asked, signal);
  if ("error" in place) return place;
  try {
    const bytes = await deps.environment.readFile(place.path, { signal, maxBytes: MAX_WHOLE_BYTES });
    return wholeFile(place.path, bytes, range);
  } catch (error) {
    // Refused for its size, most likely: its lines can still be had. If not, the refusal stands.
    if (!isFault(error) || error.code !== "environment.file-refused") throw error;
    const part = await partOfFile(deps, place.path, { range, signal });
    if (part === undefined) throw error;
    return part;
  }
}

function wholeFile(path: string, bytes: Uint8Array, { offset, limit }: Range): ToolResult {
  const encoding = encodingOf(bytes);
  if (encoding === undefined)
    return { error: `${path} is a binary file of ${bytes.length} bytes and has no text to read.` };
  const lines = linesOf(new TextDecoder(encoding).decode(bytes));
  const totalLines = lines.length;
  if (offset > totalLines && totalLines > 0)
    return { error: `${path} has ${totalLines} lines; there is no line ${offset}.`, totalLines };
  const first = offset > 0 ? offset : Math.max(1, totalLines + offset + 1);
  return { error: null, path, ...numbered(lines.slice(first - 1, first - 1 + limit), first), totalLines };
}

/** Lines of a file that is too large to be read whole. Undefined when they cannot be had either. */
async function partOfFile(
  { environment }: FileToolDeps,
  path: string,
  { range, signal }: { range: Range; signal: AbortSignal },
): Promise<ToolResult | undefined> {
  const { offset, limit } = range;
  const file = quoteForShell(path);
  const last = offset + limit - 1;
  const lines =
    offset > 0
      ? `sed -n '${offset},${last}p;${last}q' ${file}`
      : `tail -n ${-offset} ${file} | head -n ${limit}`;
  // Twice the limit, so that what is shown is cut in one place only.
  const command = `[ -f ${file} ] && ${lines} | head -c ${2 * MAX_CHARACTERS}`;
  const result = await environment.exec(command, { signal, timeoutMs: MINUTE, maxBytes: 4 * MAX_CHARACTERS });
  if (result.exitCode !== 0 || result.stdout.length === 0) return undefined;
  if (encodingOf(result.stdout) === undefined) return { error: `${path} is a large binary file.` };
  const note = "A large file: only these lines were read, and its lines were not counted.";
  const shown = numbered(linesOf(decodeOutput(result.stdout, false)), offset > 0 ? offset : undefined);
  return { error: null, path, ...shown, totalLines: null, note };
}

/** `first` undefined = the lines' numbers are not known. */
function numbered(lines: readonly string[], first: number | undefined): Record<string, unknown> {
  const shown: string[] = [];
  let size = 0;
  for (const [index, line] of lines.entries()) {
    const text =
      line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)} [… ${line.length - MAX_LINE} more]` : line;
    const row = first === undefined ? text : `${first + index}\t${text}`;
    size += row.length + 1;
    if (size > MAX_CHARACTERS) break;
    shown.push(row);
  }
  const isCut = shown.length < lines.length;
  const content = shown.join("\n");
  if (first === undefined) return { content, lines: shown.length, isCut };
  return { content, firstLine: shown.length === 0 ? 0 : first, lastLine: first + shown.length - 1, isCut };
}

/** Without the empty piece after a last line break; `\r` of CRLF is not shown. */
function linesOf(text: string): string[] {
  if (text === "") return [];
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** Undefined = no text. */
function encodingOf(bytes: Uint8Array): "utf-8" | "utf-16le" | "utf-16be" | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  return bytes.subarray(0, BINARY_SEARCH).includes(0) ? undefined : "utf-8";
}
