// The `write_file` tool: a whole text file, new or replaced.

import * as z from "zod/mini";
import type { Tool, ToolContext, ToolResult } from "../../records/tool.ts";
import { defineTool } from "../define-tool.ts";
import { fileMode } from "./file-mode.ts";
import { type FileToolDeps, placeOf, writing } from "./file-place.ts";
import { PATH_TEXT, WRITE_FILE_TEXT } from "./file-texts.ts";
import { holdsMark, refuseMarks } from "./keep-secrets.ts";
import { orSentence } from "./mendable.ts";

/** Of a file that is read for the marks it holds. */
const MAX_BYTES = 10_000_000;

const schema = z.strictObject({
  path: z.string().check(z.minLength(1), z.describe(PATH_TEXT)),
  content: z.string().check(z.describe("The whole new text.")),
});

export function makeWriteFileTool(deps: FileToolDeps): Tool {
  return defineTool({
    name: "write_file",
    toolset: "files",
    description: WRITE_FILE_TEXT,
    schema,
    isParallelSafe: false,
    summarise: ({ path }) => path,
    run: (input, context) => orSentence(() => write(writing(deps), input, context)),
  });
}

async function write(
  deps: FileToolDeps,
  { path: asked, content }: z.infer<typeof schema>,
  { signal }: ToolContext,
): Promise<ToolResult> {
  const place = await placeOf(deps, asked, signal);
  if ("error" in place) return place;
  const mode = await fileMode(deps.environment, place.path, signal);
  const data = new TextEncoder().encode(content);
  if (mode !== undefined && holdsMark(content)) {
    const before = await deps.environment.readFile(place.path, { signal, maxBytes: MAX_BYTES });
    const refusal = refuseMarks(before, data);
    if (refusal !== undefined) return { error: refusal, path: place.path };
  }
  await deps.environment.writeFile(place.path, data, { signal, ...(mode === undefined ? {} : { mode }) });
  return { error: null, path: place.path, bytes: data.length, isNew: mode === undefined };
}
