// Tasks as a kind of work: the registration that a task names, called as its contract says.

import { callExecutor } from "../orchestrate/executors/call-executor.ts";
import type { ExecutorRegistry } from "../records/executor.ts";
import { systemClock } from "./system.ts";
import { type DoWork, preflightFailure } from "./work.ts";

export function taskWork(executors: ExecutorRegistry): DoWork {
  return async ({ job }, ctx) => {
    const { work, env, workdir, environment, timezone, totalTimeoutMs: timeoutMs } = job;
    if (work.kind !== "task") return preflightFailure("this is no task");
    const { version } = ctx.run.admission ?? {};
    const registered = await executors.named(work.executor);
    const executor = registered.find((one) => version === undefined || one.version === version);
    if (!executor)
      return preflightFailure(
        `no executor "${work.executor}"${version ? ` of version ${version}` : ""} is registered in this node`,
      );
    const { params } = work;
    return callExecutor(executor, {
      params,
      env,
      workdir,
      environment,
      timezone,
      timeoutMs,
      clock: systemClock,
      ctx,
    });
  };
}
