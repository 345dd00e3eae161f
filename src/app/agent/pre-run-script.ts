// The script that runs before an agent: its stdout is data for the prompt, and decides whether the agent wakes (U3).

import type { AgentWork } from "../../records/agent-work.ts";
import type { Job } from "../../records/job.ts";
import type { Outcome } from "../../records/outcome.ts";
import type { RunContext } from "../../records/run-context.ts";
import { runJobScript } from "../script-work.ts";
import type { AgentDeps } from "./agent-deps.ts";
import type { Starter } from "./start-once.ts";

/** What the script leaves for the prompt, or the end of the run. */
export type ScriptAnswer =
  | { kind: "output"; stdout: string }
  | { kind: "failed"; stdout: string; message: string; stderrTail: string }
  | { kind: "ended"; outcome: Outcome };

/** A failure is for the agent to report, unless the job says `scriptRequired`; a cancel or a time-out ends the run. */
export async function runPreRunScript(
  deps: Pick<AgentDeps, "context" | "commands">,
  { job, agent, script }: { job: Job; agent: AgentWork; script: string },
  run: { ctx: RunContext; starter: Starter },
): Promise<ScriptAnswer> {
  const outcome = await runJobScript(
    deps,
    { job, script, args: [] },
    { ctx: run.ctx, record: (process, sha256) => run.starter.record(process, sha256) },
  );
  if (outcome.state === "succeeded") return { kind: "output", stdout: outcome.output };
  if (outcome.state !== "failed" || agent.isScriptRequired || outcome.error.code === "preflight")
    return { kind: "ended", outcome };
  const { message, stderrTail = "" } = outcome.error;
  return { kind: "failed", stdout: outcome.output ?? "", message, stderrTail };
}
