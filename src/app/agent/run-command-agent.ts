// A command-line agent as the job's agent: our prompt in, its stdout the answer; same environment rules, same limits.

import { commandEnv } from "../../execute/command-env.ts";
import { checkWorkdir } from "../../execute/prepare-script.ts";
import { runCommand } from "../../execute/run-command.ts";
import { leaveWorkspace, redactWith, type ScriptDeps } from "../../execute/run-script.ts";
import { openWorkspace } from "../../execute/workspace.ts";
import type { CommandRunner } from "../../records/agent-work.ts";
import type { Job } from "../../records/job.ts";
import type { Outcome } from "../../records/outcome.ts";
import type { RunContext } from "../../records/run-context.ts";
import type { Starter } from "./start-once.ts";

/** The kernel takes no longer argument than this (Linux: 128 kB for one). */
const LONGEST_ARGUMENT = 120_000;

export interface CommandAgentWork {
  job: Job;
  runner: CommandRunner;
  /** System and user part as one text. */
  prompt: string;
}

/** The command's own outcome: exit 0 and its stdout, or how it failed. What the answer means is decided by the caller. */
export async function runCommandAgent(
  deps: ScriptDeps,
  { job, runner, prompt }: CommandAgentWork,
  run: { ctx: RunContext; starter: Starter },
): Promise<Outcome> {
  const { ctx, starter } = run;
  const env = commandEnv({ ...deps, ...ctx, jobEnv: job.env, timezone: job.timezone });
  const workdir = await checkWorkdir(job.workdir, deps.nodeEnv.HOME ?? "/");
  const workspace =
    workdir === undefined ? await openWorkspace(deps.workspacesFolder, ctx.run.id) : undefined;
  const isByStdin = runner.promptBy === "stdin" || prompt.length > LONGEST_ARGUMENT;
  const [command = "", ...args] = runner.command.map((word) =>
    word.replaceAll("{prompt}", () => (isByStdin ? "" : prompt)),
  );
  const words = runner.promptBy === "argument" && !hasPlace(runner) && !isByStdin ? [...args, prompt] : args;
  let outcome: Outcome | undefined;
  try {
    outcome = await runCommand(
      { ...deps, redact: redactWith(deps.redact, job.env, env) },
      { command, args: words, cwd: workdir ?? workspace ?? "/", env, ...(isByStdin && { stdin: prompt }) },
      { ctx, record: (process) => starter.record(process) },
    );
    return outcome;
  } finally {
    if (workspace !== undefined) await leaveWorkspace(workspace, outcome, ctx);
  }
}

function hasPlace(runner: CommandRunner): boolean {
  return runner.command.some((word) => word.includes("{prompt}"));
}
