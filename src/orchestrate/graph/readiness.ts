// May a task start? Both kinds of edge and the join (peers.md §5.2, 1–4).
//
// I1. `dependsOn` is an AND-join: each source has ended in a way this task can live with.
// I2. A transition activates its target; a target of any transition is never a root.
// I3. A task is skipped only when everything above it has ended, so the reason never depends on who was first.

import type { Task } from "../../records/workflow.ts";
import type { Edge, Plan, PlannedTask } from "./plan.ts";
import { hasEnded, type Progress, type UnitState } from "./progress.ts";

export type SkipReason = "notActivated" | "upstreamFailed" | "upstreamSkipped" | "upstreamCancelled";

export type Readiness =
  | { kind: "wait" }
  | { kind: "skip"; reason: SkipReason }
  | { kind: "ready"; activatedBy: string | undefined };

/** Whether the edges of a task allow it to start. Phases are the caller's. */
export function readinessOf(plan: Plan, progress: Progress, planned: PlannedTask): Readiness {
  const activation = activationOf(progress, planned);
  const needs = planned.task.dependsOn.map((id) => needOf(plan, progress, id));
  if (activation.kind === "active" && needs.every((need) => need === "met"))
    return { kind: "ready", activatedBy: activation.by };
  if (activation.kind === "open" || needs.includes("open")) return { kind: "wait" };
  if (activation.kind === "dead") return { kind: "skip", reason: "notActivated" };
  const refusal = (["upstreamFailed", "upstreamCancelled", "upstreamSkipped"] as const).find((reason) =>
    needs.includes(reason),
  );
  return refusal ? { kind: "skip", reason: refusal } : { kind: "wait" };
}

type Activation = { kind: "active"; by: string | undefined } | { kind: "open" } | { kind: "dead" };

function activationOf(progress: Progress, { incoming, task }: PlannedTask): Activation {
  if (incoming.length === 0) return { kind: "active", by: undefined };
  const sources = [...new Set(incoming.map((edge) => edge.source))];
  const standings = sources.map((source) => {
    const unit = progress.units.get(source);
    const isActive = incoming.some((edge) => edge.source === source && isActivated(edge.on, unit));
    return { source, isActive, isOpen: !hasEnded(unit), at: unit?.finishedAt ?? 0 };
  });
  const active = standings.filter((standing) => standing.isActive).sort((a, b) => a.at - b.at);
  const isOpen = standings.some((standing) => standing.isOpen);
  if (task.join === "all") {
    if (standings.every((standing) => standing.isActive))
      return { kind: "active", by: active.at(-1)?.source };
    return { kind: isOpen ? "open" : "dead" };
  }
  if (active[0]) return { kind: "active", by: active[0].source };
  return { kind: isOpen ? "open" : "dead" };
}

/** Whether a transition of this kind fires. A task that was skipped or cancelled fires none. */
export function isActivated(on: Edge, source: UnitState | undefined): boolean {
  const isSuccess = source?.standing === "succeeded" || source?.standing === "partiallySucceeded";
  const isFailure = source?.standing === "failed" || source?.standing === "timedOut";
  if (on === "complete") return isSuccess || isFailure;
  return on === "success" ? isSuccess : isFailure;
}

type Need = "open" | "met" | SkipReason;

function needOf(plan: Plan, progress: Progress, id: string): Need {
  const unit = progress.units.get(id);
  if (!hasEnded(unit)) return "open";
  switch (unit.standing) {
    case "succeeded":
    case "partiallySucceeded":
      return "met";
    case "failed":
    case "timedOut":
      return isTolerated(plan.tasks.get(id)?.task, unit) ? "met" : "upstreamFailed";
    case "skipped":
      return plan.tasks.get(id)?.task.continueOn.skipped ? "met" : "upstreamSkipped";
    case "cancelled":
      return "upstreamCancelled";
  }
}

/** `continueOn`: its author has said that this failure is no obstacle. */
export function isTolerated(task: Task | undefined, unit: UnitState): boolean {
  if (!task) return false;
  const { failure, exitCodes } = task.continueOn;
  return failure || (unit.error?.exitCode !== undefined && exitCodes.includes(unit.error.exitCode));
}

/** A failure is handled when a task it led to by `onFailure` was not skipped, or when it is tolerated. */
export function isHandled(plan: Plan, progress: Progress, id: string): boolean {
  const planned = plan.tasks.get(id);
  const unit = progress.units.get(id);
  if (!planned || !unit) return false;
  if (isTolerated(planned.task, unit)) return true;
  return planned.task.onFailure.some((target) => {
    const standing = progress.units.get(target)?.standing;
    return standing !== undefined && standing !== "skipped" && standing !== "cancelled";
  });
}
