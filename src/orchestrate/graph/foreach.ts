// The items of a `foreach`: at most `max` at once, in order; with `failFast` the first failure ends the others.
//
// I1. The task ends when every item has; its result is the items' results in order, null where there is none.

import type { PlannedTask } from "./plan.ts";
import { type Decision, hasEnded, itemKey, type UnitState } from "./progress.ts";
import { decideStarted, endCancelled, isCancelled, type Step, startUnit } from "./unit-step.ts";

/** Decides for every item of a task that has been expanded, and for its end. */
export function advanceItems(step: Step, planned: PlannedTask, state: UnitState): undefined {
  const keys = (state.items ?? []).map((_, index) => itemKey(planned.task.id, index));
  const stateOf = (key: string) => step.progress.units.get(key);
  for (const key of keys) if (stateOf(key)) decideStarted(step, planned, key);
  const isFailing = () => keys.some((key) => isFailed(stateOf(key)));
  const failFast = planned.task.foreach?.failFast === true;
  if (isCancelled(step, planned) || (failFast && isFailing())) endOthers(step, planned, keys);
  else startMore(step, { planned, state, keys, mayGoOn: () => !failFast || !isFailing() });
  if (keys.every((key) => hasEnded(stateOf(key)))) step.decide(endOf(step, planned, keys));
}

interface Items {
  planned: PlannedTask;
  state: UnitState;
  keys: readonly string[];
  mayGoOn(): boolean;
}

function startMore(step: Step, { planned, state, keys, mayGoOn }: Items): undefined {
  const standings = () => keys.map((key) => step.progress.units.get(key));
  let active = standings().filter((unit) => unit !== undefined && !hasEnded(unit)).length;
  const max = planned.task.foreach?.max ?? Number.POSITIVE_INFINITY;
  for (const unit of keys) {
    if (active >= max || !mayGoOn()) break;
    if (step.progress.units.get(unit) !== undefined) continue;
    startUnit(step, { planned, unit, activatedBy: state.activatedBy });
    // A unit whose templates cannot be filled has ended already.
    if (!hasEnded(step.progress.units.get(unit))) active += 1;
  }
  if (!mayGoOn()) endOthers(step, planned, keys);
}

function endOthers(step: Step, planned: PlannedTask, keys: readonly string[]): undefined {
  const isRunCancelled = isCancelled(step, planned);
  for (const unit of keys) {
    const state = step.progress.units.get(unit);
    if (hasEnded(state)) continue;
    const at = step.now;
    if (state === undefined && !isRunCancelled)
      step.decide({ kind: "end", unit, at, state: "skipped", reason: "failFast" });
    else if (state === undefined || state.standing === "waiting")
      endCancelled(step, unit, isRunCancelled ? "cancelled" : "failFast");
    else if (!state.stopping && (state.standing === "queued" || state.standing === "running"))
      step.decide({
        kind: "stop",
        unit,
        at,
        attempt: state.attempt,
        why: isRunCancelled ? "cancelled" : "failFast",
      });
  }
}

function isFailed(unit: UnitState | undefined): boolean {
  return unit?.standing === "failed" || unit?.standing === "timedOut";
}

function endOf(step: Step, planned: PlannedTask, keys: readonly string[]): Decision {
  const units = keys.map((key) => step.progress.units.get(key));
  const end = { kind: "end" as const, unit: planned.task.id, at: step.now };
  const result = units.map((unit) => unit?.result ?? null);
  const failed = units.filter(isFailed);
  const [first] = failed;
  if (first) {
    const message = `${failed.length} of ${keys.length} items failed, the first with: ${first.error?.message ?? ""}`;
    const error = { code: "items", message };
    return { ...end, state: "failed", reason: "items", result, error };
  }
  if (units.some((unit) => unit?.standing === "cancelled"))
    return { ...end, state: "cancelled", reason: "cancelled", result };
  const isPartial = units.some((unit) => unit?.standing === "partiallySucceeded");
  return { ...end, state: isPartial ? "partiallySucceeded" : "succeeded", result };
}
