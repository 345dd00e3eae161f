// Script jobs as a kind of work: the execute room with what this home gives it.

import { makeMarkIndex } from "../execute/mark-index.ts";
import type { PipePool } from "../execute/pipe-pool.ts";
import { runScript, type ScriptDeps } from "../execute/run-script.ts";
import { makeId } from "../kernel/ids.ts";
import type { Context } from "./context.ts";
import { type DoWork, preflightFailure } from "./work.ts";

/** What scripts and other commands of this node run with; one per node: marks and pipes are shared by its runs. */
export function scriptDeps(context: Context, pipes: PipePool): ScriptDeps {
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
    pipes,
  };
}

export function scriptWork(deps: ScriptDeps): DoWork {
  return ({ job }, ctx) => {
    if (job.work.kind !== "script") return Promise.resolve(preflightFailure("this is no script job"));
    const { script, args } = job.work;
    return runScript(deps, { script, args, workdir: job.workdir, env: job.env, timezone: job.timezone }, ctx);
  };
}
