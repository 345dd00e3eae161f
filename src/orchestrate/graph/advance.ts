// The next decisions of a workflow's run, from its progress and the time: the pure heart of every workflow.
//
// I1. Pure and deterministic: the same plan, progress and `now` give the same decisions, in the same order.
// I2. Complete: after its decisions are applied, the same call decides nothing more until something happens.
// I3. Phases: the graph, then the handlers of how it ended, then `finally`, whatever happened; then the run finishes.
// I4. Decisions are recorded before they are carried out: a crash between the two repeats a decision, never work.

import type { Instant } from "../../kernel/time.ts";
import { renderValue, templatesOf } from "../expressions/render-value.ts";
import { decideUnit } from "./advance-unit.ts";
import { applyEntry } from "./apply-entry.ts";
import type { HandlerKind, Phase, Plan, PlannedTask } from "./plan.ts";
import { copyProgress, type Decision, hasEnded, type Progress, type RunEnd } from "./progress.ts";
import { isHandled } from "./readiness.ts";
import { scopeOf } from "./scope.ts";
import type { Step } from "./unit-step.ts";

/** Everything that is to be done now. `progress` is not changed: fold the decisions into it. */
export function advance(plan: Plan, progress: Progress, now: Instant): Decision[] {
  if (progress.ended) return [];
  const draft = copyProgress(progress);
  const decisions: Decision[] = [];
  const step: Step = {
    plan,
    progress: draft,
    now,
    decide(decision): undefined {
      decisions.push(decision);
      applyEntry(draft, decision);
    },
  };
  if (isTimeUp(plan, draft, now)) step.decide({ kind: "timeUp", at: now });
  // Sources stand before targets, so one pass settles a chain; another follows while anything new was decided.
  let before = -1;
  while (decisions.length !== before) {
    before = decisions.length;
    const open = openPhases(plan, draft);
    for (const id of plan.order) {
      const planned = plan.tasks.get(id);
      if (planned && open.has(planned.phase)) decideUnit(step, planned, handlerFate(planned, plan, draft));
    }
  }
  if (isDone(plan, draft, "finally")) step.decide(finish(plan, draft, now));
  return decisions;
}

/** The next instant at which time alone makes something due; undefined when only events can. */
export function nextWake(plan: Plan, progress: Progress): Instant | undefined {
  if (progress.ended) return undefined;
  const due: Instant[] = [];
  const { timeoutMs } = plan.workflow;
  if (timeoutMs > 0 && !progress.cancel) due.push(progress.start.startedAt + timeoutMs);
  for (const [key, unit] of progress.units) {
    const task = plan.tasks.get(key.replace(/\[\d+\]$/, ""))?.task;
    if (!task || unit.stopping) continue;
    if (unit.standing === "waiting" && unit.until !== undefined) due.push(unit.until);
    if (unit.standing === "running" && task.timeoutMs > 0) due.push(unit.since + task.timeoutMs);
    if (unit.standing === "queued" && task.queueTimeoutMs > 0) due.push(unit.since + task.queueTimeoutMs);
  }
  return due.length === 0 ? undefined : Math.min(...due);
}

function isTimeUp(plan: Plan, progress: Progress, now: Instant): boolean {
  const { timeoutMs } = plan.workflow;
  const isMainOpen = !isDone(plan, progress, "main");
  return timeoutMs > 0 && !progress.cancel && isMainOpen && now >= progress.start.startedAt + timeoutMs;
}

/** I3. */
function openPhases(plan: Plan, progress: Progress): ReadonlySet<Phase> {
  if (!isDone(plan, progress, "main")) return new Set(["main"]);
  return isDone(plan, progress, "handlers") ? new Set(["finally"]) : new Set(["handlers"]);
}

function isDone(plan: Plan, progress: Progress, phase: Phase): boolean {
  if (phase !== "main" && !isDone(plan, progress, phase === "finally" ? "handlers" : "main")) return false;
  for (const [id, planned] of plan.tasks)
    if (planned.phase === phase && !hasEnded(progress.units.get(id))) return false;
  return true;
}

/** Whether a handler is for another end than this one. */
function handlerFate(planned: PlannedTask, plan: Plan, progress: Progress): "runs" | "notActivated" {
  if (planned.phase !== "handlers") return "runs";
  const verdict = verdictOf(plan, progress, ["main"]).state;
  const kind: HandlerKind =
    verdict === "cancelled"
      ? "cancelled"
      : verdict === "failed" || verdict === "timedOut"
        ? "failure"
        : "success";
  return planned.handles.has(kind) ? "runs" : "notActivated";
}

/** How the tasks of these phases add up (peers.md §5.2, 3). */
function verdictOf(
  plan: Plan,
  progress: Progress,
  phases: readonly Phase[],
): { state: RunEnd; reason: string | undefined } {
  if (progress.cancel) return { state: progress.cancel.state, reason: progress.cancel.by };
  let handled: string | undefined;
  let partial: string | undefined;
  for (const id of plan.order) {
    const unit = progress.units.get(id);
    const phase = plan.tasks.get(id)?.phase;
    if (!unit || phase === undefined || !phases.includes(phase)) continue;
    if (unit.standing === "partiallySucceeded") partial ??= id;
    if (unit.standing !== "failed" && unit.standing !== "timedOut") continue;
    if (!isHandled(plan, progress, id)) return { state: "failed", reason: `task ${id} failed` };
    handled ??= id;
  }
  if (handled !== undefined)
    return { state: "partiallySucceeded", reason: `the failure of task ${handled} was handled` };
  if (partial !== undefined)
    return { state: "partiallySucceeded", reason: `task ${partial} succeeded in part` };
  return { state: "succeeded", reason: undefined };
}

function finish(plan: Plan, progress: Progress, now: Instant): Decision {
  const { state, reason } = verdictOf(plan, progress, ["main", "handlers", "finally"]);
  const outputs: Record<string, unknown> = {};
  for (const [name, value] of plan.outputs) {
    const references = templatesOf(value).flatMap(({ template }) => template.references);
    const heads = new Set(references.map((reference) => reference.head));
    const result = renderValue(value, scopeOf(plan, progress, { heads, now }));
    // What a run hands back cannot fail it any more: a part that is not there is null.
    outputs[name] = result.ok ? result.value : null;
  }
  return { kind: "finish", at: now, state, reason, outputs };
}
