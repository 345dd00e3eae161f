// A command-line agent as the job's agent: our prompt in, its stdout the answer; same environment rules, same limits.

import { commandEnv } from "../../execute/command-env.ts";
import { checkWorkdir } from "../../execute/prepare-script.ts";
import { runCommand } from "../../execute/run-command.ts";
import { leaveWorkspace, redactWith, type ScriptDeps } from "../../execute/run-script.ts";
import { openWorkspace } from "../../execute/workspace.ts";
import { Fault } from "../../kernel/errors.ts";
import type { CommandRunner } from "../../records/agent-work.ts";
import type { Job } from "../../records/job.ts";
import type { Outcome } from "../../records/outcome.ts";
import type { RunContext } from "../../records/run-context.ts";
import type { Starter } from "./start-once.ts";

/** Bytes of one argument. @source execve(2): Linux takes 32 pages for one, its last byte a NUL. */
const LONGEST_ARGUMENT = 32 * 4_096 - 1;
const PLACE = "{prompt}";

export interface CommandAgentWork {
  job: Job;
  runner: CommandRunner;
  /** System and user part as one text. */
  prompt: string;
}

/** Throws `input.too-large`. The command's own outcome: exit 0 and its stdout, or how it failed. What the answer means is decided by the caller. */
export async function runCommandAgent(
  deps: ScriptDeps,
  { job, runner, prompt }: CommandAgentWork,
  run: { ctx: RunContext; starter: Starter },
): Promise<Outcome> {
  const { ctx, starter } = run;
  const env = commandEnv({ ...deps, ...ctx, jobEnv: job.env, timezone: job.timezone });
  const workdir = await checkWorkdir(job.workdir, deps.nodeEnv.HOME ?? "/");
  const { words, stdin } = commandLine(runner, prompt);
  const [command = "", ...args] = words;
  const workspace =
    workdir === undefined ? await openWorkspace(deps.workspacesFolder, ctx.run.id) : undefined;
  const redact = redactWith(deps.redact, job, env);
  const cwd = workdir ?? workspace ?? "/";
  let outcome: Outcome | undefined;
  try {
    outcome = await runCommand(
      { ...deps, redact },
      { command, args, cwd, env, ...(stdin !== undefined && { stdin }) },
      { ctx, record: (process) => starter.record(process) },
    );
    const source = { kind: "folders", cwd, folders: [cwd], redact } as const;
    outcome = (await deps.keepMedia?.(outcome, source, ctx.run)) ?? outcome;
    return outcome;
  } finally {
    if (workspace !== undefined) await leaveWorkspace(workspace, outcome, ctx);
  }
}

/** The prompt in its place, else as the last argument, else by stdin. Throws `input.too-large`. */
function commandLine(
  { command, promptBy }: CommandRunner,
  prompt: string,
): { words: readonly string[]; stdin?: string } {
  const isByStdin = promptBy === "stdin";
  const hasPlace = command.some((word) => word.includes(PLACE));
  const filled = command.map((word) => word.replaceAll(PLACE, () => (isByStdin ? "" : prompt)));
  if (isByStdin) return { words: filled, stdin: prompt };
  const words = hasPlace ? filled : [...filled, prompt];
  const bytes = Math.max(...words.map((word) => Buffer.byteLength(word)));
  if (bytes <= LONGEST_ARGUMENT) return { words };
  throw new Fault(
    "input.too-large",
    `the whole prompt has ${bytes} bytes; an argument takes at most ${LONGEST_ARGUMENT}`,
    { hint: "Let the command read it: `promptBy: stdin` in the job's runner." },
  );
}
