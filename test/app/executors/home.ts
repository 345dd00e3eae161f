// A home with executors in it, and calls of them: as tasks of jobs, or directly with a run of the test's own.

import { chmod, mkdir, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Context } from "../../../src/app/context.ts";
import type { ProgramExecutors } from "../../../src/app/executors/registry.ts";
import { addJob, queueRun } from "../../../src/app/jobs.ts";
import { tickOnce } from "../../../src/app/node.ts";
import { systemClock } from "../../../src/app/system.ts";
import { callExecutor } from "../../../src/orchestrate/executors/call-executor.ts";
import type { Executor, ExecutorCall } from "../../../src/records/executor.ts";
import type { JobDocument } from "../../../src/records/job.ts";
import type { Outcome } from "../../../src/records/outcome.ts";
import type { Run } from "../../../src/records/run.ts";
import { callOf } from "../../orchestrate/executors/call.ts";
import { BARE_ENV, testContext } from "../../support/home.ts";
import { tempFolder } from "../../support/temp.ts";

export interface ExecutorHome {
  context: Context;
  path: string;
  /** Writes a file below the home, as if it had been there for a while. Scripts are made executable. */
  write(name: string, text: string): Promise<void>;
  /** Lets time go by: the registry looks again. */
  later(ms?: number): void;
  executor(name: string): Promise<Executor>;
  call(name: string, params?: Record<string, unknown>, changes?: Partial<ExecutorCall>): Promise<Outcome>;
  /** The same as a task of a job, through the ledger. */
  run(
    executor: string,
    params?: Record<string, unknown>,
    more?: Partial<JobDocument>,
  ): Promise<Run & { outcome: Outcome }>;
  problems(): Promise<string[]>;
}

export async function executorHome(
  options: {
    config?: string;
    files?: Record<string, string>;
    executors?: ProgramExecutors;
    env?: Record<string, string>;
  } = {},
): Promise<ExecutorHome> {
  const path = join(await tempFolder(), "home");
  let skippedMs = 0;
  const write = async (name: string, text: string) => {
    const file = join(path, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
    if (/\.(sh|py|js)$/.test(name) || text.startsWith("#!")) await chmod(file, 0o755);
    const before = (Date.now() + skippedMs) / 1_000 - 5;
    await utimes(file, before, before);
  };
  if (options.config !== undefined) await write("config.yaml", options.config);
  for (const [name, text] of Object.entries(options.files ?? {})) await write(name, text);
  const context = await testContext({
    path,
    // A developer's `python3` may be a shim that takes seconds; the system's is Python itself.
    env: { ...BARE_ENV, PATH: `/usr/bin:${BARE_ENV.PATH}`, ...options.env },
    clock: {
      ...systemClock,
      now: () => systemClock.now() + skippedMs,
      monotonicMs: () => systemClock.monotonicMs() + skippedMs,
    },
    ...(options.executors && { executors: options.executors }),
  });
  let jobs = 0;
  const home: ExecutorHome = {
    context,
    path,
    write,
    later(ms = 2_000) {
      skippedMs += ms;
    },
    async executor(name) {
      const [executor] = await context.executors.named(name);
      if (executor) return executor;
      throw new Error(`no executor ${name}: ${(await home.problems()).join("; ")}`);
    },
    call: async (name, params = {}, changes = {}) =>
      callExecutor(await home.executor(name), callOf(params, changes)),
    async run(executor, params = {}, more = {}) {
      jobs += 1;
      const id = `job-${jobs}`;
      await addJob(context, { id, run: { task: { executor, params } }, ...more });
      const { id: runId } = await queueRun(context, id);
      await tickOnce({ context });
      const attempts = await context.ledger.attempts((await runOf(context, runId)).dedupeKey);
      const last = attempts.toSorted((a, b) => a.attempt - b.attempt).at(-1);
      return (await runOf(context, last?.id ?? runId)) as Run & { outcome: Outcome };
    },
    problems: async () =>
      (await context.executors.problems()).map(({ source, error }) => `${source}: ${error}`),
  };
  return home;
}

async function runOf(context: Context, id: string): Promise<Run> {
  const run = await context.ledger.run(id);
  if (!run || "ambiguous" in run) throw new Error(`no run ${id}`);
  return run;
}
