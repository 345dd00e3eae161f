// Agent jobs as a kind of work. What does it is loaded with the first agent run: script jobs never pay for it.

import type { ScriptDeps } from "../execute/run-script.ts";
import type { Context } from "./context.ts";
import type { AgentOptions } from "./node-options.ts";
import type { DoWork } from "./work.ts";

export interface AgentDeps extends AgentOptions {
  context: Context;
  commands: ScriptDeps;
}

export function agentWork(deps: AgentDeps): DoWork {
  return async (input, ctx) => {
    const { runAgentJob } = await import("./agent/run-agent-job.ts");
    return runAgentJob(deps, input, ctx);
  };
}
