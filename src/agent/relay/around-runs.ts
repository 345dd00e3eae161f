// A tool with something around each run of its calls: what recording and replaying share.

import type { PreparedCall, Tool, ToolContext, ToolResult } from "../../records/tool.ts";

/** One call that is to be run: with which arguments, and as what. */
export interface ToolRun {
  value: unknown;
  call: PreparedCall;
  context: ToolContext;
}

/** What is said of the tool, refused and prepared stays its own; `around` runs each call, or does not. */
export function aroundRuns(tool: Tool, around: (run: ToolRun) => Promise<ToolResult>): Tool {
  return {
    ...tool,
    prepare(value) {
      const preparation = tool.prepare(value);
      if (!preparation.ok) return preparation;
      const { call } = preparation;
      return { ok: true, call: { ...call, run: (context) => around({ value, call, context }) } };
    },
  };
}
