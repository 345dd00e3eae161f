// Script jobs as a kind of work: the execute room with what this home gives it.

import { makeMarkIndex } from "../execute/mark-index.ts";
import type { PipePool } from "../execute/pipe-pool.ts";
import { runScript } from "../execute/run-script.ts";
import { makeId } from "../kernel/ids.ts";
import type { Context } from "./context.ts";
import { type DoWork, preflightFailure } from "./work.ts";

/** One per node: the index of marked processes and the pipes are shared by its runs. */
export function scriptWork(context: Context, pipes: PipePool): DoWork {
  const { clock, redact, host, home, scriptPlace, random } = context;
  const deps = {
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
  return ({ job }, ctx) => {
    if (job.work.kind !== "script") return Promise.resolve(preflightFailure("this is no script job"));
    const { script, args } = job.work;
    return runScript(deps, { script, args, workdir: job.workdir, env: job.env, timezone: job.timezone }, ctx);
  };
}
