// What a journal holds, as text: the run's beginning with the whole workflow, then the graph's entries.

import { foldJournal } from "../../orchestrate/graph/apply-entry.ts";
import type { JournalEntry, Progress, RunStart } from "../../orchestrate/graph/progress.ts";
import type { WorkflowDocument } from "../../records/workflow.ts";

/** The first entry: what was started with what. It pins the workflow to its run. */
export interface Beginning {
  kind: "begin";
  document: WorkflowDocument;
  start: RunStart;
  /** The run whose tasks' ends were taken over (`run retry --from`). */
  from?: string;
}

export function formatEntry(entry: Beginning | JournalEntry): string {
  return JSON.stringify(entry);
}

/** Undefined for a journal that has not begun. @throws Error for one that is not ours: a bug or a damaged store. */
export function readJournal(
  texts: readonly string[],
): { beginning: Beginning; entries: JournalEntry[]; progress: Progress } | undefined {
  const [first, ...rest] = texts;
  if (first === undefined) return undefined;
  const beginning = JSON.parse(first) as Beginning;
  if (beginning.kind !== "begin") throw new Error("a journal that does not begin");
  const entries = rest.map((text) => JSON.parse(text) as JournalEntry);
  return { beginning, entries, progress: foldJournal(beginning.start, entries) };
}
