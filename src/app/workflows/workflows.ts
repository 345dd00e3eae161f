// Workflows as people handle them: listed, checked, drawn, run.

import { Fault, isFault, sayFault } from "../../kernel/errors.ts";
import type { WorkflowDocument } from "../../records/workflow.ts";
import type { Context } from "../context.ts";
import type { RunDocument } from "../documents.ts";
import { findRun } from "../runs.ts";
import { readJournal } from "./journal.ts";
import { submitTask, submitWorkflow, type TaskSubmission } from "./submit.ts";
import {
  type PlannedWorkflow,
  planChecked,
  planUnchecked,
  readWorkflow,
  workflowNames,
} from "./workflow-source.ts";

export interface WorkflowListItem {
  name: string;
  description: string | null;
  tasks: number;
  params: readonly string[];
  /** What is wrong with it, with line and column; null = it may be run. */
  error: string | null;
}

/** Every workflow of the home, by name; one that cannot be read is listed with the reason. */
export async function listWorkflows(context: Context): Promise<WorkflowListItem[]> {
  const names = await workflowNames(context);
  return Promise.all(
    names.map(async (name) => {
      try {
        const { document } = await checkWorkflow(context, name);
        return { ...itemOf(document), name, error: null };
      } catch (error) {
        if (!isFault(error)) throw error;
        return { name, description: null, tasks: 0, params: [], error: sayFault(error) };
      }
    }),
  );
}

function itemOf({ description, tasks, params }: WorkflowDocument) {
  return { description: description ?? null, tasks: tasks.length, params: Object.keys(params ?? {}) };
}

/** Reads and checks one: a name of the home's workflows/, or a path. Throws what `readWorkflow` and `planChecked` throw. */
export async function checkWorkflow(context: Context, nameOrPath: string): Promise<PlannedWorkflow> {
  const reading = await readWorkflow(context, { file: nameOrPath });
  return planChecked({ context, executors: context.executors }, reading);
}

/**
 * Checks and queues a run of a workflow: a name of the home's workflows/, a path, or the workflow itself as a map.
 * Throws what `checkWorkflow` throws, and `input.invalid` for params that do not fit.
 */
export async function queueWorkflow(
  context: Context,
  workflow: string | Record<string, unknown>,
  { params = {} }: { params?: Record<string, unknown> } = {},
): Promise<RunDocument> {
  const reference = typeof workflow === "string" ? { file: workflow } : { inline: workflow };
  const deps = { context, executors: context.executors };
  const planned = await planChecked(deps, await readWorkflow(context, reference));
  return submitWorkflow(deps, planned, { params });
}

/** Checks and queues one task of an executor of the home. Throws `input.not-found`, `input.invalid`. */
export function queueTask(
  context: Context,
  task: Pick<TaskSubmission, "executor" | "params" | "queue" | "priority">,
): Promise<RunDocument> {
  return submitTask({ context, executors: context.executors }, task);
}

export const GRAPH_FORMATS = ["text", "mermaid", "svg"] as const;
export type GraphFormat = (typeof GRAPH_FORMATS)[number];

/** A workflow drawn; of a run with how far its tasks have come. Throws `input.not-found`, and as `checkWorkflow`. */
export async function drawWorkflow(
  context: Context,
  { name, runId, format }: { name?: string | undefined; runId?: string | undefined; format: GraphFormat },
): Promise<string> {
  const { planned, progress } =
    runId === undefined
      ? { planned: await checkWorkflow(context, name ?? ""), progress: undefined }
      : await ofRun(context, runId);
  const { renderMermaid, renderTextGraph } = await import("../../orchestrate/graph/render-graph.ts");
  if (format === "text") return renderTextGraph(planned.plan, progress);
  if (format === "mermaid") return renderMermaid(planned.plan);
  const { renderSvg } = await import("../../orchestrate/graph/render-svg.ts");
  return renderSvg(planned.plan, progress);
}

async function ofRun(context: Context, runId: string) {
  const run = await findRun(context, runId);
  const journal = readJournal(await context.ledger.journal(run.id));
  if (!journal)
    throw new Fault(
      "input.not-found",
      `run ${run.id} has no journal: it is no workflow's, or has not begun`,
      {
        hint: "Name a run of a workflow; see `nightshift run list`.",
      },
    );
  const deps = { context, executors: context.executors };
  return { planned: await planUnchecked(deps, journal.beginning.document), progress: journal.progress };
}
