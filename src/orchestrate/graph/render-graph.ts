// A graph for people: a tree of text for a terminal, Mermaid for documents. The same plan gives the same text.

import { type Edge, type Plan, type PlannedTask, transitionsOf } from "./plan.ts";
import type { Progress } from "./progress.ts";

const MARKS: Record<Edge | "depends", string> = {
  depends: "",
  success: "on success",
  failure: "on failure",
  complete: "on complete",
};

interface Link {
  to: string;
  kind: Edge | "depends";
}

/** One line a task, indented below what it waits for; a task that stands elsewhere already is named with ↑. */
export function renderTextGraph(plan: Plan, progress?: Progress): string {
  const links = linksOf(plan);
  const lines = [plan.workflow.name];
  const shown = new Set<string>();
  const draw = (id: string, prefix: string, { isLast, kind }: { isLast: boolean; kind: Link["kind"] }) => {
    const mark = MARKS[kind] === "" ? "" : `[${MARKS[kind]}] `;
    const isRepeated = shown.has(id);
    const standing = progress?.units.get(id)?.standing;
    const state = standing === undefined || isRepeated ? "" : `: ${standing}`;
    lines.push(
      `${prefix}${isLast ? "└─ " : "├─ "}${mark}${labelOf(plan, id)}${state}${isRepeated ? " ↑" : ""}`,
    );
    if (isRepeated) return;
    shown.add(id);
    const below = links.get(id) ?? [];
    for (const [index, link] of below.entries())
      draw(link.to, `${prefix}${isLast ? "   " : "│  "}`, {
        isLast: index === below.length - 1,
        kind: link.kind,
      });
  };
  const roots = plan.order.filter((id) => isRoot(plan.tasks.get(id)));
  const loose = plan.order.filter((id) => !roots.includes(id));
  for (const [index, id] of roots.entries())
    draw(id, "", { isLast: index === roots.length - 1, kind: "depends" });
  for (const id of loose) if (!shown.has(id)) draw(id, "", { isLast: true, kind: "depends" });
  return `${lines.join("\n")}\n`;
}

/** A Mermaid flowchart; transitions are labelled, handlers and `finally` stand in boxes of their own. */
export function renderMermaid(plan: Plan): string {
  const lines = ["flowchart TD"];
  const boxes = [
    ["handlers", "handlers"],
    ["finally", "finally"],
  ] as const;
  const node = (id: string) => `  ${nodeId(id)}["${escaped(labelOf(plan, id))}"]`;
  for (const [id, planned] of plan.tasks) if (planned.phase === "main") lines.push(node(id));
  for (const [phase, title] of boxes) {
    const inside = [...plan.tasks].filter(([, planned]) => planned.phase === phase);
    if (inside.length === 0) continue;
    lines.push(`  subgraph ${title}_box["${title}"]`, ...inside.map(([id]) => `  ${node(id)}`), "  end");
  }
  for (const [from, links] of linksOf(plan))
    for (const { to, kind } of links)
      lines.push(`  ${nodeId(from)} ${kind === "depends" ? "-->" : `-->|${MARKS[kind]}|`} ${nodeId(to)}`);
  return `${lines.join("\n")}\n`;
}

function linksOf(plan: Plan): Map<string, Link[]> {
  const links = new Map<string, Link[]>();
  const add = (from: string, link: Link) => links.set(from, [...(links.get(from) ?? []), link]);
  for (const [id, { task }] of plan.tasks) {
    for (const source of task.dependsOn) add(source, { to: id, kind: "depends" });
    for (const { target, on } of transitionsOf(task)) add(id, { to: target, kind: on });
  }
  return links;
}

function isRoot(planned: PlannedTask | undefined): boolean {
  return planned !== undefined && planned.incoming.length === 0 && planned.task.dependsOn.length === 0;
}

function labelOf(plan: Plan, id: string): string {
  const planned = plan.tasks.get(id);
  if (!planned) return `${id} (unknown)`;
  const { work, foreach } = planned.task;
  const what = work.kind === "executor" ? work.executor : work.kind;
  const phase = planned.phase === "main" ? "" : `, ${planned.phase}`;
  return `${id} (${what}${foreach ? ", for each" : ""}${phase})`;
}

/** Mermaid has words of its own (`end`): a prefix keeps ids apart from them. */
const nodeId = (id: string) => `t_${id}`;
const escaped = (text: string) => text.replaceAll('"', "#quot;");
