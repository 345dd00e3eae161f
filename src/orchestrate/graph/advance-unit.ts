// One task's next step: may it start, with which items, or has it begun already?

import type { Evaluated, Scope } from "../expressions/expression.ts";
import { renderValue } from "../expressions/render-value.ts";
import { advanceItems } from "./foreach.ts";
import type { PlannedTask } from "./plan.ts";
import { hasEnded } from "./progress.ts";
import { readinessOf } from "./readiness.ts";
import { scopeOf } from "./scope.ts";
import {
  decideStarted,
  endCancelled,
  endWith,
  isCancelled,
  type Step,
  startUnit,
  templateError,
} from "./unit-step.ts";

/** More items than this are refused: each is a run of its own in the ledger. */
const MOST_ITEMS = 10_000;

/** Decides for a task and its items. `fate` says whether a handler is for this end of the graph. */
export function decideUnit(step: Step, planned: PlannedTask, fate: "runs" | "notActivated"): undefined {
  const { id } = planned.task;
  const state = step.progress.units.get(id);
  if (hasEnded(state)) return;
  if (state === undefined) return decidePending(step, planned, fate);
  if (state.standing === "expanded") return advanceItems(step, planned, state);
  decideStarted(step, planned, id);
}

function decidePending(step: Step, planned: PlannedTask, fate: "runs" | "notActivated"): undefined {
  const { plan, progress, now } = step;
  const unit = planned.task.id;
  if (isCancelled(step, planned)) return endCancelled(step, unit);
  const skip = (reason: string) => step.decide({ kind: "end", unit, at: now, state: "skipped", reason });
  if (fate === "notActivated") return skip(fate);
  const readiness = readinessOf(plan, progress, planned);
  if (readiness.kind === "wait") return;
  if (readiness.kind === "skip") return skip(readiness.reason);
  const { activatedBy } = readiness;
  const condition = conditionHolds(step, planned, activatedBy);
  if (!condition.ok) return endWith(step, unit, { error: templateError(condition), activatedBy });
  if (condition.value !== true) return skip("when");
  if (planned.items === undefined) return startUnit(step, { planned, unit, activatedBy });
  expand(step, planned, activatedBy);
}

function conditionHolds(step: Step, planned: PlannedTask, activatedBy: string | undefined): Evaluated {
  if (planned.when === undefined) return { ok: true, value: true };
  if (!planned.when.ok) return { ok: false, code: "evaluation", message: planned.when.issue.what };
  const scope = taskScope(step, planned, activatedBy);
  const result = planned.when.expression.evaluate(scope);
  if (!result.ok || typeof result.value === "boolean") return result;
  return { ok: false, code: "evaluation", message: "`when` is neither true nor false" };
}

function expand(step: Step, planned: PlannedTask, activatedBy: string | undefined): undefined {
  const unit = planned.task.id;
  const scope = taskScope(step, planned, activatedBy);
  const result = planned.items ? renderValue(planned.items, scope) : { ok: true as const, value: [] };
  if (!result.ok) return endWith(step, unit, { error: templateError(result), activatedBy });
  if (!Array.isArray(result.value) || result.value.length > MOST_ITEMS) {
    const message = Array.isArray(result.value)
      ? `foreach.items holds ${result.value.length} items, at most ${MOST_ITEMS} are allowed`
      : "foreach.items is no list";
    return endWith(step, unit, { error: { code: "template", message }, activatedBy });
  }
  step.decide({ kind: "expand", unit, at: step.now, items: result.value, activatedBy });
  const state = step.progress.units.get(unit);
  if (state) advanceItems(step, planned, state);
}

function taskScope(
  { plan, progress, now }: Step,
  planned: PlannedTask,
  activatedBy: string | undefined,
): Scope {
  return scopeOf(plan, progress, {
    heads: planned.heads,
    now,
    unit: planned.task.id,
    activatedBy,
    secrets: planned.secretStandIns,
  });
}
