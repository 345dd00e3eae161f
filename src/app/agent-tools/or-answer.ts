// Which faults are answers to whoever called a tool, and which say that the place itself is broken.

import { isFault, sayFault } from "../../kernel/errors.ts";
import type { ToolResult } from "../../records/tool.ts";

/** Runs `work`; a fault that another call could mend is its answer, with code and hint. A broken store or home is not. */
export async function orAnswer(work: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await work();
  } catch (error) {
    if (!isFault(error) || /^(?:store|home)\.|^environment\.broken$/.test(error.code)) throw error;
    return { error: sayFault(error), code: error.code, hint: error.hint, ...error.details };
  }
}
