// `run retry RUN --from TASK`: a new run of the same workflow that takes over what need not be done again.

import { type Plan, sourcesOf } from "../../orchestrate/graph/plan.ts";
import type { JournalEntry } from "../../orchestrate/graph/progress.ts";
import { unitParts } from "../../orchestrate/graph/progress.ts";
import type { Run } from "../../records/run.ts";

/** Travels in the row of the new run (runs.input). */
export interface RetryFrom {
  run: string;
  task: string;
  /** Also what succeeded after `task` is done again. */
  isDownstream: boolean;
}

/** The key of runs.input that holds it. */
export const RETRY_KEY = "retryFrom";

export function readRetry({ input }: Pick<Run, "input">): RetryFrom | undefined {
  if (input === undefined || !input.includes(`"${RETRY_KEY}"`)) return undefined;
  return (JSON.parse(input) as { [RETRY_KEY]?: RetryFrom })[RETRY_KEY];
}

/**
 * The ends that the new run takes over: of every task that neither is `task` nor comes after it. What comes after it is
 * taken over where it succeeded, unless `isDownstream`; handlers and `finally` run anew.
 */
export function retriedEntries(
  plan: Plan,
  entries: readonly JournalEntry[],
  retry: RetryFrom,
): JournalEntry[] {
  const after = tasksAfter(plan, retry.task);
  const ends = new Map(
    entries.flatMap((entry) => (entry.kind === "end" ? [[entry.unit, entry.state] as const] : [])),
  );
  const isAgain = (task: string) => {
    if (task === retry.task || plan.tasks.get(task)?.phase !== "main") return true;
    if (!after.has(task)) return !ends.has(task);
    return retry.isDownstream || ends.get(task) !== "succeeded";
  };
  return entries.filter(
    (entry) => (entry.kind === "end" || entry.kind === "expand") && !isAgain(unitParts(entry.unit).task),
  );
}

function tasksAfter(plan: Plan, task: string): ReadonlySet<string> {
  const after = new Set<string>([task]);
  for (const id of plan.order) {
    const planned = plan.tasks.get(id);
    if (planned && sourcesOf(planned).some((source) => after.has(source))) after.add(id);
  }
  after.delete(task);
  return after;
}
