// Executors as every surface prints them.

import { resolve } from "node:path";
import type { Executor, ExecutorKind, ExecutorProblem } from "../../records/executor.ts";
import type { Effects, RetryDocument } from "../../records/job.ts";
import type { Resources } from "../../records/workflow.ts";
import type { Context } from "../context.ts";
import { homeExecutorsOf } from "./lazy-executors.ts";
import { requireExecutor } from "./require-task.ts";

export interface ExecutorDocument {
  name: string;
  version: string;
  kind: ExecutorKind;
  description: string | null;
  /** Where it was defined: `executors/check.py`, `config.yaml`, `built in`, `this program`. */
  source: string;
  isInProcess: boolean;
  /** Null = the task's or the orchestrator's default; 0 = no limit. */
  timeoutMs: number | null;
  retry: RetryDocument | null;
  resources: Resources;
  effects: Effects;
  /** Params whose text a shell runs: templates inside travel as variables. */
  shellParams: readonly string[];
  /** JSON Schemas; null = it does not say. */
  input: Readonly<Record<string, unknown>> | null;
  output: Readonly<Record<string, unknown>> | null;
}

export interface ExecutorListDocument {
  executors: ExecutorDocument[];
  problems: ExecutorProblem[];
  notes: string[];
}

/** Everything that is registered, and what could not be. */
export async function listExecutors({
  executors: known,
}: Pick<Context, "executors">): Promise<ExecutorListDocument> {
  const executors = homeExecutorsOf({ executors: known });
  return {
    executors: (await executors.list()).map(executorDocument),
    problems: [...(await executors.problems())],
    notes: [...(await executors.notes())],
  };
}

/** Every registration of a name, the preferred one first. Throws `executor.unknown`. */
export async function showExecutor(
  { executors }: Pick<Context, "executors">,
  name: string,
): Promise<ExecutorDocument[]> {
  return (await requireExecutor(executors, name)).map(executorDocument);
}

/** One file as if it lay in executors/, else all that is registered. Throws `input.not-found`. */
export async function checkExecutors(
  context: Pick<Context, "executors">,
  options: { file: string | undefined; cwd: string },
): Promise<ExecutorListDocument> {
  if (options.file === undefined) return listExecutors(context);
  const { executors, problems, notes } = await homeExecutorsOf(context).check(
    resolve(options.cwd, options.file),
  );
  return { executors: executors.map(executorDocument), problems, notes };
}

function executorDocument(executor: Executor): ExecutorDocument {
  const { contract, description, run: _, ...facts } = executor;
  return {
    ...facts,
    description: description ?? null,
    timeoutMs: contract.timeoutMs ?? null,
    retry: contract.retry ?? null,
    resources: contract.resources,
    effects: contract.effects,
    shellParams: contract.shellParams,
    input: contract.input ?? null,
    output: contract.output ?? null,
  };
}
