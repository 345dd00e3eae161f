// What is wrong with a graph's edges: unknown ends, cycles over both kinds of edge, edges from one phase to another.

import { nearestWord } from "../../kernel/errors.ts";
import type { DocumentIssue } from "../../records/document-issues.ts";
import type { Task, Workflow } from "../../records/workflow.ts";
import type { Plan } from "../graph/plan.ts";

const EDGES = ["dependsOn", "onSuccess", "onFailure", "onComplete"] as const;

/** Every edge that leads nowhere, closes a circle or crosses phases. */
export function edgeIssues(plan: Plan): DocumentIssue[] {
  return [...unknownEnds(plan.workflow), ...phaseIssues(plan), ...cycleIssues(plan.workflow)];
}

interface WrittenEdge {
  path: (string | number)[];
  key: (typeof EDGES)[number];
  task: Task;
  named: string;
}

function writtenEdges({ tasks }: Workflow): WrittenEdge[] {
  return tasks.flatMap((task, index) =>
    EDGES.flatMap((key) =>
      task[key].map((named, at) => ({ path: ["tasks", index, key, at], key, task, named })),
    ),
  );
}

function unknownEnds(workflow: Workflow): DocumentIssue[] {
  const ids = workflow.tasks.map((task) => task.id);
  const { handlers } = workflow;
  const listed = (path: string[], names: readonly string[]) =>
    names.map((named, at) => ({ path: [...path, at] as (string | number)[], named }));
  const all = [
    ...writtenEdges(workflow),
    ...listed(["finally"], workflow.finally),
    ...(["success", "failure", "cancelled"] as const).flatMap((kind) =>
      listed(["handlers", kind], handlers[kind]),
    ),
  ];
  return all.flatMap(({ path, named }): DocumentIssue[] => {
    if (ids.includes(named)) return [];
    const nearest = nearestWord(named, ids);
    const hint = nearest ? `did you mean "${nearest}"?` : `use one of: ${ids.join(", ")}`;
    return [{ path, of: "value", what: `no task is called "${named}"`, hint }];
  });
}

function phaseIssues({ workflow, tasks }: Plan): DocumentIssue[] {
  return writtenEdges(workflow).flatMap(({ path, task, named }): DocumentIssue[] => {
    const here = tasks.get(task.id)?.phase;
    const there = tasks.get(named)?.phase;
    if (here === undefined || there === undefined || here === there) return [];
    const word = (phase: string) => (phase === "main" ? "the graph" : phase);
    const what = `an edge joins "${task.id}" (${word(here)}) and "${named}" (${word(there)})`;
    const hint = "handlers and finally run after the graph by themselves; remove the edge";
    return [{ path, of: "value", what, hint }];
  });
}

/** One issue for each circle, with its path named. */
function cycleIssues(workflow: Workflow): DocumentIssue[] {
  const targets = new Map<string, { to: string; edge: WrittenEdge }[]>();
  for (const edge of writtenEdges(workflow)) {
    const [from, to] = edge.key === "dependsOn" ? [edge.named, edge.task.id] : [edge.task.id, edge.named];
    targets.set(from, [...(targets.get(from) ?? []), { to, edge }]);
  }
  const state = new Map<string, "open" | "done">();
  const issues: DocumentIssue[] = [];
  for (const { id } of workflow.tasks) {
    // An explicit stack: a chain of ten thousand tasks must not end in a stack overflow.
    const trail: { id: string; next: number }[] = state.has(id) ? [] : [{ id, next: 0 }];
    state.set(id, state.get(id) ?? "open");
    while (trail.length > 0) {
      const top = trail[trail.length - 1];
      if (!top) break;
      const step = targets.get(top.id)?.[top.next];
      top.next += 1;
      if (!step) {
        state.set(top.id, "done");
        trail.pop();
      } else if (state.get(step.to) === "open") {
        const names = trail.map((item) => item.id);
        const circle = [...names.slice(names.indexOf(step.to)), step.to].join(" → ");
        const hint = "remove one of its edges; to repeat work use retry or foreach";
        issues.push({
          path: step.edge.path,
          of: "value",
          what: `tasks wait for each other: ${circle}`,
          hint,
        });
      } else if (!state.has(step.to)) {
        state.set(step.to, "open");
        trail.push({ id: step.to, next: 0 });
      }
    }
  }
  return issues;
}
