// How a workflow ended, as an outcome: what its job's message says and what its parent is given.

import { textOf } from "../../orchestrate/expressions/template.ts";
import type { Plan } from "../../orchestrate/graph/plan.ts";
import { hasEnded, type Progress } from "../../orchestrate/graph/progress.ts";
import type { Outcome } from "../../records/outcome.ts";
import type { Run } from "../../records/run.ts";
import type { AbortReason } from "../../records/run-context.ts";
import { unitOf } from "../run-names.ts";

/** The outcome of a run that has ended. */
export function outcomeOfWorkflow(plan: Plan, progress: Progress, reason: AbortReason | undefined): Outcome {
  const { ended, cancel } = progress;
  if (!ended) throw new Error("the workflow has not ended");
  switch (ended.state) {
    case "succeeded":
    case "partiallySucceeded": {
      const output = messageOf(plan, progress, ended);
      const isPartial = ended.state === "partiallySucceeded";
      return {
        ...{ state: "succeeded", output, isSilent: output.trim() === "", result: ended.outputs },
        ...(isPartial && { isPartial, reason: ended.reason ?? "partially" }),
      };
    }
    case "failed":
      return {
        state: "failed",
        output: "",
        error: { code: "task", message: failureText(progress, ended.reason) },
      };
    case "cancelled":
      return { state: "cancelled", by: reason?.kind === "cancel" ? reason.by : (cancel?.by ?? "request") };
    case "timedOut":
      return {
        ...{ state: "timedOut", limit: "total", limitMs: plan.workflow.timeoutMs },
        ...{ lastActivity: summaryOf(plan, progress), lastActivityAt: ended.at },
      };
  }
}

/** With the files that its tasks named, in the tasks' order: they go out with the workflow's own message. */
export function withFilesOf(
  outcome: Extract<Outcome, { state: "succeeded" }>,
  tasks: readonly Run[],
): Outcome {
  const newest = new Map<string | undefined, Run>();
  for (const task of tasks) newest.set(unitOf(task), task);
  const all = [...newest.values()].flatMap(({ outcome: ended }) =>
    ended?.state === "succeeded" && ended.media ? [ended.media] : [],
  );
  if (all.length === 0) return outcome;
  const media = {
    kept: all.flatMap(({ kept }) => kept),
    refused: all.flatMap(({ refused }) => refused),
  };
  return { ...outcome, isSilent: false, media };
}

/** What goes to people: the output called `message`, else every output on a line, else a line that says what was done. */
function messageOf(
  plan: Plan,
  progress: Progress,
  { outputs }: { outputs: Record<string, unknown> },
): string {
  const names = Object.keys(outputs);
  if (names.includes("message")) return textOf(outputs.message ?? "");
  if (names.length > 0) return names.map((name) => `${name}: ${textOf(outputs[name])}`).join("\n");
  return summaryOf(plan, progress);
}

function summaryOf(plan: Plan, progress: Progress): string {
  const counts = new Map<string, number>();
  for (const id of plan.tasks.keys()) {
    const unit = progress.units.get(id);
    const state = hasEnded(unit) ? unit.standing : "unfinished";
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  const parts = [...counts].map(([state, count]) => `${count} ${WORDS[state] ?? state}`);
  return `${plan.workflow.name}: ${parts.join(", ")}`;
}

const WORDS: Readonly<Record<string, string>> = {
  timedOut: "timed out",
  partiallySucceeded: "partially succeeded",
};

/** Every failure nobody handled, with its words; the first is what the run is said to have failed for. */
function failureText(progress: Progress, reason: string | undefined): string {
  const failed = [...progress.units].filter(([, unit]) => unit.error !== undefined);
  const words = failed.map(([unit, { error }]) => `${unit}: ${error?.message}`);
  return words.length > 0
    ? `${reason ?? "a task failed"} – ${words.join("; ")}`
    : (reason ?? "a task failed");
}
