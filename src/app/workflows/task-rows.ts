// From a unit of the graph to a row of the ledger, and from a row that has ended back to how its attempt ended.

import { formatDuration, type Instant } from "../../kernel/time.ts";
import type { AttemptOutcome, ProgressEvent, TaskError } from "../../orchestrate/graph/progress.ts";
import { unitParts } from "../../orchestrate/graph/progress.ts";
import type { RenderedUnit } from "../../orchestrate/graph/render-unit.ts";
import type { JobDocument, WorkDocument } from "../../records/job.ts";
import type { NewTask } from "../../records/ledger/workflows.ts";
import type { Outcome } from "../../records/outcome.ts";
import type { Admission, Run } from "../../records/run.ts";
import type { Task } from "../../records/workflow.ts";

/** Workflows wait in it for their group; it has no width. */
export const WORKFLOWS_QUEUE = "(workflows)";
/** Tasks that name none. */
export const DEFAULT_QUEUE = "default";

/** Those that a task may name: the config's, and the one of tasks that name none. */
export const queueNames = (queues: readonly { name: string }[]): string[] => [
  ...new Set([...queues.map(({ name }) => name), DEFAULT_QUEUE]),
];

/** A result travels in journals and templates: what is larger belongs into a file. */
const MAX_RESULT_CHARACTERS = 256_000;

export interface AttemptPlace {
  root: Run;
  unit: string;
  attempt: number;
  id: string;
  now: Instant;
}

/** The dedupe key of a unit (L2): its attempts are told apart by their number. */
export const unitKey = (runId: string, unit: string) => `parent/${runId}/${unit}`;

/** What every row of a unit has. */
export function bareRow({ root, unit, attempt, id, now }: AttemptPlace, task: Task | undefined): NewTask {
  const dedupeKey = unitKey(root.id, unit);
  return {
    ...{ id, dedupeKey, attempt, jobId: undefined, version: undefined, slot: undefined },
    kind: task?.work.kind === "workflow" ? "workflow" : "task",
    parentId: root.id,
    rootId: root.rootId,
    trigger: attempt > 1 ? "retry" : root.trigger,
    effects: task?.effects ?? "none",
    isExclusive: false,
    ...{ idempotencyKey: dedupeKey, readyAt: now, createdAt: now },
  };
}

/** A row for an attempt that some node will claim. */
export function attemptRow(
  place: AttemptPlace,
  { task, rendered, executor }: { task: Task; rendered: RenderedUnit; executor: string | undefined },
  admission: Admission,
): NewTask {
  const isWorkflow = task.work.kind === "workflow";
  return {
    ...bareRow(place, task),
    idempotencyKey: rendered.idempotencyKey,
    input: JSON.stringify(documentOf(place.unit, { task, rendered, executor })),
    queue: isWorkflow ? WORKFLOWS_QUEUE : (task.queue ?? DEFAULT_QUEUE),
    admission,
  };
}

type Attempt = Parameters<typeof attemptRow>[1];

/** The work as a job's document, so that every kind of work is done in one way (work.ts). Secrets are stand-ins yet. */
function documentOf(unit: string, { task, rendered, executor }: Attempt): JobDocument {
  const { timeoutMs, idleTimeoutMs, effects, environment } = task;
  const { workdir } = rendered;
  return {
    id: unitParts(unit).task,
    name: unit,
    run: workDocument({ task, rendered, executor }),
    env: rendered.env,
    effects,
    ...(workdir !== undefined && { workdir }),
    ...(environment !== undefined && { environment }),
    timeout: {
      total: timeoutMs === 0 ? 0 : formatDuration(timeoutMs),
      ...(idleTimeoutMs > 0 && { idle: formatDuration(idleTimeoutMs) }),
    },
    retry: { max: 0 },
    deliver: [],
    onFailure: [],
  };
}

function workDocument({ task, rendered, executor }: Attempt): WorkDocument {
  const { work } = task;
  const { params } = rendered;
  // A fallback stands in for whatever the task does itself.
  if (executor !== undefined) return { task: { executor, params } };
  switch (work.kind) {
    case "shell":
      return { task: { executor: "shell_exec", params: { ...params, command: rendered.shell ?? "" } } };
    case "script":
      return { task: { executor: "script", params: { ...params, script: work.script } } };
    case "http":
      return { task: { executor: "http", params: rendered.work } };
    case "agent":
      return { agent: rendered.work };
    case "workflow":
      return { workflow: { file: work.workflow, params } };
    default:
      throw new Error(`nothing runs for ${work.kind}`);
  }
}

/** What a terminal row says of its attempt. `lost`: nobody knows how far it came (L6), or its node stopped. */
export function endOf(run: Run, stopping: string | undefined): AttemptOutcome | "lost" {
  const { outcome } = run;
  switch (run.state) {
    case "succeeded":
    case "partiallySucceeded":
      return succeeded(run.state, outcome);
    case "timedOut": {
      const isIdle = outcome?.state === "timedOut" && outcome.limit === "idle";
      return {
        state: "timedOut",
        error: { code: isIdle ? "idleTimeout" : "timeout", message: messageOf(run) },
      };
    }
    case "cancelled":
      if (run.reason === "nodeStopped") return "lost";
      if (stopping === "timeout" || stopping === "queueTimeout")
        return { state: "timedOut", error: { code: stopping, message: STOPPED[stopping] } };
      return { state: "cancelled" };
    case "unknown":
      return "lost";
    default:
      return failed(run);
  }
}

const STOPPED = {
  timeout: "it ran longer than its timeout",
  queueTimeout: "it waited longer than its queueTimeout",
};

function succeeded(state: "succeeded" | "partiallySucceeded", outcome: Outcome | undefined): AttemptOutcome {
  const result = resultOf(outcome);
  const size = JSON.stringify(result ?? null).length;
  if (size <= MAX_RESULT_CHARACTERS) return { state, result };
  const message = `its result has ${size} characters, at most ${MAX_RESULT_CHARACTERS} are passed on; write a file and return its path`;
  return { state: "failed", error: { code: "result", message } };
}

/** What work without a result of its own (an agent) printed: JSON where it is JSON, else the text. */
function resultOf(outcome: Outcome | undefined): unknown {
  if (outcome?.state !== "succeeded") return null;
  if (outcome.result !== undefined) return outcome.result;
  const text = outcome.output.trim();
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    return outcome.output;
  }
}

function failed(run: Run): AttemptOutcome {
  const error: TaskError = { code: run.reason ?? "failed", message: messageOf(run) };
  if (run.outcome?.state === "failed") {
    const { code, exitCode } = run.outcome.error;
    error.code = code;
    if (exitCode !== undefined) error.exitCode = exitCode;
  }
  return error.code === "offline" ? { state: "offline", error } : { state: "failed", error };
}

function messageOf({ outcome, reason, state }: Run): string {
  if (outcome?.state === "failed") {
    const { message, stderrTail } = outcome.error;
    const last = stderrTail?.trim().split("\n").at(-1);
    return last ? `${message}: ${last}` : message;
  }
  if (outcome?.state === "timedOut")
    return `no ${outcome.limit === "idle" ? "sign of life" : "end"} within ${formatDuration(outcome.limitMs)}`;
  return reason === undefined ? state : `${state}: ${reason}`;
}

/** The entry for a row that has ended. */
export function endedEntry(
  run: Run,
  { unit, at, stopping }: { unit: string; at: Instant; stopping: string | undefined },
): ProgressEvent {
  const end = endOf(run, stopping);
  if (end === "lost") return { kind: "lost", unit, at, attempt: run.attempt };
  return { kind: "ended", unit, at, attempt: run.attempt, outcome: end };
}
