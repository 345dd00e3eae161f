// Requests that no machine can ever meet (W5): refused, or accepted as degraded where a fallback can do it.

import type { DocumentIssue } from "../../records/document-issues.ts";
import { mergeResources, NO_RESOURCES } from "../../records/resources.ts";
import type { Resources, Workflow } from "../../records/workflow.ts";
import type { CheckResult, CheckTables } from "./tables.ts";

const AMOUNTS = ["cpu", "memoryMb", "gpu", "gpuMemoryMb"] as const;

/** Judged only where the machines are known. */
export function resourceIssues(workflow: Workflow, { machines, executors }: CheckTables): CheckResult {
  const issues: DocumentIssue[] = [];
  const warnings: string[] = [];
  if (!machines || machines.length === 0) return { issues, warnings };
  for (const [index, task] of workflow.tasks.entries()) {
    const contract = task.work.kind === "executor" ? executors?.get(task.work.executor) : undefined;
    if (contract?.isElsewhere) continue;
    const needs = mergeResources(contract?.resources ?? NO_RESOURCES, task.resources);
    const why = whyImpossible(needs, machines);
    if (why === undefined) continue;
    const rescue = task.fallback.find((name) => {
      const stands = executors?.get(name);
      const needed = stands?.isElsewhere ? undefined : stands?.resources;
      return stands && (!needed || whyImpossible(needed, machines) === undefined);
    });
    if (rescue === undefined)
      issues.push({
        path: ["tasks", index, "resources"],
        of: "key",
        what: `task "${task.id}" ${why}`,
        hint: "ask for less, add a machine, or name a fallback",
      });
    else warnings.push(`Task "${task.id}" ${why}: it will run degraded, as ${rescue}.`);
  }
  return { issues, warnings };
}

/** A sentence's end, such as `needs 8192 MB of GPU memory, no machine has more than 4096`; undefined when one fits. */
export function whyImpossible(needed: Resources, machines: readonly Resources[]): string | undefined {
  const fits = (machine: Resources) =>
    AMOUNTS.every((key) => machine[key] >= needed[key]) &&
    needed.labels.every((label) => machine.labels.includes(label));
  if (machines.some(fits)) return undefined;
  for (const key of AMOUNTS) {
    const most = Math.max(...machines.map((machine) => machine[key]));
    if (needed[key] > most)
      return `needs ${needed[key]} ${needed[key] === 1 ? ONE[key] : WORDS[key]}, no machine has more than ${most}`;
  }
  const missing = needed.labels.find((label) => !machines.some((machine) => machine.labels.includes(label)));
  if (missing !== undefined) return `needs the label "${missing}", no machine has it`;
  return "needs more at once than any one machine has";
}

const WORDS = {
  cpu: "cores",
  memoryMb: "MB of memory",
  gpu: "GPUs",
  gpuMemoryMb: "MB of GPU memory",
} as const;

const ONE: Readonly<Record<keyof typeof WORDS, string>> = { ...WORDS, cpu: "core", gpu: "GPU" };
