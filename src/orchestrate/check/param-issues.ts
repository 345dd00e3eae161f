// Do params fit what their executor takes? Literals are judged; a template counts with its type where it is known.

import type { DocumentIssue } from "../../records/document-issues.ts";
import type { ParamType } from "../../records/workflow.ts";
import type { TemplateValue } from "../expressions/render-value.ts";
import { wholeExpression } from "../expressions/render-value.ts";
import type { Plan } from "../graph/plan.ts";
import { schemaAt, schemaIssues, Unknown, type ValueSchema } from "../value-schema.ts";
import type { CheckTables } from "./tables.ts";

const JSON_TYPES: Record<ParamType, string> = {
  string: "string",
  number: "number",
  integer: "integer",
  boolean: "boolean",
  list: "array",
  map: "object",
};

/** Params against the executors' input schemas, and the workflow's own params against themselves. */
export function paramIssues(plan: Plan, { executors }: CheckTables): DocumentIssue[] {
  const tasks = plan.workflow.tasks.flatMap((task, index): DocumentIssue[] => {
    const contract = task.work.kind === "executor" ? executors?.get(task.work.executor) : undefined;
    const planned = plan.tasks.get(task.id);
    if (!contract?.input || planned?.task !== task) return [];
    const known = standIn(planned.params, plan, executors);
    const commands = Object.fromEntries(
      Object.keys(planned.shellParams).map((name) => [name, new Unknown("string")]),
    );
    const value = { ...(known as Record<string, unknown>), ...commands };
    const issues = schemaIssues(contract.input, value, ["tasks", index, "params"]);
    return issues.map((issue) => ({ ...issue, what: issue.what.replace(/^tasks\.\d+\./, "") }));
  });
  return [...ownParamIssues(plan), ...tasks];
}

/** The value with `Unknown`s where only a run can tell. */
function standIn(value: TemplateValue, plan: Plan, executors: CheckTables["executors"]): unknown {
  switch (value.kind) {
    case "plain":
      return value.value;
    case "list":
      return value.items.map((item) => standIn(item, plan, executors));
    case "map":
      return Object.fromEntries(value.entries.map(([key, item]) => [key, standIn(item, plan, executors)]));
    case "template": {
      const [first] = value.template.parts;
      if (value.template.parts.length === 1 && first && "text" in first) return first.text;
      const whole = wholeExpression(value.template);
      return new Unknown(whole ? typeOfReference(whole.source, { value, plan, executors }) : "string");
    }
  }
}

interface Known {
  value: Extract<TemplateValue, { kind: "template" }>;
  plan: Plan;
  executors: CheckTables["executors"];
}

/** The type of `t3.result.x` or `params.x` where its schema says it; undefined otherwise. */
function typeOfReference(source: string, { value, plan, executors }: Known): string | undefined {
  const [reference, ...others] = value.template.references;
  if (!reference || others.length > 0 || !/^\s*[\w.[\]]+\s*$/.test(source)) return undefined;
  const [field, ...rest] = reference.path;
  if (reference.head === "uuid" || reference.head === "error")
    return field === undefined ? "string" : undefined;
  if (reference.head === "params" && rest.length === 0) {
    const type = plan.workflow.params[String(field)]?.type;
    return type && JSON_TYPES[type];
  }
  const work = plan.tasks.get(reference.head)?.task.work;
  const output = work?.kind === "executor" ? executors?.get(work.executor)?.output : undefined;
  if (!output || field !== "result" || plan.tasks.get(reference.head)?.task.foreach) return undefined;
  const schema = schemaAt(output, rest);
  return typeof schema === "object" && typeof schema.type === "string" ? schema.type : undefined;
}

function ownParamIssues({ workflow }: Plan): DocumentIssue[] {
  return Object.entries(workflow.params).flatMap(([name, param]) => {
    if (param.default === undefined) return [];
    return schemaIssues(paramSchema(param), param.default, ["params", name, "default"]);
  });
}

/** A param's declaration as a schema. */
function paramSchema(param: Plan["workflow"]["params"][string]): ValueSchema {
  return { ...(param.type && { type: JSON_TYPES[param.type] }), ...(param.enum && { enum: param.enum }) };
}

export type GivenParams =
  | { ok: true; params: Record<string, unknown> }
  | { ok: false; issues: { what: string; hint: string }[] };

/** The params of a run: what was given, with defaults, against what the workflow declares. */
export function giveParams(
  workflow: Plan["workflow"],
  given: Readonly<Record<string, unknown>>,
): GivenParams {
  const defaults = Object.entries(workflow.params).flatMap(([name, { default: value }]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const params = { ...Object.fromEntries(defaults), ...given };
  const schema = {
    type: "object",
    additionalProperties: false,
    required: Object.keys(workflow.params),
    properties: Object.fromEntries(
      Object.entries(workflow.params).map(([name, param]) => [name, paramSchema(param)]),
    ),
  };
  const issues = schemaIssues(schema, params, []);
  return issues.length === 0
    ? { ok: true, params }
    : { ok: false, issues: issues.map(({ what, hint }) => ({ what, hint })) };
}
