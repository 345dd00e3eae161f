// Workflows: list, draw, run; and single tasks of an executor.

import * as z from "zod/mini";
import { submitTask, submitWorkflow } from "../../app/workflows/submit.ts";
import { checkWorkflow, drawWorkflow, GRAPH_FORMATS, listWorkflows } from "../../app/workflows/workflows.ts";
import { Fault } from "../../kernel/errors.ts";
import { parseBody } from "../bodies.ts";
import { runSchema } from "../contract/runs.ts";
import { graphSchema, taskSchema, workflowRunSchema, workflowSchema } from "../contract/workflows.ts";
import { textParameter } from "../parameters.ts";
import { answer, type Route, route } from "../route.ts";

const tag = "workflows";
const queued = { 202: { description: "Queued as a run.", schema: runSchema } };

const list = route({
  method: "get",
  path: "/workflows",
  operationId: "listWorkflows",
  summary: "The home's workflows, and what is wrong with them.",
  tag,
  answers: { 200: { description: "Workflows, by name.", schema: z.array(workflowSchema) } },
  handle: async ({ context }) => answer(await listWorkflows(context)),
});

const graph = route({
  method: "get",
  path: "/workflows/{name}/graph",
  operationId: "drawWorkflow",
  summary: "A workflow drawn; of one of its runs with where each task stands.",
  tag,
  query: {
    format: textParameter("text, mermaid or svg. Default: text."),
    run: textParameter("A run of it."),
  },
  answers: { 200: { description: "The drawing.", schema: graphSchema } },
  async handle({ context, path: { name }, query: { format: word = "text", run: runId } }) {
    const format = GRAPH_FORMATS.find((known) => known === word);
    if (!format)
      throw new Fault("input.invalid", `the format "${word}" is none of ${GRAPH_FORMATS.join(", ")}`, {
        hint: "Write ?format=text, mermaid or svg.",
      });
    const drawn = { name: homeName(name), format, ...(runId !== undefined && { runId }) };
    return answer({ format, graph: await drawWorkflow(context, drawn) });
  },
});

const run = route({
  method: "post",
  path: "/workflows/{name}/runs",
  operationId: "runWorkflow",
  summary: "Runs a workflow of the home now.",
  tag,
  body: { types: ["application/json"], schema: workflowRunSchema, isRequired: false },
  answers: queued,
  async handle({ context, path: { name }, body }) {
    const { params = {}, deliver } = parseBody(body, workflowRunSchema);
    const planned = await checkWorkflow(context, homeName(name));
    const deps = { context, executors: context.executors };
    return accepted(await submitWorkflow(deps, planned, { params, ...(deliver && { deliver }) }));
  },
});

const submit = route({
  method: "post",
  path: "/executors/{name}/tasks",
  operationId: "submitTask",
  summary: "Queues one task of an executor.",
  tag,
  body: { types: ["application/json"], schema: taskSchema, isRequired: false },
  answers: queued,
  async handle({ context, path: { name = "" }, body }) {
    const { params = {}, queue, priority, version, deliver } = parseBody(body, taskSchema);
    const document = await submitTask(
      { context, executors: context.executors },
      {
        ...{ executor: name, params },
        ...(queue !== undefined && { queue }),
        ...(priority !== undefined && { priority }),
        ...(version !== undefined && { version }),
        ...(deliver && { deliver }),
      },
    );
    return accepted(document);
  },
});

function accepted<Document extends { id: string }>(document: Document) {
  return { status: 202 as const, document, headers: { location: `/api/runs/${document.id}` } };
}

/** Only the home's own: a path would reach whatever the node's user can read. Throws `input.not-found`. */
function homeName(name = ""): string {
  if (!name.includes("/")) return name;
  throw new Fault("input.not-found", `there is no workflow "${name}"`, {
    hint: "Name a file of the home's workflows/.",
  });
}

export const workflowRoutes: readonly Route[] = [list, graph, run, submit];
