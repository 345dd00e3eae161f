// What a task's templates see: values by head. @source peers.md §5.3
//
// I1. Only heads that are asked for are made: a graph of a thousand tasks does not pay for names nobody reads.
// I2. A task that did not run is there, with `result` and `error` null and its status.

import { createHash } from "node:crypto";
import type { Instant } from "../../kernel/time.ts";
import type { Scope } from "../expressions/expression.ts";
import type { Plan, PlannedTask } from "./plan.ts";
import { hasEnded, type Progress, type UnitState, unitParts } from "./progress.ts";

export interface ScopeRequest {
  heads: ReadonlySet<string>;
  now: Instant;
  /** The unit whose templates are read; undefined for the workflow's own outputs. */
  unit?: string | undefined;
  /** What starts the unit, while that is not on record yet. */
  activatedBy?: string | undefined;
  /** Known to whoever runs the task; decisions are made without them. */
  secrets?: Readonly<Record<string, string>> | undefined;
}

/** The values of the heads asked for. */
export function scopeOf(plan: Plan, progress: Progress, request: ScopeRequest): Scope {
  const scope: Record<string, unknown> = {};
  for (const head of request.heads) {
    const planned = plan.tasks.get(head);
    scope[head] = planned ? taskView(planned, progress) : headValue(head, { plan, progress, request });
  }
  return scope;
}

interface Around {
  plan: Plan;
  progress: Progress;
  request: ScopeRequest;
}

function headValue(head: string, { plan, progress, request }: Around): unknown {
  const { start } = progress;
  const state = request.unit === undefined ? undefined : progress.units.get(request.unit);
  const unit = request.unit ?? "";
  switch (head) {
    case "uuid":
      return start.uuid;
    case "run":
      return runView(plan, progress);
    case "task":
      return {
        id: unitParts(unit).task,
        unit,
        uuid: derivedUuid(start.uuid, unit),
        attempt: nextAttempt(state),
      };
    case "attempt":
      return { number: nextAttempt(state), uuid: derivedUuid(start.uuid, `${unit}#${nextAttempt(state)}`) };
    case "params":
      return start.params;
    case "env":
      return plan.workflow.env;
    case "secrets":
      return request.secrets ?? {};
    case "trigger":
      return start.trigger;
    case "error":
      return activatingError(plan, progress, request);
    case "now":
      return new Date(request.now);
    default:
      return itemOf(plan, progress, unit, head);
  }
}

/** The present attempt while there is one, else the one that would come. */
function nextAttempt(state: UnitState | undefined): number {
  const isPresent = state?.standing === "queued" || state?.standing === "running";
  return isPresent ? state.attempt : (state?.attempt ?? 0) + 1;
}

function runView(plan: Plan, progress: Progress): Record<string, unknown> {
  const failed = [...progress.units].filter(
    ([, unit]) => unit.standing === "failed" || unit.standing === "timedOut",
  );
  const state = progress.cancel?.state ?? (failed.length > 0 ? "failed" : "running");
  const done = [...plan.tasks.keys()].filter((id) => hasEnded(progress.units.get(id))).length;
  return {
    id: progress.start.runId,
    uuid: progress.start.uuid,
    workflow: plan.workflow.name,
    startedAt: new Date(progress.start.startedAt),
    state,
    summary: `${plan.workflow.name}: ${done} of ${plan.tasks.size} tasks done${failed.length > 0 ? `, failed: ${failed.map(([id]) => id).join(", ")}` : ""}`,
  };
}

/** Both spellings of a field of two words: the seed's is snake_case. */
function taskView(planned: PlannedTask, progress: Progress): Record<string, unknown> {
  const unit = progress.units.get(planned.task.id);
  const durationMs =
    unit?.startedAt === undefined || unit.finishedAt === undefined ? null : unit.finishedAt - unit.startedAt;
  const executorUsed = executorAt(planned, unit?.executor ?? 0) ?? null;
  return {
    id: planned.task.id,
    uuid: derivedUuid(progress.start.uuid, planned.task.id),
    status: unit?.standing ?? "pending",
    result: unit?.result ?? null,
    outputs: unit?.outputs ?? {},
    error: unit?.error ? errorView(planned.task.id, unit) : null,
    attempts: unit?.attempt ?? 0,
    durationMs,
    duration_ms: durationMs,
    executorUsed,
    executor_used: executorUsed,
    degraded: (unit?.executor ?? 0) > 0,
    warning: unit?.hasWarning ?? false,
  };
}

/** Own executor first, then the fallbacks; undefined for work that is no executor's. */
export function executorAt({ task }: PlannedTask, position: number): string | undefined {
  const own = task.work.kind === "executor" ? task.work.executor : undefined;
  return [own, ...task.fallback][position];
}

function errorView(task: string, unit: UnitState): Record<string, unknown> {
  return { task, ...unit.error, attempt: unit.attempt };
}

/** The failure that started this task; for handlers and `finally` the first failure of the run. */
function activatingError(plan: Plan, progress: Progress, request: ScopeRequest): unknown {
  const { task } = unitParts(request.unit ?? "");
  const by =
    request.activatedBy ??
    progress.units.get(request.unit ?? "")?.activatedBy ??
    progress.units.get(task)?.activatedBy;
  const source = by ?? (plan.tasks.get(task)?.phase === "main" ? undefined : firstFailure(plan, progress));
  const unit = source === undefined ? undefined : progress.units.get(source);
  return source === undefined || unit?.error === undefined ? null : errorView(source, unit);
}

function firstFailure(plan: Plan, progress: Progress): string | undefined {
  const failed = plan.order.filter((id) => progress.units.get(id)?.error !== undefined);
  const when = (id: string) => progress.units.get(id)?.finishedAt ?? 0;
  return failed.sort((a, b) => when(a) - when(b))[0];
}

function itemOf(plan: Plan, progress: Progress, unit: string, head: string): unknown {
  const { task, index } = unitParts(unit);
  const foreach = plan.tasks.get(task)?.task.foreach;
  if (!foreach || index === undefined || (head !== "item" && head !== foreach.as)) return null;
  return progress.units.get(task)?.items?.[index] ?? null;
}

/** A stable uuid for a part of a run. */
function derivedUuid(uuid: string, part: string): string {
  const hex = createHash("sha256").update(`${uuid}/${part}`).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
