// Ending runs that do not run, and asking live ones to end.

import type { Instant } from "../../kernel/time.ts";
import type { PassResult } from "../../records/ledger/slots.ts";
import type { RunState } from "../../records/run.ts";
import type { Columns } from "./columns.ts";
import type { Row } from "./connection.ts";
import type { Transaction } from "./store.ts";

/** SQL: `queued` or `waiting`; claimed, running or cancelling; either. Spelled as in the partial indexes. */
export const isPending = (of: string) => `${of}."owner" IS NULL AND ${of}."finishedAt" IS NULL`;
export const isLive = (of: string) => `${of}."owner" IS NOT NULL AND ${of}."finishedAt" IS NULL`;
/** Waits for its next node with part of it done. */
export const hasBegun = (of: string) => `(${isPending(of)} AND ${of}."startedAt" IS NOT NULL)`;
export const isOpen = (of: string) => `${of}."finishedAt" IS NULL`;

type EndedRuns = PassResult["endedRuns"];

const ENDING: Columns = { runId: "text", state: "text", reason: "text" };

/** Ends queued and waiting runs; others are left alone. Returns those that ended. */
export async function endOpenRuns(
  tx: Transaction,
  endings: readonly { runId: string; state: "skipped" | "cancelled"; reason: string }[],
  now: Instant,
): Promise<EndedRuns> {
  if (endings.length === 0) return [];
  const rows = await tx.all(
    `UPDATE "runs" SET "state" = x."state", "reason" = x."reason", "finishedAt" = ?
     FROM ${tx.dialect.rows("x", ENDING)} WHERE "runs"."id" = x."runId" AND ${isPending(`"runs"`)}
     RETURNING "runs"."id", "runs"."jobId", "runs"."state", "runs"."reason"`,
    // The expression's parameter comes second in the text on both engines.
    [now, tx.dialect.encodeRows(ENDING, endings)],
  );
  return reportEnded(tx, rows, now);
}

/** Runs that had to start by an instant that has passed: `skipped: overlap` (T7). */
export async function expireStartBy(tx: Transaction, now: Instant): Promise<EndedRuns> {
  const rows = await tx.all(
    `UPDATE "runs" SET "state" = 'skipped', "reason" = 'overlap', "finishedAt" = ?
     WHERE "startBy" IS NOT NULL AND ${isPending(`"runs"`)} AND "startBy" <= ?
     RETURNING "id", "jobId", "state", "reason"`,
    [now, now],
  );
  return reportEnded(tx, rows, now);
}

function reportEnded(tx: Transaction, rows: readonly Row[], now: Instant): EndedRuns {
  return rows.map((row) => {
    const jobId = row.jobId === null ? undefined : String(row.jobId);
    const ended = {
      jobId,
      runId: String(row.id),
      state: String(row.state) as RunState,
      reason: String(row.reason),
    };
    const kind = ended.state === "skipped" ? "slot-skipped" : "run-finished";
    tx.emit({
      runId: ended.runId,
      jobId,
      at: now,
      kind,
      data: { state: ended.state, reason: ended.reason },
    });
    return ended;
  });
}

const CANCEL: Columns = { runId: "text", by: "text" };

/**
 * live → `cancelling`, with who asked (L11); a workflow between two nodes stays `queued` and hears it from the next.
 * Returns the ids of those newly asked.
 */
export async function requestCancels(
  tx: Transaction,
  cancels: readonly { runId: string; by: string }[],
  now: Instant,
): Promise<string[]> {
  if (cancels.length === 0) return [];
  const rows = await tx.all(
    `UPDATE "runs" SET "state" = CASE WHEN "runs"."owner" IS NULL THEN "runs"."state" ELSE 'cancelling' END, "cancelRequestedAt" = ?, "cancelledBy" = x."by"
     FROM ${tx.dialect.rows("x", CANCEL)}
     WHERE "runs"."id" = x."runId" AND (${isLive(`"runs"`)} OR ${hasBegun(`"runs"`)}) AND "runs"."cancelRequestedAt" IS NULL
     RETURNING "runs"."id", "runs"."jobId", "runs"."cancelledBy"`,
    [now, tx.dialect.encodeRows(CANCEL, cancels)],
  );
  return rows.map((row) => {
    const runId = String(row.id);
    const jobId = row.jobId === null ? undefined : String(row.jobId);
    tx.emit({ runId, jobId, at: now, kind: "run-cancelling", data: { by: row.cancelledBy } });
    return runId;
  });
}
