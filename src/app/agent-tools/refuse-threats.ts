// What a job made by an agent must not hold: a prompt that the guard refuses, a command that ends its own node.

import { open, stat } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../../kernel/errors.ts";
import type { Context } from "../context.ts";
import { lifecycleThreat, scriptLifecycleThreat } from "./lifecycle.ts";

/** The guard's verdict on a text that will be a prompt. */
export type ScanPrompt = (
  text: string,
) => { verdict: "pass" } | { verdict: "block"; rule: string; reason: string };

export interface ThreatInput {
  name?: string | undefined;
  description?: string | undefined;
  prompt?: string | undefined;
  script?: string | undefined;
  args?: readonly string[] | undefined;
  /** Whether the script is an agent's pre-run script. */
  isAgent: boolean;
}

/** What of a script is looked at. */
const SCRIPT_BYTES = 256 * 1024;

/** Throws `prompt.blocked` (with the rule in `details`), `input.too-large`, `input.refused`. */
export async function refuseThreats(context: Context, scan: ScanPrompt, input: ThreatInput): Promise<void> {
  refuseLength(context, input.prompt ?? "");
  // Names and descriptions are read by agents too, in lists.
  for (const text of [input.prompt, input.name, input.description]) {
    if (text === undefined) continue;
    const answer = scan(text);
    if (answer.verdict === "block") throw blocked(answer.rule, answer.reason);
  }
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

function refuseLength(context: Context, prompt: string): void {
  const bytes = Buffer.byteLength(prompt);
  const most = context.config.limits.promptBytes;
  if (bytes <= most) return;
  throw new Fault("input.too-large", `The prompt has ${bytes} bytes; at most ${most} are allowed.`, {
    hint: "Put the material into a file and name its path.",
  });
}

function blocked(rule: string, reason: string): Fault {
  return new Fault("prompt.blocked", `The prompt guard refuses this text (${rule}): ${reason}`, {
    hint: "Say it without that, or let a person look at it with `nightshift guard`.",
    details: { rule },
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
