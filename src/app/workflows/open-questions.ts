// Which tasks of a workflow wait for a person's word (peers.md §5.2, 10): its journal says, not the state of a row.
//
// I1. An attempt that was lost and repeated is no question: only the present attempt of a unit that has not ended can be.

import { hasEnded, type UnitState } from "../../orchestrate/graph/progress.ts";
import type { Run } from "../../records/run.ts";
import type { Context } from "../context.ts";
import { unitOf } from "../run-names.ts";
import { readJournal } from "./journal.ts";

/** Rows of approvals, and of attempts whose effect nobody knows; none of a run that has no journal or has ended. */
export async function openQuestions({ ledger }: Pick<Context, "ledger">, runId: string): Promise<Run[]> {
  const [texts, rows, said] = await Promise.all([
    ledger.journal(runId),
    ledger.tasksOf(runId),
    ledger.resolutionsOf(runId),
  ]);
  const journal = readJournal(texts);
  if (!journal || journal.progress.ended) return [];
  const answered = new Set(said.map((one) => one.runId));
  return rows.filter((row) => {
    const unit = journal.progress.units.get(unitOf(row) ?? "");
    return unit !== undefined && isAsked(row, unit) && !answered.has(row.id);
  });
}

/** Where no node has gone on with the run yet, the journal still has the attempt as running. */
function isAsked(row: Run, unit: UnitState): boolean {
  if (hasEnded(unit) || Math.max(1, unit.attempt) !== row.attempt) return false;
  if (unit.standing === "waiting") return unit.reason === "approval" || unit.reason === "effect";
  return row.effects === "external" && (row.state === "unknown" || row.reason === "nodeStopped");
}
