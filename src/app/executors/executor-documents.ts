// Executors as every surface prints them.

import { resolve } from "node:path";
import { formatInstant } from "../../kernel/time.ts";
import type { Executor, ExecutorKind, ExecutorProblem } from "../../records/executor.ts";
import type { Effects, RetryDocument } from "../../records/job.ts";
import type { Resources } from "../../records/workflow.ts";
import type { Context } from "../context.ts";
import { nodesUp } from "../nodes.ts";
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
  /** Of a `remote` one: how its machines stand, as the nodes that are up know; empty without a node. */
  machines: RemoteMachineDocument[];
}

export interface RemoteMachineDocument {
  url: string;
  /** The name of the node that says so. */
  node: string;
  state: "unknown" | "online" | "offline";
  /** By the clock of that node. */
  since: string;
  /** Why it is offline. */
  reason: string | null;
  checkedAt: string | null;
  /** Of its last answer, there and back. */
  roundTripMs: number | null;
  /** Its wall clock minus the node's. */
  skewMs: number | null;
  /** Calls under way from that node. */
  calls: number;
}

export interface ExecutorListDocument {
  executors: ExecutorDocument[];
  problems: ExecutorProblem[];
  notes: string[];
}

/** Everything that is registered, and what could not be. */
export async function listExecutors(context: Context): Promise<ExecutorListDocument> {
  const executors = homeExecutorsOf(context);
  return {
    executors: await documentsOf(context, await executors.list()),
    problems: [...(await executors.problems())],
    notes: [...(await executors.notes())],
  };
}

/** Every registration of a name, the preferred one first. Throws `executor.unknown`. */
export async function showExecutor(context: Context, name: string): Promise<ExecutorDocument[]> {
  return documentsOf(context, await requireExecutor(context.executors, name));
}

/** One file as if it lay in executors/, else all that is registered. Throws `input.not-found`. */
export async function checkExecutors(
  context: Context,
  options: { file: string | undefined; cwd: string },
): Promise<ExecutorListDocument> {
  if (options.file === undefined) return listExecutors(context);
  const { executors, problems, notes } = await homeExecutorsOf(context).check(
    resolve(options.cwd, options.file),
  );
  return { executors: await documentsOf(context, executors), problems, notes };
}

/** Nodes are asked only where there are machines that they could tell of. */
async function documentsOf(context: Context, executors: readonly Executor[]): Promise<ExecutorDocument[]> {
  const hasRemotes = executors.some(({ kind }) => kind === "remote");
  const machines = hasRemotes ? await machinesOf(context) : [];
  return executors.map((executor) => executorDocument(executor, machines));
}

async function machinesOf(context: Context): Promise<(RemoteMachineDocument & { executor: string })[]> {
  const iso = (at: number | undefined) => (at === undefined ? null : formatInstant(at));
  return (await nodesUp(context)).flatMap(({ name: node, remotes = [] }) =>
    remotes.map(({ executor, url, state, since, reason, checkedAt, roundTripMs, skewMs, calls }) => ({
      ...{ executor, url, node, state, since: formatInstant(since), reason: reason ?? null, calls },
      ...{ checkedAt: iso(checkedAt), roundTripMs: roundTripMs ?? null, skewMs: skewMs ?? null },
    })),
  );
}

function executorDocument(
  executor: Executor,
  machines: readonly (RemoteMachineDocument & { executor: string })[],
): ExecutorDocument {
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
    machines: machines.flatMap(({ executor: of, ...machine }) =>
      executor.kind === "remote" && of === executor.name ? [machine] : [],
    ),
  };
}
