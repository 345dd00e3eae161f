// What a unit of a run may do: start, wait, be judged, be stopped. Edges, items and phases are others'.

import type { Instant } from "../../kernel/time.ts";
import type { Evaluated } from "../expressions/expression.ts";
import { schemaIssues } from "../value-schema.ts";
import { type Judged, judgeLoss, judgeOutcome, judgeResolution, onlineFrom } from "./judge-attempt.ts";
import type { Plan, PlannedTask } from "./plan.ts";
import {
  type Decision,
  hasEnded,
  type Progress,
  type StopReason,
  type TaskError,
  type UnitState,
} from "./progress.ts";
import { renderUnit } from "./render-unit.ts";

/** What a pass of `advance` works on: a private copy that every decision is applied to at once. */
export interface Step {
  plan: Plan;
  progress: Progress;
  now: Instant;
  decide(decision: Decision): undefined;
}

/** Starts one unit whose edges allow it. */
export function startUnit(
  step: Step,
  { planned, unit, activatedBy }: { planned: PlannedTask; unit: string; activatedBy: string | undefined },
): undefined {
  const { plan, progress, now } = step;
  const { task } = planned;
  const rendered = renderUnit(plan, progress, { unit, now, activatedBy, secrets: planned.secretStandIns });
  if (!rendered.ok) return endWith(step, unit, { error: templateError(rendered), activatedBy });
  if (task.work.kind === "wait") {
    const until = task.work.until ?? now + (task.work.forMs ?? 0);
    return step.decide({ kind: "wait", unit, at: now, reason: "time", until, executor: 0, activatedBy });
  }
  if (task.work.kind === "approval") {
    const { timeoutMs } = task.work;
    const until = timeoutMs > 0 ? now + timeoutMs : undefined;
    return step.decide({ kind: "wait", unit, at: now, reason: "approval", until, executor: 0, activatedBy });
  }
  const executor = onlineFrom(task, progress, 0);
  step.decide({ kind: "start", unit, at: now, attempt: 1, executor, activatedBy });
}

/** Decides for a unit that has begun and is no `foreach`. */
export function decideStarted(step: Step, planned: PlannedTask, unit: string): undefined {
  const state = step.progress.units.get(unit);
  if (state === undefined || hasEnded(state)) return;
  const judged = judgedOf(step, planned, { unit, state });
  switch (state.standing) {
    case "judging":
      return step.decide(judgeOutcome(judged));
    case "lost":
      if (isCancelled(step, planned)) return endCancelled(step, unit);
      return step.decide(judgeLoss(judged));
    case "waiting":
      return decideWaiting(step, planned, judged);
    case "queued":
    case "running": {
      const why = reasonToStop(step, planned, state);
      if (why && !state.stopping)
        step.decide({ kind: "stop", unit, at: step.now, attempt: state.attempt, why });
      return;
    }
    default:
      return;
  }
}

/** Ends a unit that nothing runs for. */
export function endCancelled(step: Step, unit: string, reason = "cancelled"): undefined {
  step.decide({ kind: "end", unit, at: step.now, state: "cancelled", reason });
}

/** A cancel is for the graph; handlers and `finally` run because of it. */
export function isCancelled({ progress }: Step, planned: PlannedTask): boolean {
  return progress.cancel !== undefined && planned.phase === "main";
}

/** Ends a unit that failed before anything ran for it. */
export function endWith(
  step: Step,
  unit: string,
  { error, activatedBy }: { error: TaskError; activatedBy: string | undefined },
): undefined {
  step.decide({ kind: "end", unit, at: step.now, state: "failed", error, reason: error.code, activatedBy });
}

/** A template that cannot be filled, as a task's error. */
export function templateError(result: Extract<Evaluated, { ok: false }>): TaskError {
  return { code: "template", message: `a template cannot be filled: ${result.message}` };
}

function decideWaiting(step: Step, planned: PlannedTask, judged: Judged): undefined {
  const { state, unit } = judged;
  const { now, progress } = step;
  if (isCancelled(step, planned)) return endCancelled(step, unit);
  const resolved =
    state.reason === "approval" || state.reason === "effect" ? judgeResolution(judged) : undefined;
  if (resolved) return step.decide(resolved);
  if (state.until === undefined || now < state.until) return;
  if (state.reason === "time")
    return step.decide({ kind: "end", unit, at: now, state: "succeeded", result: null });
  if (state.reason === "approval") {
    const error = { code: "approvalTimeout", message: "nobody answered in time" };
    return step.decide({ kind: "end", unit, at: now, state: "timedOut", error, reason: error.code });
  }
  if (state.reason !== "retry") return;
  const executor = onlineFrom(planned.task, progress, state.executor);
  step.decide({ kind: "start", unit, at: now, attempt: state.attempt + 1, executor });
}

function reasonToStop(step: Step, planned: PlannedTask, state: UnitState): StopReason | undefined {
  const { task } = planned;
  if (isCancelled(step, planned)) return "cancelled";
  const age = step.now - state.since;
  if (state.standing === "running" && task.timeoutMs > 0 && age >= task.timeoutMs) return "timeout";
  if (state.standing === "queued" && task.queueTimeoutMs > 0 && age >= task.queueTimeoutMs)
    return "queueTimeout";
  return undefined;
}

function judgedOf(step: Step, planned: PlannedTask, of: { unit: string; state: UnitState }): Judged {
  const { schema } = planned.task;
  return {
    task: planned.task,
    ...of,
    progress: step.progress,
    now: step.now,
    isCancelled: isCancelled(step, planned),
    refuseResult: (result) => (schema ? refusal(schema, result) : undefined),
  };
}

function refusal(schema: Record<string, unknown>, result: unknown): string | undefined {
  const issue = schemaIssues(schema, result, ["result"])[0];
  return issue && `${issue.what}; ${issue.hint}`;
}
