// The workflow document's codec: a person's YAML or JSON → WorkflowDocument → YAML again.
//
// I1. Accepted whole or refused with every mistake in it, each with line and column.
// I2. Shorthands are written out on reading (`timeout: 8` → `8s`, `gpu: true` → 1, `retry: 2`, one id for a list of ids).
// I3. Only the form is judged here; what ids, templates and executors mean is orchestrate/check's.

import { Fault } from "../kernel/errors.ts";
import { slugify } from "../kernel/ids.ts";
import { type DocumentIssue, faultOfIssues, issuesOf } from "./document-issues.ts";
import { knownKeysInCamelCase } from "./snake-case.ts";
import { unquotedTemplates } from "./unquoted-templates.ts";
import { TASK_KINDS, type WorkflowDocument } from "./workflow.ts";
import { withoutAliases } from "./workflow-aliases.ts";
import { type WorkflowInput, workflowSchema } from "./workflow-schema.ts";
import { workflowDocumentOf } from "./workflow-shorthands.ts";
import { parseYamlDocument, type ValuePath, type YamlText } from "./yaml-text.ts";
import { keyText } from "./yaml-write.ts";

export interface WorkflowReading {
  document: WorkflowDocument;
  /** The text, with places by canonical paths: what later checks report in. */
  source: Pick<YamlText, "file" | "place">;
  /** What is accepted and probably not meant, one sentence each. */
  warnings: string[];
}

/** Names that templates know beside the ids of tasks. @source peers.md §5.3 */
export const TEMPLATE_HEADS = [
  "uuid",
  "run",
  "task",
  "attempt",
  "params",
  "env",
  "secrets",
  "trigger",
  "item",
  "error",
  "now",
] as const;

/**
 * Reads a workflow. Its name is the file's when it names none.
 * @throws Fault `job.yaml` for YAML that cannot be read, `workflow.invalid` for anything else, with every mistake in it.
 */
export function parseWorkflowDocument(text: string, options: { file: string }): WorkflowReading {
  const yaml = parseYamlDocument(text, options.file);
  if (!isMap(yaml.value)) throw notAMap(yaml);
  const canonical = withoutAliases(yaml.value);
  const schema = workflowSchema();
  const value = knownKeysInCamelCase(canonical.value, schema) as Record<string, unknown>;
  const source: WorkflowReading["source"] = {
    file: yaml.file,
    place: (path, of) => yaml.place(canonical.sourcePath(path), of),
  };
  const unquoted = unquotedTemplates(yaml, knownHeads(value));
  const special = [...unquoted, ...belongsToJobs(value), ...kindIssues(value)];
  const parsed = schema.safeParse(withoutKeys(value, JOB_KEYS));
  const formal = parsed.success ? [] : issuesOf(parsed.error.issues, value, schema);
  const issues = [...special, ...formal.filter((issue) => !isWithin(issue.path, unquoted))];
  const fault = faultOfIssues("workflow.invalid", issues, source);
  if (fault) throw fault;
  // Without issues the parse has succeeded, so this is the typed value of the same text.
  const input = parsed.data as WorkflowInput;
  const document = asJson(workflowDocumentOf(input, defaultWorkflowName(options.file)));
  return { document, source, warnings: yaml.document.warnings.map((warning) => warning.message) };
}

/** YAML for a file, in canonical key order. `parseWorkflowDocument` reads it back unchanged. */
export function formatWorkflowDocument(document: WorkflowDocument): string {
  const fields = document as unknown as Record<string, unknown>;
  return Object.keys(workflowSchema().shape)
    .filter((key) => fields[key] !== undefined)
    .flatMap((key) => keyText(key, fields[key]))
    .map((line) => `${line}\n`)
    .join("");
}

/** The name a file gives its workflow: its own without the ending, made a slug. */
function defaultWorkflowName(file: string): string {
  const stem = file.replace(/^.*\//, "").replace(/\.(ya?ml|json)$/i, "");
  return /^[a-z0-9][a-z0-9_-]{0,63}$/.test(stem) ? stem : slugify(stem, "workflow");
}

function knownHeads(value: Record<string, unknown>): (head: string) => boolean {
  const tasks = Array.isArray(value.tasks) ? value.tasks.filter(isMap) : [];
  const names = tasks.flatMap((task) => [task.id, isMap(task.foreach) ? task.foreach.as : undefined]);
  const heads = new Set<unknown>([...TEMPLATE_HEADS, ...names]);
  return (head) => heads.has(head);
}

const JOB_KEYS = ["schedule", "deliver", "on"] as const;

function belongsToJobs(value: Record<string, unknown>): DocumentIssue[] {
  return JOB_KEYS.filter((key) => Object.hasOwn(value, key)).map((key) => ({
    path: [key],
    of: "key",
    what: `a workflow has no ${key}`,
    hint: "write a job whose `run: {workflow: …}` names this file, and put it there",
  }));
}

function kindIssues(value: Record<string, unknown>): DocumentIssue[] {
  const tasks = Array.isArray(value.tasks) ? value.tasks : [];
  return tasks.flatMap((task: unknown, index): DocumentIssue[] => {
    if (!isMap(task)) return [];
    const kinds = TASK_KINDS.filter((kind) => task[kind] !== undefined);
    const path: ValuePath = ["tasks", index];
    if (kinds.length === 0) {
      const what = `task ${nameOf(task, index)} names no work`;
      return [{ path, of: "value", what, hint: `write one of ${TASK_KINDS.join(", ")}` }];
    }
    return kinds.slice(1).map((kind) => ({
      path: [...path, kind],
      of: "key",
      what: `task ${nameOf(task, index)} names ${kinds.join(" and ")}`,
      hint: "keep exactly one",
    }));
  });
}

function nameOf(task: Record<string, unknown>, index: number): string {
  return typeof task.id === "string" ? `"${task.id}"` : `${index + 1}`;
}

function notAMap(yaml: YamlText): Fault {
  const what = yaml.value === null ? "the file is empty" : "this is not a map of keys and values";
  const hint = "write a workflow, at least `tasks:`";
  const issue: DocumentIssue = { path: [], of: "value", what, hint };
  return faultOfIssues("workflow.invalid", [issue], yaml) ?? new Fault("workflow.invalid", what, { hint });
}

function isWithin(path: ValuePath, issues: readonly DocumentIssue[]): boolean {
  return issues.some((issue) => issue.path.every((step, depth) => path[depth] === step));
}

function withoutKeys(value: Record<string, unknown>, keys: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));
}

/** Absent keys are left out, so that equal documents are equal values. */
function asJson(document: WorkflowDocument): WorkflowDocument {
  return JSON.parse(JSON.stringify(document)) as WorkflowDocument;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
