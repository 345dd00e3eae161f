// The attempts that follow runs which have just ended.

import type { Closing } from "../../records/ledger/claims.ts";
import type { Run } from "../../records/run.ts";
import { insertRuns, type RunRow } from "./run-rows.ts";
import type { Transaction } from "./store.ts";

/** A closing that counted, with the row that it left. */
export interface Closed {
  closing: Closing;
  run: Run;
}

export async function insertNextAttempts(tx: Transaction, closed: readonly Closed[]): Promise<void> {
  const rows = closed.flatMap(({ closing, run }) =>
    closing.next ? [nextAttempt(closing, closing.next, run)] : [],
  );
  const isNew = await insertRuns(tx, rows);
  for (const row of rows) {
    if (!isNew.has(row.id)) continue;
    const data = { attempt: row.attempt, trigger: row.trigger, readyAt: row.readyAt };
    tx.emit({ runId: row.id, jobId: row.jobId, at: row.createdAt, kind: "run-queued", data });
  }
}

function nextAttempt({ finishedAt }: Closing, next: NonNullable<Closing["next"]>, run: Run): RunRow {
  const { dedupeKey, kind, jobId, version, parentId, slot, effects, isExclusive, input, eventId } = run;
  const { queue, admission } = run;
  const isRetry = next.trigger === "retry";
  return {
    ...{
      dedupeKey,
      kind,
      jobId,
      version,
      parentId,
      slot,
      effects,
      isExclusive,
      input,
      eventId,
      queue,
      admission,
    },
    ...next,
    // A further attempt of a root is a root of its own; one of a task stays in its tree.
    rootId: run.rootId === run.id ? next.id : run.rootId,
    attempt: run.attempt + 1,
    state: isRetry ? "waiting" : "queued",
    reason: isRetry ? "retry" : undefined,
    createdAt: finishedAt,
  };
}
