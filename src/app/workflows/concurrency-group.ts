// `concurrency`: the key of the group that a workflow's run belongs to.

import { Fault } from "../../kernel/errors.ts";
import { renderTemplate, textOf } from "../../orchestrate/expressions/template.ts";
import type { Progress } from "../../orchestrate/graph/progress.ts";
import { scopeOf } from "../../orchestrate/graph/scope.ts";
import type { Admission } from "../../records/run.ts";
import type { PlannedWorkflow } from "./workflow-source.ts";

/** Undefined = it belongs to none. Throws `workflow.invalid` where its template cannot be filled. */
export function groupOf({ workflow, plan }: PlannedWorkflow, progress: Progress): Admission["group"] {
  if (!workflow.concurrency) return undefined;
  const { group, max, onConflict } = workflow.concurrency;
  const template = plan.readText(group, undefined);
  const heads = new Set(template.references.map(({ head }) => head));
  const rendered = renderTemplate(
    template,
    scopeOf(plan, progress, { heads, now: progress.start.startedAt }),
  );
  if (rendered.ok) return { key: textOf(rendered.value), max, onConflict };
  throw new Fault("workflow.invalid", `concurrency.group cannot be filled: ${rendered.message}`, {
    hint: "Use params and uuid only.",
  });
}
