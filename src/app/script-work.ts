// Script jobs as a kind of work: the execute room with what this home gives it.

import { join } from "node:path";
import { makeWallsProbe } from "../execute/environments/bubblewrap.ts";
import { makeScopeLocks, scopeKey } from "../execute/environments/scope-locks.ts";
import { makeMarkIndex } from "../execute/mark-index.ts";
import type { PipePool } from "../execute/pipe-pool.ts";
import type { ScriptWork } from "../execute/prepare-script.ts";
import { type RecordScript, runScript, type ScriptDeps } from "../execute/run-script.ts";
import { outcomeOfPreflight } from "../execute/script-outcome.ts";
import { makeId } from "../kernel/ids.ts";
import type { EnvironmentSpec } from "../records/environment-spec.ts";
import type { Job } from "../records/job.ts";
import type { WantedMedia } from "../records/media.ts";
import type { Outcome } from "../records/outcome.ts";
import type { RunContext } from "../records/run-context.ts";
import { agentTempFolder, keptFolder } from "./agent/temp-folder.ts";
import type { Context } from "./context.ts";
import { environmentOf, isPlainLocal } from "./environments.ts";
import { attachmentsIn, makeKeepMedia } from "./keep-media.ts";
import { isRepeatable } from "./plan-closing.ts";
import { triggerOfRun } from "./trigger-of-run.ts";
import { type DoWork, preflightFailure } from "./work.ts";

/** What scripts and other commands of this node run with; one per node: marks and pipes are shared by its runs. */
export function scriptDeps(context: Context, pipes: PipePool | undefined): ScriptDeps {
  const { clock, redact, host, home, scriptPlace, random } = context;
  return {
    ...scriptPlace,
    clock,
    redact,
    hostId: host.hostId,
    workspacesFolder: home.paths.workspacesFolder,
    outputBytes: context.config.limits.outputBytes,
    newId: () => makeId(clock.now(), random),
    marks: makeMarkIndex(clock),
    locks: makeScopeLocks(),
    probeWalls: makeWallsProbe(),
    keepMedia: makeKeepMedia(context),
    ...(pipes && { pipes }),
  };
}

export function scriptWork(context: Context, deps: ScriptDeps): DoWork {
  return ({ job }, ctx) => {
    if (job.work.kind !== "script") return Promise.resolve(preflightFailure("this is no script job"));
    return runJobScript({ context, commands: deps }, { job, ...job.work }, { ctx });
  };
}

/** A script of a job, in the job's environment: its own work, or what runs before its agent. */
export async function runJobScript(
  { context, commands }: { context: Context; commands: ScriptDeps },
  { job, script, args }: { job: Job; script: string; args: readonly string[] },
  { ctx, record }: { ctx: RunContext; record?: RecordScript },
): Promise<Outcome> {
  const event = await triggerOfRun(context, ctx.run);
  const work = {
    ...{ script, args, workdir: job.workdir, env: job.env, timezone: job.timezone },
    ...(event && { event: JSON.stringify(event, null, 2) }),
  };
  return runInPlace({ context, commands }, { work, where: job }, { ctx, ...(record && { record }) });
}

/** A script or command in the place that `where` names. */
export async function runInPlace(
  { context, commands }: { context: Context; commands: ScriptDeps },
  { work, where }: { work: ScriptWork; where: Pick<Job, "environment" | "effects"> },
  { ctx, record }: { ctx: RunContext; record?: RecordScript },
): Promise<Outcome> {
  let spec: EnvironmentSpec;
  try {
    spec = environmentOf(context, where);
  } catch (error) {
    return outcomeOfPreflight(error);
  }
  const heard = hearAttachments(commands, work);
  if (isPlainLocal(spec)) return runScript(heard.commands, heard.work, ctx, record);
  const { runScriptInside } = await import("../execute/run-script-inside.ts");
  const key = scopeKey({ home: context.home.paths.root, spec, jobId: ctx.run.jobId });
  const place = {
    spec,
    isRepeatable: isRepeatable(where.effects),
    scopeKey: key,
    keptFolder: keptFolder(context.home.paths, key),
    ...(commands.locks && { locks: commands.locks }),
    tempFolder: join(agentTempFolder(context.home.paths), ctx.run.id),
  };
  return runScriptInside(heard.commands, heard.work, { ctx, place, ...(record && { record }) });
}

/** What a script names under `attachments` in $NIGHTSHIFT_OUTPUT is kept with the files of its `MEDIA:` lines. */
function hearAttachments(commands: ScriptDeps, work: ScriptWork): { commands: ScriptDeps; work: ScriptWork } {
  const { keepMedia } = commands;
  if (!keepMedia) return { commands, work };
  let file: string | undefined;
  const onEnd: ScriptWork["onEnd"] = (end) => {
    file = end.file;
    work.onEnd?.(end);
  };
  const keep: typeof keepMedia = (outcome, source, run) =>
    keepMedia(file === undefined ? outcome : { ...outcome, attachments: attachmentsOf(file) }, source, run);
  return { commands: { ...commands, keepMedia: keep }, work: { ...work, onEnd } };
}

function attachmentsOf(file: string): WantedMedia[] {
  try {
    return attachmentsIn(JSON.parse(file));
  } catch {
    return [];
  }
}
