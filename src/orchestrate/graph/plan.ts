// A workflow made ready to be advanced: edges in both directions, phases, an order, and every template compiled.
//
// I1. Pure and total: a workflow with mistakes still gets a plan; orchestrate/check says what is wrong with it.
// I2. Only a checked workflow may be advanced (no cycles, no edge from one phase to another).

import type { Task, Workflow } from "../../records/workflow.ts";
import { TEMPLATE_HEADS } from "../../records/workflow-document.ts";
import type { Compiled, Compiler } from "../expressions/expression.ts";
import { compileValue, type TemplateValue, templatesOf } from "../expressions/render-value.ts";
import { compileShell, type ShellTemplate } from "../expressions/shell-template.ts";
import { type Language, parseTemplate, type Template } from "../expressions/template.ts";

export type Edge = "success" | "failure" | "complete";
export type HandlerKind = "success" | "failure" | "cancelled";
export type Phase = "main" | "handlers" | "finally";

export interface Incoming {
  source: string;
  on: Edge;
}

export interface PlannedTask {
  task: Task;
  phase: Phase;
  /** How the graph must have ended for a handler to run. */
  handles: ReadonlySet<HandlerKind>;
  /** Transitions that lead here. */
  incoming: readonly Incoming[];
  when: Compiled | undefined;
  items: TemplateValue | undefined;
  params: TemplateValue;
  env: TemplateValue;
  /** `agent`, `http` and the like: a value with templates in it. */
  work: TemplateValue;
  shell: ShellTemplate | undefined;
  /** Texts among the params that an executor runs in a shell, by name. */
  shellParams: Readonly<Record<string, ShellTemplate>>;
  idempotencyKey: Template | undefined;
  workdir: Template | undefined;
  /** Heads that this task's templates read. */
  heads: ReadonlySet<string>;
  /** Secrets are filled in late: until then each one that is named counts as present. */
  secretStandIns: Readonly<Record<string, string>>;
}

export interface Plan {
  workflow: Workflow;
  tasks: ReadonlyMap<string, PlannedTask>;
  /** Ids in an order in which sources come before targets; tasks of a cycle come last. */
  order: readonly string[];
  outputs: readonly (readonly [name: string, value: TemplateValue])[];
  /** A text as a template, with the names that this task knows. */
  readText(source: string, task: Task | undefined): Template;
}

export interface PlanOptions {
  compiler: Compiler;
  /** Which params of an executor are shell commands (`shell_exec`: `command`). */
  shellParams?(executor: string): readonly string[];
}

/** The same workflow and compiler give the same plan. */
export function planWorkflow(workflow: Workflow, options: PlanOptions): Plan {
  const ids = workflow.tasks.map((task) => task.id);
  const language = (task?: Task): Language => {
    const heads = new Set<string>([...TEMPLATE_HEADS, ...ids, ...(task?.foreach ? [task.foreach.as] : [])]);
    return { compiler: options.compiler, isHead: (name) => heads.has(name) };
  };
  const incoming = incomingOf(workflow);
  const tasks = new Map<string, PlannedTask>();
  for (const task of workflow.tasks) {
    if (tasks.has(task.id)) continue;
    const edges = { phase: phaseOf(task.id, workflow), handles: handlesOf(task.id, workflow) };
    tasks.set(task.id, {
      task,
      ...edges,
      incoming: incoming.get(task.id) ?? [],
      ...compileTask(task, language(task), options),
    });
  }
  return {
    workflow,
    tasks,
    order: sortedByEdges(tasks),
    readText: (source, task) => parseTemplate(source, language(task)),
    outputs: Object.entries(workflow.outputs).map(([name, value]) => [name, compileValue(value, language())]),
  };
}

/** Ids of the tasks that a transition of this task leads to, with the kind of edge. */
export function transitionsOf(task: Task): { target: string; on: Edge }[] {
  return [
    ...task.onSuccess.map((target) => ({ target, on: "success" as const })),
    ...task.onFailure.map((target) => ({ target, on: "failure" as const })),
    ...task.onComplete.map((target) => ({ target, on: "complete" as const })),
  ];
}

/** The ids a task waits for, by either kind of edge. */
export function sourcesOf(planned: PlannedTask): string[] {
  return [...new Set([...planned.task.dependsOn, ...planned.incoming.map((edge) => edge.source)])];
}

function incomingOf(workflow: Workflow): Map<string, Incoming[]> {
  const incoming = new Map<string, Incoming[]>();
  for (const task of workflow.tasks)
    for (const { target, on } of transitionsOf(task))
      incoming.set(target, [...(incoming.get(target) ?? []), { source: task.id, on }]);
  return incoming;
}

function phaseOf(id: string, { finally: last, handlers }: Workflow): Phase {
  if (last.includes(id)) return "finally";
  return Object.values(handlers).some((listed) => listed.includes(id)) ? "handlers" : "main";
}

function handlesOf(id: string, { handlers }: Workflow): Set<HandlerKind> {
  const kinds = ["success", "failure", "cancelled"] as const;
  return new Set(kinds.filter((kind) => handlers[kind].includes(id)));
}

function compileTask(task: Task, language: Language, options: PlanOptions) {
  const { work, foreach, idempotencyKey, workdir } = task;
  const when =
    task.when === undefined ? undefined : options.compiler.compile(conditionOf(task.when), language.isHead);
  const shellNames = work.kind === "executor" ? (options.shellParams?.(work.executor) ?? []) : [];
  const isShell = (name: string, value: unknown): value is string =>
    shellNames.includes(name) && typeof value === "string";
  const entries = Object.entries(task.params);
  const compiled = {
    when,
    items: foreach && compileValue(foreach.items, language),
    params: compileValue(
      Object.fromEntries(entries.filter(([name, value]) => !isShell(name, value))),
      language,
    ),
    env: compileValue(task.env, language),
    work: compileValue(textsOf(task), language),
    idempotencyKey: idempotencyKey === undefined ? undefined : parseTemplate(idempotencyKey, language),
    workdir: workdir === undefined ? undefined : parseTemplate(workdir, language),
  };
  const shellTexts = Object.fromEntries(
    entries.flatMap(([name, value]) =>
      isShell(name, value) ? [[name, parseTemplate(value, language)]] : [],
    ),
  );
  const shellText = work.kind === "shell" ? parseTemplate(work.shell, language) : undefined;
  return {
    ...compiled,
    shell: shellText && compileShell(shellText),
    shellParams: Object.fromEntries(
      Object.entries(shellTexts).map(([name, text]) => [name, compileShell(text)]),
    ),
    ...referencesOf(compiled, [...Object.values(shellTexts), ...(shellText ? [shellText] : [])]),
  };
}

/** The parts of a task's work that hold templates, besides params. */
function textsOf({ work }: Task): unknown {
  if (work.kind === "agent") return work.agent;
  if (work.kind === "http") return work.http;
  if (work.kind === "approval") return { message: work.message };
  return {};
}

/** `when` may be written as one template: `{{ x > 3 }}` means `x > 3`. */
export function conditionOf(when: string): string {
  return /^\s*\$?\{\{([\s\S]*)\}\}\s*$/.exec(when)?.[1] ?? when;
}

function referencesOf(
  compiled: Pick<PlannedTask, "when" | "items" | "params" | "env" | "work" | "idempotencyKey" | "workdir">,
  texts: readonly Template[],
): Pick<PlannedTask, "heads" | "secretStandIns"> {
  const values = [compiled.params, compiled.env, compiled.work, ...(compiled.items ? [compiled.items] : [])];
  const templates = [
    ...values.flatMap((value) => templatesOf(value).map(({ template }) => template)),
    ...[compiled.idempotencyKey, compiled.workdir].filter((template) => template !== undefined),
    ...texts,
  ];
  const when = compiled.when?.ok ? compiled.when.expression.references : [];
  const references = [...templates.flatMap((template) => template.references), ...when];
  const secrets = references.filter((reference) => reference.head === "secrets");
  return {
    heads: new Set(references.map((reference) => reference.head)),
    secretStandIns: Object.fromEntries(secrets.map(({ path }) => [String(path[0]), ""])),
  };
}

function sortedByEdges(tasks: ReadonlyMap<string, PlannedTask>): string[] {
  const order: string[] = [];
  const open = new Map(
    [...tasks].map(([id, task]) => [id, sourcesOf(task).filter((source) => tasks.has(source)).length]),
  );
  const targets = new Map<string, string[]>();
  for (const [id, task] of tasks)
    for (const source of sourcesOf(task)) targets.set(source, [...(targets.get(source) ?? []), id]);
  const ready = [...open].filter(([, count]) => count === 0).map(([id]) => id);
  for (let id = ready.shift(); id !== undefined; id = ready.shift()) {
    order.push(id);
    for (const target of targets.get(id) ?? []) {
      const left = (open.get(target) ?? 0) - 1;
      open.set(target, left);
      if (left === 0) ready.push(target);
    }
  }
  const sorted = new Set(order);
  return [...order, ...[...tasks.keys()].filter((id) => !sorted.has(id))];
}
