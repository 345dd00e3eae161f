// From a document to a Workflow: defaults filled in and durations read.
//
// I1. Defaults come in this order: the task, the workflow's `defaults`, the orchestrator's config, W3.

import { MINUTE, parseDuration, parseInstant, SECOND } from "../kernel/time.ts";
import type { Effects, RetryDocument } from "./job.ts";
import type {
  Resources,
  ResourcesDocument,
  Task,
  TaskDocument,
  TaskWork,
  Workflow,
  WorkflowDocument,
} from "./workflow.ts";

/** What the home's config and the executors' contracts say where a task says nothing. */
export interface WorkflowDefaults {
  /** @source SEMANTICS W3: 30 s per attempt. */
  timeoutMs: number;
  retry: Task["retry"];
  /** What an executor's contract declares; undefined = it declares nothing. */
  executor(name: string): ExecutorDefaults | undefined;
}

export interface ExecutorDefaults {
  timeoutMs?: number | undefined;
  retry?: RetryDocument | undefined;
  resources?: ResourcesDocument | undefined;
  effects?: Effects | undefined;
  fallback?: readonly string[] | undefined;
}

/** @source SEMANTICS W3, the seed's retryPolicy: three more attempts after 1, 2 and 4 s. */
export const TASK_RETRY: Task["retry"] = {
  max: 3,
  delayMs: SECOND,
  backoff: 2,
  maxDelayMs: 10 * MINUTE,
  on: [],
  notOn: [],
  hasJitter: false,
};

export const WORKFLOW_DEFAULTS: WorkflowDefaults = {
  timeoutMs: 30 * SECOND,
  retry: TASK_RETRY,
  executor: () => undefined,
};

/** Never throws for a document the codec has let through. */
export function resolveWorkflow(
  document: WorkflowDocument,
  defaults: WorkflowDefaults = WORKFLOW_DEFAULTS,
): Workflow {
  const { concurrency, handlers = {} } = document;
  return {
    name: document.name,
    params: document.params ?? {},
    env: document.env ?? {},
    queue: document.queue,
    concurrency: concurrency && {
      group: concurrency.group,
      max: concurrency.max ?? 1,
      onConflict: concurrency.onConflict ?? "queue",
    },
    timeoutMs: milliseconds(document.timeout, 0),
    budget: document.budget ?? {},
    tasks: document.tasks.map((task) => resolveTask(task, document, defaults)),
    finally: document.finally ?? [],
    handlers: {
      success: handlers.success ?? [],
      failure: handlers.failure ?? [],
      cancelled: handlers.cancelled ?? [],
    },
    outputs: document.outputs ?? {},
  };
}

function resolveTask(task: TaskDocument, workflow: WorkflowDocument, defaults: WorkflowDefaults): Task {
  const contract = task.executor === undefined ? undefined : defaults.executor(task.executor);
  const own = workflow.defaults;
  return {
    id: task.id,
    work: workOf(task),
    params: task.params ?? {},
    ...edgesOf(task),
    timeoutMs: milliseconds(
      task.timeout,
      contract?.timeoutMs ?? milliseconds(own?.timeout, defaults.timeoutMs),
    ),
    idleTimeoutMs: milliseconds(task.idleTimeout, 0),
    queueTimeoutMs: milliseconds(task.queueTimeout, 0),
    retry: retryOver(task.retry, retryOver(contract?.retry, retryOver(own?.retry, defaults.retry))),
    fallback: task.fallback ?? contract?.fallback ?? [],
    fallbackOn: task.fallbackOn ?? ["offline", "failed"],
    effects: task.effects ?? contract?.effects ?? "external",
    onUnknown: task.onUnknown ?? "ask",
    idempotencyKey: task.idempotencyKey,
    foreach: task.foreach && {
      items: task.foreach.items,
      as: task.foreach.as ?? "item",
      max: task.foreach.max ?? Number.POSITIVE_INFINITY,
      failFast: task.foreach.failFast ?? false,
    },
    outputs: task.outputs ?? {},
    schema: task.schema,
    resources: resolveResources({ ...contract?.resources, ...task.resources }),
    queue: task.queue ?? workflow.queue,
    priority: task.priority,
    env: { ...workflow.env, ...task.env },
    workdir: task.workdir,
    environment: task.environment,
  };
}

function edgesOf(
  task: TaskDocument,
): Pick<Task, "dependsOn" | "when" | "onSuccess" | "onFailure" | "onComplete" | "join" | "continueOn"> {
  return {
    dependsOn: [...new Set(task.dependsOn ?? [])],
    when: task.when,
    onSuccess: task.onSuccess ?? [],
    onFailure: task.onFailure ?? [],
    onComplete: task.onComplete ?? [],
    join: task.join ?? "any",
    continueOn: {
      failure: task.continueOn?.failure ?? false,
      skipped: task.continueOn?.skipped ?? false,
      exitCodes: task.continueOn?.exitCodes ?? [],
    },
  };
}

/** Absent amounts are 0. */
export function resolveResources(resources: ResourcesDocument): Resources {
  return {
    cpu: resources.cpu ?? 0,
    memoryMb: resources.memoryMb ?? 0,
    gpu: resources.gpu ?? (resources.gpuMemoryMb ? 1 : 0),
    gpuMemoryMb: resources.gpuMemoryMb ?? 0,
    labels: resources.labels ?? [],
  };
}

function workOf(task: TaskDocument): TaskWork {
  if (task.executor !== undefined) return { kind: "executor", executor: task.executor };
  if (task.shell !== undefined) return { kind: "shell", shell: task.shell };
  if (task.script !== undefined) return { kind: "script", script: task.script };
  if (task.agent !== undefined) return { kind: "agent", agent: task.agent };
  if (task.http !== undefined) return { kind: "http", http: task.http };
  if (task.workflow !== undefined) return { kind: "workflow", workflow: task.workflow };
  if (task.approval !== undefined)
    return {
      kind: "approval",
      message: task.approval.message,
      timeoutMs: milliseconds(task.approval.timeout, 0),
    };
  const until = task.wait?.until;
  return {
    kind: "wait",
    forMs: task.wait?.for === undefined ? undefined : milliseconds(task.wait.for, 0),
    until: until === undefined ? undefined : parseInstant(until),
  };
}

function retryOver(retry: TaskDocument["retry"], base: Task["retry"]): Task["retry"] {
  if (retry === undefined) return base;
  return {
    max: retry.max ?? base.max,
    delayMs: milliseconds(retry.delay, base.delayMs),
    backoff: retry.backoff ?? base.backoff,
    maxDelayMs: milliseconds(retry.maxDelay, base.maxDelayMs),
    on: retry.on ?? base.on,
    notOn: retry.notOn ?? base.notOn,
    hasJitter: retry.jitter ?? base.hasJitter,
  };
}

function milliseconds(text: string | 0 | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  return text === 0 ? 0 : (parseDuration(text) ?? otherwise);
}
