// Agent jobs as a kind of work. What does it is loaded with the first agent run: script jobs never pay for it.

import type { AgentDeps } from "./agent/agent-deps.ts";
import type { DoWork } from "./work.ts";

export function agentWork(deps: AgentDeps): DoWork {
  return async (input, ctx) => {
    const { runAgentJob } = await import("./agent/run-agent-job.ts");
    return runAgentJob(deps, input, ctx);
  };
}
