// Where workflows come from: files in <home>/workflows, or the map in a job; read, resolved, planned and checked.
//
// I1. Reading judges the form, checking the meaning (law 8): both report every mistake with line and column.
// I2. What a run does is pinned at its start: its journal holds the document, and a changed file changes no live run.

import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { Fault } from "../../kernel/errors.ts";
import type { CheckTables } from "../../orchestrate/check/tables.ts";
import type { Plan } from "../../orchestrate/graph/plan.ts";
import type { ExecutorRegistry } from "../../records/executor.ts";
import { asksForAnything } from "../../records/resources.ts";
import type { Resources, Workflow, WorkflowDocument } from "../../records/workflow.ts";
import { parseWorkflowDocument, type WorkflowReading } from "../../records/workflow-document.ts";
import { resolveWorkflow } from "../../records/workflow-resolve.ts";
import type { Context } from "../context.ts";
import { possibleContract } from "../resources/impossible.ts";
import { readCapacities } from "../resources/machines.ts";
import { defaultsOf, type ExecutorTable, readExecutors } from "./executor-table.ts";
import { queueNames } from "./task-rows.ts";

export interface WorkflowDeps {
  context: Context;
  executors: ExecutorRegistry;
}

/** A workflow that may be run. */
export interface PlannedWorkflow {
  document: WorkflowDocument;
  workflow: Workflow;
  plan: Plan;
  executors: ExecutorTable;
  warnings: readonly string[];
  /** What each machine has in all; undefined = not measured, since nothing asks for anything of them. */
  machines?: readonly Resources[] | undefined;
}

/** What a job's `run.workflow` or a command names. */
export interface WorkflowReference {
  file?: string | undefined;
  inline?: Record<string, unknown> | undefined;
  params?: Record<string, unknown> | undefined;
}

const ENDINGS = [".yaml", ".yml", ".json"];
/** @source libraries: a graph of 10,000 tasks written out is 2 MB. */
const MAX_BYTES = 4_000_000;

/** Names of the home's workflow files, without their endings, sorted. */
export async function workflowNames({ home }: Pick<Context, "home">): Promise<string[]> {
  const entries = await readdir(home.paths.workflowsFolder).catch(() => []);
  const files = entries.filter((name) => !name.startsWith(".") && ENDINGS.some((end) => name.endsWith(end)));
  return [...new Set(files.map((name) => name.replace(/\.[a-z]+$/, "")))].sort();
}

/** The document a reference means. Throws `input.not-found`, `input.refused`, `job.yaml`, `workflow.invalid`. */
export async function readWorkflow(context: Context, reference: WorkflowReference): Promise<WorkflowReading> {
  if (reference.inline)
    return parseWorkflowDocument(JSON.stringify({ name: "inline", ...reference.inline }), {
      file: "workflow",
    });
  const name = reference.file ?? "";
  const { path, text } = await readText(context, name);
  return parseWorkflowDocument(text, { file: path });
}

/** A file by its path as given, else by its name in the home's workflows/. */
async function readText(context: Context, name: string): Promise<{ path: string; text: string }> {
  const { workflowsFolder } = context.home.paths;
  const isPath = name.includes("/");
  const places = isPath
    ? [name]
    : [name, ...ENDINGS.map((end) => `${name}${end}`)].map((file) => join(workflowsFolder, file));
  for (const path of places) {
    const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
      throw new Fault(
        "input.refused",
        `the workflow ${path} cannot be read: ${error.code ?? error.message}`,
        {
          hint: "Make it a readable file.",
          cause: error,
        },
      );
    });
    if (text === undefined) continue;
    if (text.length > MAX_BYTES)
      throw new Fault("input.too-large", `the workflow ${path} has ${text.length} characters`, {
        hint: `Keep it below ${MAX_BYTES}.`,
      });
    return { path: isPath ? path : join("workflows", basename(path)), text };
  }
  const known = await workflowNames(context);
  throw new Fault("input.not-found", `there is no workflow "${name}"`, {
    hint: known.length > 0 ? `Known are ${known.join(", ")}.` : `Put it into ${workflowsFolder}.`,
  });
}

/** Resolves, plans and checks. Throws Fault `workflow.invalid` with every mistake. */
export async function planChecked(deps: WorkflowDeps, reading: WorkflowReading): Promise<PlannedWorkflow> {
  const planned = await planUnchecked(deps, reading.document);
  const { requireSound } = await import("../../orchestrate/check/check-workflow.ts");
  const tables = await tablesFor(deps, planned);
  const warnings = requireSound(planned.plan, reading.source, tables);
  return { ...planned, warnings: [...reading.warnings, ...warnings], machines: tables.machines };
}

/** What the machines have in all, as a plan's tasks need to know it; empty where they ask for nothing. */
export async function machinesFor(
  context: Context,
  { workflow, executors, machines }: PlannedWorkflow,
): Promise<readonly Resources[]> {
  if (machines) return machines;
  // Where they cannot be read, nothing is judged by them: it waits for what it needs.
  return asksOfMachines(workflow, executors) ? readCapacities(context).catch(() => []) : [];
}

/** The same without checks, for a document that has passed them: a run's own. */
export async function planUnchecked(
  { context, executors }: WorkflowDeps,
  document: WorkflowDocument,
): Promise<PlannedWorkflow> {
  const [{ loadCompiler }, { planWorkflow }] = await Promise.all([
    import("../../orchestrate/expressions/load.ts"),
    import("../../orchestrate/graph/plan.ts"),
  ]);
  const table = await readExecutors(executors);
  const workflow = resolveWorkflow(document, defaultsOf(context.config, table));
  const plan = planWorkflow(workflow, {
    compiler: await loadCompiler(),
    shellParams: (name) => table.get(name)?.[0]?.contract.shellParams ?? [],
  });
  return { document, workflow, plan, executors: table, warnings: [] };
}

async function tablesFor(
  { context }: WorkflowDeps,
  { workflow, executors }: Pick<PlannedWorkflow, "workflow" | "executors">,
): Promise<CheckTables> {
  const { queues } = context.config;
  // Machines are measured only for those that ask for something of them.
  const machines = asksOfMachines(workflow, executors) ? await readCapacities(context) : undefined;
  const contracts = [...executors].flatMap(([name, registered]) => {
    const contract = possibleContract(registered, machines);
    return contract ? [[name, { name, ...contract }] as const] : [];
  });
  return {
    machines,
    executors: new Map(contracts),
    queues: queueNames(queues),
    workflows: await workflowNames(context),
  };
}

function asksOfMachines({ tasks }: Workflow, table: ExecutorTable): boolean {
  const asks = (name: string) => table.get(name)?.some(({ contract }) => asksForAnything(contract.resources));
  return tasks.some(
    ({ resources, work, fallback }) =>
      asksForAnything(resources) || (work.kind === "executor" && asks(work.executor)) || fallback.some(asks),
  );
}
