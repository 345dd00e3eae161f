// Whether a task can be done at all, before anything counts on it (law 8).

import { Fault, nearestWord } from "../../kernel/errors.ts";
import { whyParamsRefused } from "../../orchestrate/executors/call-executor.ts";
import type { Executor, ExecutorRegistry } from "../../records/executor.ts";

/** The registrations of a task's executor. Throws `executor.unknown`, `executor.params`. */
export async function requireTask(
  registry: ExecutorRegistry,
  { executor: name, params }: { executor: string; params: Readonly<Record<string, unknown>> },
): Promise<readonly Executor[]> {
  const found = await requireExecutor(registry, name);
  // Any of them may do it: params that none of them takes are a mistake.
  const refusals = found.map((executor) => whyParamsRefused(executor, params));
  const [first] = refusals;
  if (first === undefined || refusals.includes(undefined)) return found;
  throw new Fault("executor.params", first, {
    hint: `See \`nightshift executor show ${name}\` for its params.`,
  });
}

/** Every registration of a name. Throws `executor.unknown`, with why where its file could not be read. */
export async function requireExecutor(
  registry: ExecutorRegistry,
  name: string,
): Promise<readonly Executor[]> {
  const found = await registry.named(name);
  if (found.length > 0) return found;
  const [problems, all] = await Promise.all([registry.problems(), registry.list()]);
  const problem = problems.find(({ source, error }) => `${source}: ${error}`.includes(name));
  const near = nearestWord(name, new Set(all.map((executor) => executor.name)));
  throw new Fault(
    "executor.unknown",
    problem
      ? `there is no executor "${name}": ${problem.source}: ${problem.error}`
      : `there is no executor "${name}"`,
    { hint: near ? `Did you mean "${near}"?` : "See `nightshift executor list`; put it into executors/." },
  );
}
