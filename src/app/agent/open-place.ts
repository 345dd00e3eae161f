// Where an agent works: its folder, its environment, its background processes. Opened together, ended together.

import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { commandEnv } from "../../execute/command-env.ts";
import { openEnvironment } from "../../execute/environments/index.ts";
import { scopeKey } from "../../execute/environments/scope-locks.ts";
import { checkWorkdir } from "../../execute/prepare-script.ts";
import { leaveWorkspace, redactWith, type ScriptDeps } from "../../execute/run-script.ts";
import { openWorkspace } from "../../execute/workspace.ts";
import type { Redact } from "../../kernel/redact.ts";
import { SECOND } from "../../kernel/time.ts";
import type { Processes } from "../../records/background.ts";
import type { Environment } from "../../records/environment.ts";
import type { Job } from "../../records/job.ts";
import type { Outcome } from "../../records/outcome.ts";
import type { RunContext } from "../../records/run-context.ts";
import { JOBLESS_FOLDER } from "../../store/files/output-files.ts";
import { environmentProcesses } from "../background/environment-processes.ts";
import type { Context } from "../context.ts";
import { environmentOf } from "../environments.ts";
import { isRepeatable } from "../plan-closing.ts";
import { agentTempFolder, keptFolder } from "./temp-folder.ts";

export interface Place {
  environment: Environment;
  processes: Processes;
  /** What commands and file tools may change inside the home (S1); the skills they may read. */
  allowed: readonly string[];
  /** Whether commands see this machine's own files. */
  isLocal: boolean;
  /** The run's NIGHTSHIFT_* variables: what is started for it is found by them (L10). */
  marks: Readonly<Record<string, string>>;
  /** Hides the job's own secrets too. */
  redact: Redact;
  /** Ends everything in it. The workspace stays where the run did not succeed and left something. */
  close(outcome: Outcome | undefined): Promise<void>;
}

/** A silent command's CPU time is looked at so often, and several times within a short limit of silence (L14). */
const CPU_SAMPLE_MS = 5 * SECOND;

/** Throws `job.invalid`, `environment.*`. Whatever was opened by then is closed. */
export async function openPlace(
  { context, commands }: { context: Context; commands: ScriptDeps },
  job: Job,
  ctx: RunContext,
): Promise<Place> {
  const env = commandEnv({ ...commands, ...ctx, jobEnv: job.env, timezone: job.timezone });
  const folders = await openFolders(context, job, ctx);
  const spec = environmentOf(context, job);
  const key = scopeKey({ home: context.home.paths.root, spec, jobId: ctx.run.jobId });
  const deps = {
    ...environmentDeps({ context, commands }, job, { ctx, env, folders }),
    scopeKey: key,
    keptFolder: keptFolder(context.home.paths, key),
  };
  const { allowed } = folders;
  const redact = redactWith(commands.redact, job, env);
  // A skill that a run could change would instruct the next one.
  const hide = {
    ...{ folders: [context.home.paths.root], except: allowed },
    readable: [context.home.paths.skillsFolder],
  };
  let release = () => {};
  const leave = async (outcome: Outcome | undefined) => {
    release();
    await folders.leave(outcome);
  };
  try {
    release = (await commands.locks?.take(key, ctx.signal)) ?? release;
    const environment = await openEnvironment(deps, spec, {
      hide,
      isRepeatable: isRepeatable(job.effects),
      isWorkdirSynced: folders.isNamed,
    });
    const processes = environmentProcesses({
      ...{ context, environment, spec, hide, redact },
      owner: { runId: ctx.run.id, session: "run" },
      parentRunId: ctx.run.parentId,
      ...{ jobEnv: job.env, timezone: job.timezone, jobId: ctx.run.jobId, depth: ctx.lineage.depth },
      mayTellTargets: context.config.http.allowRunsToSchedule,
      probeWalls: commands.probeWalls,
    });
    const close = async (outcome: Outcome | undefined) => {
      await endAll({ environment, processes, ctx });
      await leave(outcome);
    };
    const isLocal = spec.backend === "local";
    return { environment, processes, allowed, isLocal, marks: marksOf(env), redact, close };
  } catch (error) {
    await leave(undefined);
    throw error;
  }
}

interface Folders {
  /** Where commands start, on this machine. */
  workdir: string;
  /** Whether the job names it. */
  isNamed: boolean;
  tempFolder: string;
  allowed: readonly string[];
  leave(outcome: Outcome | undefined): Promise<void>;
}

/** The job's folder or a fresh one, and a private one for what commands leave between calls. */
async function openFolders({ home, env }: Context, job: Job, ctx: RunContext): Promise<Folders> {
  const named = await checkWorkdir(job.workdir, env.HOME ?? "/");
  const workspace =
    named === undefined ? await openWorkspace(home.paths.workspacesFolder, ctx.run.id) : undefined;
  const tempFolder = join(agentTempFolder(home.paths), ctx.run.id);
  await mkdir(tempFolder, { recursive: true, mode: 0o700 });
  const output = join(home.paths.outputFolder, ctx.run.jobId ?? JOBLESS_FOLDER);
  return {
    workdir: named ?? workspace ?? home.paths.workspacesFolder,
    isNamed: named !== undefined,
    tempFolder,
    allowed: [...(workspace === undefined ? [] : [workspace]), output],
    async leave(outcome) {
      await rm(tempFolder, { recursive: true, force: true });
      if (workspace !== undefined) await leaveWorkspace(workspace, outcome, ctx);
    },
  };
}

function environmentDeps(
  { context, commands }: { context: Context; commands: ScriptDeps },
  job: Job,
  { ctx, env, folders }: { ctx: RunContext; env: Record<string, string>; folders: Folders },
) {
  return {
    clock: context.clock,
    log: context.log,
    newId: commands.newId,
    env,
    jobEnvNames: Object.keys(job.env),
    nodeEnv: context.env,
    variable: context.variable,
    workdir: folders.workdir,
    tempFolder: folders.tempFolder,
    signal: ctx.signal,
    probeWalls: commands.probeWalls,
    ...(job.idleTimeoutMs > 0 && { cpuSampleMs: Math.min(CPU_SAMPLE_MS, job.idleTimeoutMs / 4) }),
    ...(commands.pipes && { pipes: commands.pipes }),
  };
}

function marksOf(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith("NIGHTSHIFT_")));
}

/** Proof of cleanup: what was ended, and what would not go, is in the run's log. */
async function endAll({
  environment,
  processes,
  ctx,
}: {
  environment: Environment;
  processes: Processes;
  ctx: RunContext;
}): Promise<void> {
  const ended = await processes.dispose();
  const { survivors } = await environment.dispose();
  if (ended.ended + ended.survivors + survivors === 0) return;
  const left = { ended: ended.ended, survivors: ended.survivors + survivors };
  ctx.emit("process-ended", { why: "the run ended", ...left });
  if (left.survivors > 0) ctx.log.warn("processes-outlived-run", { runId: ctx.run.id, ...left });
}
