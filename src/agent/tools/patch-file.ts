// The `patch_file` tool: an exact replacement in a text file.

import * as z from "zod/mini";
import type { Tool, ToolContext, ToolResult } from "../../records/tool.ts";
import { defineTool } from "../define-tool.ts";
import { fileMode } from "./file-mode.ts";
import { type FileToolDeps, placeOf, writing } from "./file-place.ts";
import { PATCH_FILE_TEXT, PATH_TEXT } from "./file-texts.ts";
import { holdsMark, refuseMarks } from "./keep-secrets.ts";
import { orSentence } from "./mendable.ts";
import { patchText } from "./patch-text.ts";

/** Larger files are data, and a model has no business rewriting them whole. */
const MAX_BYTES = 10_000_000;

const schema = z.strictObject({
  path: z.string().check(z.minLength(1), z.describe(PATH_TEXT)),
  old: z.string().check(z.minLength(1), z.describe("The exact text to replace.")),
  new: z.string().check(z.describe("What to put in its place.")),
  replaceAll: z.optional(z.boolean().check(z.describe("Replace every place. Default false."))),
});

export function makePatchFileTool(deps: FileToolDeps): Tool {
  return defineTool({
    name: "patch_file",
    toolset: "files",
    description: PATCH_FILE_TEXT,
    schema,
    isParallelSafe: false,
    summarise: ({ path }) => path,
    run: (input, context) => orSentence(() => patch(writing(deps), input, context)),
  });
}

async function patch(
  deps: FileToolDeps,
  input: z.infer<typeof schema>,
  { signal }: ToolContext,
): Promise<ToolResult> {
  const { environment } = deps;
  const place = await placeOf(deps, input.path, signal);
  if ("error" in place) return place;
  const before = await environment.readFile(place.path, { signal, maxBytes: MAX_BYTES });
  const patched = patchText(Buffer.from(before), {
    old: input.old,
    new: input.new,
    isForAll: input.replaceAll ?? false,
  });
  if ("error" in patched) return { error: patched.error, path: place.path };
  const refusal = holdsMark(input.new) ? refuseMarks(before, patched.bytes) : undefined;
  if (refusal !== undefined) return { error: refusal, path: place.path };
  const mode = await fileMode(environment, place.path, signal);
  await environment.writeFile(place.path, patched.bytes, { signal, ...(mode === undefined ? {} : { mode }) });
  return {
    error: null,
    path: place.path,
    replacements: patched.lines.length,
    lines: patched.lines.slice(0, 50),
  };
}
