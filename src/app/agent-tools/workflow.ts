// The `workflow` tool: list, check, graph, run, through the same use cases as every surface.

import * as z from "zod/mini";
import { defineTool } from "../../agent/define-tool.ts";
import { Fault } from "../../kernel/errors.ts";
import type { Tool, ToolResult } from "../../records/tool.ts";
import type { Context } from "../context.ts";
import { submitWorkflow } from "../workflows/submit.ts";
import { checkWorkflow, drawWorkflow, listWorkflows } from "../workflows/workflows.ts";
import { orAnswer } from "./or-answer.ts";
import { briefly, nodeWarnings } from "./runs.ts";
import { WORKFLOW_TEXT } from "./workflow-text.ts";

const schema = z
  .strictObject({
    action: z.enum(["list", "check", "graph", "run"]),
    name: z.optional(z.string().check(z.minLength(1), z.describe("Which workflow; not for list."))),
    id: z.optional(z.string().check(z.minLength(6), z.describe("graph: of this run."))),
    params: z.optional(z.record(z.string(), z.unknown())),
  })
  .check(
    z.refine(
      ({ action, name, id }) =>
        action === "list" || name !== undefined || (action === "graph" && id !== undefined),
      "this action needs `name`",
    ),
  );

type Input = z.infer<typeof schema>;

export function makeWorkflowTool(context: Context): Tool {
  return defineTool({
    ...{ name: "workflow", toolset: "workflow", description: WORKFLOW_TEXT, schema, isParallelSafe: false },
    summarise: ({ action, name, id }) => [action, name ?? id ?? ""].join(" ").trim().slice(0, 80),
    run: (input) => orAnswer(() => act(context, input)),
  });
}

async function act(context: Context, { action, name = "", id, params = {} }: Input): Promise<ToolResult> {
  if (name.includes("/"))
    throw new Fault("input.not-found", `there is no workflow "${name}"`, {
      hint: "Name a file of the home's workflows/.",
    });
  switch (action) {
    case "list":
      return { error: null, workflows: await listWorkflows(context) };
    case "check": {
      const { document, warnings } = await checkWorkflow(context, name);
      return { error: null, name: document.name, tasks: document.tasks.length, warnings };
    }
    case "graph":
      return { error: null, graph: await drawWorkflow(context, { name, runId: id, format: "text" }) };
    case "run": {
      const planned = await checkWorkflow(context, name);
      const run = await submitWorkflow({ context, executors: context.executors }, planned, { params });
      const warnings = [...planned.warnings, ...(await nodeWarnings(context))];
      return { error: null, run: briefly(run), warnings };
    }
  }
}
