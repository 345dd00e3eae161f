// The `list_folder` tool.

import * as z from "zod/mini";
import { quoteForShell } from "../../kernel/shell-quote.ts";
import { MINUTE } from "../../kernel/time.ts";
import type { Tool, ToolContext, ToolResult } from "../../records/tool.ts";
import { defineTool } from "../define-tool.ts";
import { decodeOutput } from "./decode-output.ts";
import { type FileToolDeps, placeOf } from "./file-place.ts";
import { LIST_FOLDER_TEXT, PATH_TEXT } from "./file-texts.ts";
import { orSentence } from "./mendable.ts";

const MAX_ENTRIES = 500;

const schema = z.strictObject({
  path: z.optional(z.string().check(z.minLength(1), z.describe(`${PATH_TEXT} Default: that directory.`))),
});

export function makeListFolderTool(deps: FileToolDeps): Tool {
  return defineTool({
    name: "list_folder",
    toolset: "files",
    description: LIST_FOLDER_TEXT,
    schema,
    isParallelSafe: true,
    summarise: ({ path = "." }) => path,
    run: ({ path = "." }, context) => orSentence(() => list(deps, path, context)),
  });
}

async function list(deps: FileToolDeps, asked: string, { signal }: ToolContext): Promise<ToolResult> {
  const place = await placeOf(deps, asked, signal);
  if ("error" in place) return place;
  const folder = quoteForShell(place.path);
  // A subshell, since `cd` would move the session; LC_ALL=C for one order everywhere.
  const command = `(cd -- ${folder} && LC_ALL=C ls -1Ap)`;
  const result = await deps.environment.exec(command, { signal, timeoutMs: MINUTE });
  if (result.exitCode !== 0)
    return { error: `${place.path} cannot be listed: ${decodeOutput(result.stderr, false).trim()}` };
  const names = decodeOutput(result.stdout, result.truncated)
    .split("\n")
    .filter((name) => name !== "");
  const entries = names.slice(0, MAX_ENTRIES);
  return { error: null, path: place.path, entries, total: names.length, isCut: names.length > MAX_ENTRIES };
}
