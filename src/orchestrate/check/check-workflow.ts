// Everything that can be wrong with a workflow before it runs, at once: names, edges, templates, params, resources (law 8).
//
// I1. Pure: what exists (executors, queues, machines) comes as tables; a table left out is not judged.
// I2. Paths are those of the document, so that the codec's `place` gives line and column.

import { nearestWord } from "../../kernel/errors.ts";
import { type DocumentIssue, faultOfIssues } from "../../records/document-issues.ts";
import type { Workflow } from "../../records/workflow.ts";
import type { WorkflowReading } from "../../records/workflow-document.ts";
import type { Plan } from "../graph/plan.ts";
import { edgeIssues } from "./edge-issues.ts";
import { paramIssues } from "./param-issues.ts";
import { resourceIssues } from "./resource-issues.ts";
import type { CheckResult, CheckTables } from "./tables.ts";
import { templateIssues } from "./template-issues.ts";

/** Every mistake and every doubt, in the order of the document's parts. */
export function checkWorkflow(plan: Plan, tables: CheckTables = {}): CheckResult {
  const resources = resourceIssues(plan.workflow, tables);
  const templates = templateIssues(plan, tables);
  return {
    issues: [
      ...idIssues(plan.workflow),
      ...edgeIssues(plan),
      ...nameIssues(plan.workflow, tables),
      ...paramIssues(plan, tables),
      ...templates.issues,
      ...resources.issues,
    ],
    warnings: [...templates.warnings, ...resources.warnings],
  };
}

/** Throws Fault `workflow.invalid` with every mistake; returns the warnings of a workflow without any. */
export function requireSound(
  plan: Plan,
  source: WorkflowReading["source"],
  tables: CheckTables = {},
): string[] {
  const { issues, warnings } = checkWorkflow(plan, tables);
  const fault = faultOfIssues("workflow.invalid", issues, source);
  if (fault) throw fault;
  return warnings;
}

/** An id is a name in expressions: it stands once, and means nothing else there. */
function idIssues({ tasks }: Workflow): DocumentIssue[] {
  const seen = new Set<string>();
  return tasks.flatMap((task, index): DocumentIssue[] => {
    const path = ["tasks", index, "id"];
    if (seen.has(task.id))
      return [{ path, of: "value", what: `two tasks are called "${task.id}"`, hint: "rename one of them" }];
    seen.add(task.id);
    if (!RESERVED.has(task.id)) return [];
    const what = `a task cannot be called "${task.id}"`;
    return [
      { path, of: "value", what, hint: `the name means something in templates; write ${task.id}_task` },
    ];
  });
}

/** @source peers.md §5.3: the heads of templates; CEL's literals and `in`. */
const RESERVED = new Set(
  "uuid run task attempt params env secrets trigger item error now true false null in".split(" "),
);

function nameIssues(workflow: Workflow, tables: CheckTables): DocumentIssue[] {
  const unknown = (
    { path, kind, name }: { path: (string | number)[]; kind: string; name: string | undefined },
    known: Iterable<string> | undefined,
  ): DocumentIssue[] => {
    const names = known && [...known];
    if (name === undefined || !names || names.includes(name) || name.includes("{")) return [];
    const nearest = nearestWord(name, names);
    const hint = nearest
      ? `did you mean "${nearest}"?`
      : `use one of: ${names.join(", ") || "none is known"}`;
    return [{ path, of: "value", what: `unknown ${kind} "${name}"`, hint }];
  };
  const executors = tables.executors?.keys() && [...tables.executors.keys()];
  return workflow.tasks.flatMap((task, index) => {
    const { work } = task;
    const path = ["tasks", index];
    const own = work.kind === "executor" ? work.executor : undefined;
    const called = work.kind === "workflow" ? work.workflow : undefined;
    return [
      ...unknown({ path: [...path, "executor"], kind: "executor", name: own }, executors),
      ...task.fallback.flatMap((name, at) =>
        unknown({ path: [...path, "fallback", at], kind: "executor", name }, executors),
      ),
      ...unknown({ path: [...path, "queue"], kind: "queue", name: task.queue }, tables.queues),
      ...unknown({ path: [...path, "workflow"], kind: "workflow", name: called }, tables.workflows),
    ];
  });
}
