// What a job made by an agent must not hold beside what no job may: words for other agents, a command that ends its own node.

import { open, stat } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../../kernel/errors.ts";
import { requirePass, requirePromptLength } from "../agent/judge-prompt.ts";
import type { Context } from "../context.ts";
import { lifecycleThreat, scriptLifecycleThreat } from "./lifecycle.ts";

export interface ThreatInput {
  name?: string | undefined;
  description?: string | undefined;
  prompt?: string | undefined;
  script?: string | undefined;
  args?: readonly string[] | undefined;
}

/** What of a script is looked at. */
const SCRIPT_BYTES = 256 * 1024;

/** Beside what every surface refuses. Throws `prompt.blocked`, `input.too-large`, `input.refused`. */
export async function refuseThreats(context: Context, input: ThreatInput): Promise<void> {
  requirePromptLength(context, input.prompt ?? "");
  // Names and descriptions are read by agents too, in lists.
  if (input.name !== undefined) requirePass(input.name, "strict", "the name");
  if (input.description !== undefined) requirePass(input.description, "strict", "the description");
  const words = [input.prompt, ...(input.args ?? [])].filter((word) => word !== undefined);
  const threat =
    words.map(lifecycleThreat).find((why) => why !== undefined) ??
    (await scriptThreat(context, input.script));
  if (threat === undefined) return;
  throw new Fault("input.refused", `This job is refused: ${threat}.`, {
    hint: "Leave the program that runs jobs alone; a person can do it with `nightshift`.",
    details: { rule: "lifecycle" },
  });
}

/** What the script would do, as far as its text tells. A path that leads elsewhere is refused by whoever runs it. */
async function scriptThreat(context: Context, script: string | undefined): Promise<string | undefined> {
  if (script === undefined) return undefined;
  const text = await beginningOf(join(context.scriptPlace.scriptsFolder, script));
  return text === undefined ? undefined : scriptLifecycleThreat(text);
}

async function beginningOf(path: string): Promise<string | undefined> {
  try {
    // A pipe would never end, a device never stop.
    if (!(await stat(path)).isFile()) return undefined;
    const file = await open(path, "r");
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(SCRIPT_BYTES), 0, SCRIPT_BYTES, 0);
      return buffer.toString("utf8", 0, bytesRead);
    } finally {
      await file.close();
    }
  } catch {
    // Missing or no file: `checkDocument` says so in its own words.
    return undefined;
  }
}
