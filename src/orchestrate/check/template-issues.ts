// What is wrong with expressions and templates: what cannot be read, and references to what will not be there.
//
// I1. A task sees only tasks upstream of it, over both kinds of edge; handlers and `finally` see the whole graph.
// @source peers.md §5.3; dagu#2739: an unknown reference is an error, never passed through.

import { nearestWord } from "../../kernel/errors.ts";
import type { DocumentIssue } from "../../records/document-issues.ts";
import { TEMPLATE_HEADS } from "../../records/workflow-document.ts";
import type { Reference } from "../expressions/expression.ts";
import { type PlacedTemplate, templatesOf, type ValuePath } from "../expressions/render-value.ts";
import { parsePick } from "../graph/pick-outputs.ts";
import { type Plan, type PlannedTask, sourcesOf } from "../graph/plan.ts";
import { schemaAt } from "../value-schema.ts";
import type { CheckResult, CheckTables } from "./tables.ts";

/** Fields of a task in templates; the seed's spelling counts as well. */
const TASK_FIELDS =
  "id uuid status result outputs error attempts durationMs duration_ms executorUsed executor_used degraded warning".split(
    " ",
  );
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  run: ["id", "uuid", "workflow", "startedAt", "state", "summary"],
  task: ["id", "unit", "uuid", "attempt"],
  attempt: ["number", "uuid"],
  error: ["task", "message", "code", "attempt", "exitCode"],
};

/** Every template of every task, of `when`, `foreach` and `outputs`. */
export function templateIssues(plan: Plan, tables: CheckTables): CheckResult {
  const issues: DocumentIssue[] = [];
  const warnings: string[] = [];
  const upstream = upstreamOf(plan);
  for (const [index, task] of plan.workflow.tasks.entries()) {
    const planned = plan.tasks.get(task.id);
    if (planned?.task !== task) continue;
    const path = ["tasks", index];
    const seen: Seen = { plan, tables, planned, upstream: upstream.get(task.id) ?? new Set() };
    issues.push(...taskIssues(path, planned, seen));
    for (const { template } of placedTemplates(path, planned))
      for (const text of template.lookAlikes)
        warnings.push(`Task "${task.id}": ${text} names no task and stays as it is.`);
  }
  const everything = new Set(plan.tasks.keys());
  for (const [name, value] of plan.outputs)
    issues.push(
      ...placedIssues(templatesOf(value, ["outputs", name]), {
        plan,
        tables,
        planned: undefined,
        upstream: everything,
      }),
    );
  return { issues, warnings };
}

interface Seen {
  plan: Plan;
  tables: CheckTables;
  planned: PlannedTask | undefined;
  upstream: ReadonlySet<string>;
}

function taskIssues(path: ValuePath, planned: PlannedTask, seen: Seen): DocumentIssue[] {
  const { task, when, shell, shellParams } = planned;
  const issues = placedIssues(placedTemplates(path, planned), seen);
  const at = (key: ValuePath) => [...path, ...key];
  if (when && !when.ok) issues.push(worded(at(["when"]), when.issue));
  if (when?.ok) issues.push(...referenceIssues(at(["when"]), when.expression.references, seen));
  if (shell) {
    issues.push(...shell.issues.map((issue) => worded(at(["shell"]), issue)));
    issues.push(...textIssues(at(["shell"]), task.work.kind === "shell" ? task.work.shell : "", seen));
  }
  for (const [name, template] of Object.entries(shellParams)) {
    issues.push(...template.issues.map((issue) => worded(at(["params", name]), issue)));
    issues.push(...textIssues(at(["params", name]), String(task.params[name]), seen));
  }
  for (const [name, pick] of Object.entries(task.outputs))
    if (parsePick(pick) === undefined)
      issues.push({
        path: at(["outputs", name]),
        of: "value",
        what: `"${pick}" is no path into a result`,
        hint: 'write one such as "$.score" or "$.items[0].name"',
      });
  return issues;
}

function placedTemplates(path: ValuePath, planned: PlannedTask): PlacedTemplate[] {
  const { params, env, items, work, idempotencyKey, workdir, task } = planned;
  return [
    ...templatesOf(params, [...path, "params"]),
    ...templatesOf(env, [...path, "env"]),
    ...(items ? templatesOf(items, [...path, "foreach", "items"]) : []),
    ...templatesOf(work, [...path, task.work.kind]),
    ...(idempotencyKey ? [{ path: [...path, "idempotencyKey"], template: idempotencyKey }] : []),
    ...(workdir ? [{ path: [...path, "workdir"], template: workdir }] : []),
  ];
}

function placedIssues(placed: readonly PlacedTemplate[], seen: Seen): DocumentIssue[] {
  return placed.flatMap(({ path, template }) => [
    ...template.issues.map((issue) => worded(path, issue)),
    ...referenceIssues(path, template.references, seen),
  ]);
}

/** A shell text is compiled away in the plan, so its references are read from its source. */
function textIssues(path: ValuePath, source: string, seen: Seen): DocumentIssue[] {
  const template = seen.plan.readText(source, seen.planned?.task);
  return placedIssues([{ path, template }], seen);
}

function worded(path: ValuePath, issue: { what: string; hint: string; at: number }): DocumentIssue {
  const where = issue.at > 0 ? ` (at character ${issue.at + 1})` : "";
  return { path, of: "value", what: `${issue.what}${where}`, hint: issue.hint };
}

function referenceIssues(path: ValuePath, references: readonly Reference[], seen: Seen): DocumentIssue[] {
  return references.flatMap((reference) => {
    const issue = referenceIssue(reference, seen);
    return issue ? [worded(path, { ...issue, at: reference.at })] : [];
  });
}

type Worded = { what: string; hint: string } | undefined;

function referenceIssue(reference: Reference, seen: Seen): Worded {
  const { head, path } = reference;
  const { plan, planned } = seen;
  if (plan.tasks.has(head)) return taskReferenceIssue(reference, seen);
  if (head === "item" || head === planned?.task.foreach?.as)
    return planned?.task.foreach
      ? undefined
      : { what: `"${head}" exists only in a foreach`, hint: "add foreach to the task, or remove it" };
  if (!(TEMPLATE_HEADS as readonly string[]).includes(head)) return unknownName(head, seen);
  const field = path[0];
  if (head === "params") return paramReferenceIssue(field, plan);
  if (
    head === "error" &&
    planned?.phase === "main" &&
    !planned.incoming.some((edge) => edge.on !== "success")
  )
    return {
      what: '"error" exists only in a task that a failure starts',
      hint: "name the task: t1.error.message",
    };
  const fields = FIELDS[head];
  if (!fields || field === undefined || fields.includes(String(field))) return undefined;
  return unknownField(`${head}.${String(field)}`, String(field), fields);
}

function taskReferenceIssue({ head, path, isGuarded }: Reference, seen: Seen): Worded {
  const { plan, planned, tables } = seen;
  if (planned?.phase === "main" && !seen.upstream.has(head)) {
    const self = head === planned.task.id;
    return {
      what: self ? `"${head}" refers to itself` : `"${head}" is not upstream of "${planned.task.id}"`,
      hint: self ? "refer to a task before it" : `add dependsOn: [${head}], or an edge from it`,
    };
  }
  const [field, ...rest] = path;
  if (field !== undefined && !TASK_FIELDS.includes(String(field)))
    return unknownField(`${head}.${String(field)}`, String(field), TASK_FIELDS);
  const source = plan.tasks.get(head)?.task;
  const output =
    source?.work.kind === "executor" && !source.foreach
      ? tables.executors?.get(source.work.executor)?.output
      : undefined;
  if (field === "result" && output && !isGuarded && schemaAt(output, rest) === "absent")
    return { what: `the result of "${head}" has no ${rest.join(".")}`, hint: "see the executor's output" };
  if (field === "outputs" && source && rest.length > 0 && !Object.hasOwn(source.outputs, String(rest[0])))
    return unknownField(`${head}.outputs.${String(rest[0])}`, String(rest[0]), Object.keys(source.outputs));
  return undefined;
}

function paramReferenceIssue(field: string | number | undefined, { workflow }: Plan): Worded {
  if (field === undefined || Object.hasOwn(workflow.params, field)) return undefined;
  return unknownField(`params.${String(field)}`, String(field), Object.keys(workflow.params));
}

function unknownName(name: string, { plan, planned }: Seen): Worded {
  const names = [
    ...plan.tasks.keys(),
    ...TEMPLATE_HEADS,
    ...(planned?.task.foreach ? [planned.task.foreach.as] : []),
  ];
  const nearest = nearestWord(name, names);
  const hint = nearest
    ? `did you mean "${nearest}"?`
    : `use a task's id, or one of: ${TEMPLATE_HEADS.join(", ")}`;
  return { what: `nothing is called "${name}"`, hint };
}

function unknownField(shown: string, field: string, known: readonly string[]): Worded {
  const nearest = nearestWord(field, known);
  const hint = nearest
    ? `did you mean "${nearest}"?`
    : `use one of: ${known.join(", ") || "none is declared"}`;
  return { what: `there is no ${shown}`, hint };
}

/** For each task every task that has ended, or may have, before it starts. */
function upstreamOf(plan: Plan): Map<string, Set<string>> {
  const upstream = new Map<string, Set<string>>();
  for (const id of plan.order) {
    const planned = plan.tasks.get(id);
    const all = new Set<string>();
    for (const source of planned ? sourcesOf(planned) : []) {
      all.add(source);
      for (const above of upstream.get(source) ?? []) all.add(above);
    }
    upstream.set(id, all);
  }
  return upstream;
}
