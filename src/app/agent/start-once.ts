// A run begins once, whatever begins it: its first process, or the first model call (L3).

import type { ProcessRecord } from "../../records/process.ts";
import type { RunContext } from "../../records/run-context.ts";

export interface Starter {
  /**
   * Commits `running`, with the process that waits to be released, if there is one here; later processes are added.
   * False = nothing may begin.
   */
  record(process: ProcessRecord | undefined, scriptSha256?: string): Promise<boolean>;
  /** Commits `running`, if nothing has yet. */
  begin(): Promise<boolean>;
}

export function startOnce(ctx: RunContext): Starter {
  let hasBegun = false;
  const begin = async (process?: ProcessRecord, sha256?: string) => {
    hasBegun = await ctx.begin(process, sha256);
    return hasBegun;
  };
  return {
    async record(process, sha256) {
      if (!hasBegun) return begin(process, sha256);
      return process ? ctx.addProcess(process) : ctx.abortReason() === undefined;
    },
    begin: async () => (hasBegun ? ctx.abortReason() === undefined : begin()),
  };
}
