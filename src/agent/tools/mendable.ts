// Which faults are answers to a model, and which end its run.

import { type FaultCode, isFault, sayFault } from "../../kernel/errors.ts";
import type { ToolResult } from "../../records/tool.ts";

/** What another call can do better: a wrong path, id or argument. Anything else is a broken place or a bug. */
const MENDABLE: ReadonlySet<FaultCode> = new Set([
  "environment.file-missing",
  "environment.file-refused",
  "environment.unusable",
  "input.invalid",
  "input.not-found",
  "input.ambiguous",
  "input.refused",
  "input.too-large",
  "process.unknown",
  "skill.invalid",
  "skill.missing",
] as const);

/** Runs `call`; a fault that a model can mend is its result's `error`, every other throw passes through. */
export async function orSentence(call: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await call();
  } catch (error) {
    if (isFault(error) && MENDABLE.has(error.code)) return { error: sayFault(error) };
    throw error;
  }
}
