// `workflow …`: graphs of tasks.

import type { CommandSpec } from "../command.ts";

export const workflowCommands: readonly CommandSpec[] = [
  {
    path: "workflow list",
    summary: "list the home's workflows, and what is wrong with them",
    load: async () => (await import("../workflow.ts")).list,
  },
  {
    path: "workflow check",
    args: "<workflow>",
    summary: "check a workflow (a name in workflows/, or a path): every mistake, with line and column",
    load: async () => (await import("../workflow.ts")).check,
  },
  {
    path: "workflow run",
    args: "<workflow>",
    summary: "run a workflow now",
    options: [
      ["--param <name=value...>", "a param; may be repeated"],
      ["--params <json>", "all params, as JSON"],
      ["--deliver <target...>", "where its result goes (default: local)"],
      ["--wait [duration]", "wait for its end, at most so long"],
      ["--here", "run it in this process, not on a node"],
    ],
    load: async () => (await import("../workflow-run.ts")).run,
  },
  {
    path: "workflow graph",
    args: "[workflow]",
    summary: "draw a workflow, or a run of one with where its tasks stand",
    options: [
      ["--format <format>", "text, mermaid or svg", "text"],
      ["--run <run>", "a run instead of a file"],
    ],
    load: async () => (await import("../workflow.ts")).graph,
  },
];
