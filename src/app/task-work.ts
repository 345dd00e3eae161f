// Tasks as a kind of work: the registration that a task names, called as its contract says.
//
// I1. What its executor promises holds where its job says nothing: limit, retries. `status: error` in a result fails it.
// I2. Variables of a job may refer to the node's (`${NAME}`); a workflow's have their values already and never do.

import { jobValue } from "../execute/command-env.ts";
import { outcomeOfPreflight } from "../execute/script-outcome.ts";
import { parseDuration } from "../kernel/time.ts";
import { callExecutor } from "../orchestrate/executors/call-executor.ts";
import { failureInResult } from "../orchestrate/executors/failure-in-result.ts";
import { registrationOf } from "../orchestrate/resources/choose.ts";
import type { Executor, ExecutorRegistry } from "../records/executor.ts";
import type { Job, JobDocument, RetryDocument, RetryPolicy } from "../records/job.ts";
import type { Admission } from "../records/run.ts";
import { TASK_RETRY } from "../records/workflow-resolve.ts";
import type { Context } from "./context.ts";
import { redactOutcome } from "./redact-outcome.ts";
import { type DoWork, preflightFailure, type WorkInput } from "./work.ts";

export function taskWork(context: Context, executors: ExecutorRegistry): DoWork {
  return async (input, ctx) => {
    const { work } = input.job;
    if (work.kind !== "task") return preflightFailure("this is no task");
    const { admission } = ctx.run;
    const executor = registrationOf(await executors.named(work.executor), admission);
    if (!executor) return preflightFailure(await whyNone(executors, work.executor, admission?.version));
    const job = amended(context, executor, input);
    let env: Record<string, string>;
    try {
      env = { ...cardVariables(admission), ...variablesOf(context, input) };
    } catch (error) {
      return outcomeOfPreflight(error);
    }
    const outcome = await callExecutor(executor, {
      params: work.params,
      env,
      workdir: job.workdir,
      // A task that names no place has its executor's.
      environment: job.environment === "local" ? undefined : job.environment,
      timezone: job.timezone,
      timeoutMs: job.totalTimeoutMs,
      clock: context.clock,
      ctx,
    });
    return redactOutcome(context.redact, failureInResult(outcome) ?? outcome);
  };
}

/** The GPUs that the run holds, by the numbers that `nvidia-smi` gives them. @source CUDA C++ Programming Guide, environment variables */
function cardVariables(admission: Admission | undefined): Record<string, string> {
  const cards = admission?.holds?.cards ?? [];
  if (cards.length === 0) return {};
  return { CUDA_DEVICE_ORDER: "PCI_BUS_ID", CUDA_VISIBLE_DEVICES: cards.join(",") };
}

async function whyNone(
  executors: ExecutorRegistry,
  name: string,
  version: string | undefined,
): Promise<string> {
  const what = `no executor "${name}"${version === undefined ? "" : ` of version ${version}`} is registered in this node`;
  const problems = await executors.problems();
  const [problem] = problems.filter(({ source, error }) => `${source} ${error}`.includes(name));
  return problem ? `${what}; ${problem.source}: ${problem.error}` : what;
}

/** (I1) Only a job's own document leaves anything unsaid: a workflow's tasks have everything written out. */
function amended({ config }: Context, { contract }: Executor, { job, definition, amend }: WorkInput): Job {
  if (!definition) return job;
  const { timeout, retry } = JSON.parse(definition.document) as JobDocument;
  const { defaults, orchestrator } = config;
  const isLimited = (timeout?.total ?? defaults.timeout?.total) !== undefined;
  const isRetried = (retry ?? defaults.retry) !== undefined || contract.retry === undefined;
  const totalTimeoutMs = isLimited
    ? job.totalTimeoutMs
    : (contract.timeoutMs ?? orchestrator.defaultTimeoutMs);
  if (totalTimeoutMs === job.totalTimeoutMs && isRetried) return job;
  const own = { ...job, totalTimeoutMs, retry: isRetried ? job.retry : policyOf(contract.retry) };
  amend?.(own);
  return own;
}

function policyOf({ max, delay, backoff, maxDelay, on, notOn }: RetryDocument = {}): RetryPolicy {
  const durationOf = (text: string | undefined) => (text === undefined ? undefined : parseDuration(text));
  return {
    max: max ?? TASK_RETRY.max,
    delayMs: durationOf(delay) ?? TASK_RETRY.delayMs,
    backoff: backoff ?? TASK_RETRY.backoff,
    maxDelayMs: durationOf(maxDelay) ?? TASK_RETRY.maxDelayMs,
    on: on ?? [],
    notOn: notOn ?? [],
  };
}

/** (I2) Throws `job.invalid`. */
function variablesOf({ env: nodeEnv }: Context, { job, definition }: WorkInput): Record<string, string> {
  if (!definition) return { ...job.env };
  return Object.fromEntries(
    Object.entries(job.env).map(([name, value]) => [name, jobValue(name, value, nodeEnv)]),
  );
}
