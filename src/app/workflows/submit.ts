// Work that a person or a program hands in, and that is no job's: a run of a workflow, one task of an executor.

import { Fault } from "../../kernel/errors.ts";
import { makeId } from "../../kernel/ids.ts";
import { formatDuration } from "../../kernel/time.ts";
import { newProgress } from "../../orchestrate/graph/progress.ts";
import { queueOf } from "../../orchestrate/queues/admit.ts";
import type { JobDocument, TargetDocument } from "../../records/job.ts";
import type { NewRun } from "../../records/ledger/claims.ts";
import { HEAD_START_MS } from "../../records/ledger/slots.ts";
import type { WorkflowDocument } from "../../records/workflow.ts";
import type { Context } from "../context.ts";
import { type RunDocument, runDocument } from "../documents.ts";
import { requirePossible } from "../resources/impossible.ts";
import { fillParams } from "./begin-run.ts";
import { groupOf } from "./concurrency-group.ts";
import { DEFAULT_QUEUE, queueNames, WORKFLOWS_QUEUE } from "./task-rows.ts";
import type { PlannedWorkflow, WorkflowDeps } from "./workflow-source.ts";

interface SubmitOptions {
  /** The caller runs it itself, and goes before every node. Default false. */
  isForHere?: boolean;
  /** Default: `local`. */
  deliver?: TargetDocument[];
}

/** Queues a run of a checked workflow. Throws `input.invalid` for params that do not fit. */
export async function submitWorkflow(
  { context }: WorkflowDeps,
  planned: PlannedWorkflow,
  { params, isForHere = false, deliver }: SubmitOptions & { params: Record<string, unknown> },
): Promise<RunDocument> {
  const filled = fillParams(planned.workflow, params);
  const now = await context.ledger.now();
  const id = makeId(now, context.random);
  const start = { runId: id, uuid: id, startedAt: now, params: filled, trigger: {} };
  const group = groupOf(planned, newProgress(start));
  const document = workDocument(context, planned.document, { params: filled, deliver });
  return enqueue(context, {
    ...bareRun(id, { now, isForHere }),
    ...{ kind: "workflow", effects: "none", input: JSON.stringify(document) },
    ...(group && { queue: WORKFLOWS_QUEUE, admission: { enqueuedAt: now, group } }),
  });
}

function workDocument(
  { zone }: Context,
  workflow: WorkflowDocument,
  { params, deliver }: { params: Record<string, unknown>; deliver: TargetDocument[] | undefined },
): JobDocument {
  const inline = workflow as unknown as Record<string, unknown>;
  return {
    ...{ id: workflow.name, timezone: zone, run: { workflow: { inline, params } } },
    ...(deliver && { deliver }),
  };
}

export interface TaskSubmission extends SubmitOptions {
  executor: string;
  params: Record<string, unknown>;
  queue?: string;
  priority?: number;
  /** Default: the one a rollout gives, else the newest. */
  version?: string;
  /** Of whoever asks by the clock: the same key is the same run, whoever else asks. Default: asked by a person, once. */
  dedupeKey?: string;
}

/** Queues one task of an executor, with the orchestrator's retries (W3). Throws `input.not-found`, `input.invalid`. */
export async function submitTask(
  { context, executors }: WorkflowDeps,
  submission: TaskSubmission,
): Promise<RunDocument> {
  const {
    executor: name,
    params,
    queue,
    priority,
    version,
    isForHere = false,
    deliver,
    dedupeKey,
  } = submission;
  const registered = await executors.named(name);
  const executor = registered.find((one) => version === undefined || one.version === version);
  if (!executor) {
    const known = (await executors.list()).map((one) => one.name);
    throw new Fault(
      "input.not-found",
      `there is no executor "${name}"${version ? ` of version ${version}` : ""}`,
      {
        hint: `Known are ${[...new Set(known)].join(", ")}.`,
      },
    );
  }
  const { queues, orchestrator } = context.config;
  const names = queueNames(queues);
  if (queue !== undefined && !names.includes(queue))
    throw new Fault("input.not-found", `there is no queue "${queue}"`, {
      hint: `Write it below queues: in config.yaml; known are ${names.join(", ")}.`,
    });
  const { whyParamsRefused } = await import("../../orchestrate/executors/call-executor.ts");
  const why = whyParamsRefused(executor, params);
  if (why !== undefined)
    throw new Fault("input.invalid", why, { hint: `See \`nightshift executor show ${name}\`.` });
  await requirePossible(context, registered, { version });
  const now = await context.ledger.now();
  const { contract } = executor;
  const timeoutMs = contract.timeoutMs ?? orchestrator.defaultTimeoutMs;
  const document: JobDocument = {
    ...{ id: name, timezone: context.zone, effects: contract.effects },
    run: { task: { executor: name, params, ...(queue !== undefined && { queue }) } },
    timeout: { total: timeoutMs === 0 ? 0 : formatDuration(timeoutMs) },
    retry: { ...orchestrator.retry, ...contract.retry },
    ...(deliver && { deliver }),
  };
  return enqueue(context, {
    ...bareRun(makeId(now, context.random), { now, isForHere }),
    ...(dedupeKey !== undefined && { dedupeKey, trigger: "schedule" as const }),
    ...{ kind: "task", effects: contract.effects, input: JSON.stringify(document) },
    queue: queue ?? DEFAULT_QUEUE,
    admission: {
      ...{ priority: priority ?? queueOf(queues, queue).priority, enqueuedAt: now, executor: name },
      ...(version !== undefined && { version }),
    },
  });
}

function bareRun(id: string, { now, isForHere }: { now: number; isForHere: boolean }) {
  return {
    ...{
      id,
      dedupeKey: `manual/${id}`,
      attempt: 1,
      jobId: undefined,
      version: undefined,
      parentId: undefined,
    },
    ...{ rootId: id, slot: undefined, trigger: "manual" as const, isExclusive: false, idempotencyKey: id },
    ...{ readyAt: isForHere ? now + HEAD_START_MS : now, createdAt: now },
  };
}

async function enqueue(context: Context, run: NewRun): Promise<RunDocument> {
  const [queued] = await context.ledger.enqueue([run]);
  if (!queued) throw new Error(`the ledger took no run ${run.id}`);
  return runDocument(queued);
}
