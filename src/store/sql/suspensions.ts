// Opening and closing the intervals in which a job is suspended (D4).
//
// I1. `cursors.isHalted` = disabled, paused or quarantined: its queued slots stay where they are.

import type { Instant } from "../../kernel/time.ts";
import type { SuspensionKind } from "../../records/definition.ts";
import type { Statements } from "./connection.ts";
import type { Transaction } from "./store.ts";

export interface NewSuspension {
  jobId: string;
  kind: SuspensionKind;
  by: string;
  reason: string;
  now: Instant;
  until?: Instant | undefined;
}

/** Opens an interval, unless one of its kind is open. */
export async function openSuspension(tx: Statements, suspension: NewSuspension): Promise<boolean> {
  const { jobId, kind, now, by, reason, until } = suspension;
  const opened = await tx.run(
    `INSERT INTO "suspensions" ("jobId", "kind", "from", "by", "reason", "until") VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    [jobId, kind, now, by, reason, until ?? null],
  );
  if (opened > 0) await refreshHalted(tx, jobId);
  return opened > 0;
}

/** Closes the open interval of a kind. False = none was open. */
export async function closeSuspension(
  tx: Statements,
  { jobId, kind, now }: { jobId: string; kind: SuspensionKind; now: Instant },
): Promise<boolean> {
  const closed = await tx.run(
    `UPDATE "suspensions" SET "to" = ? WHERE "jobId" = ? AND "kind" = ? AND "to" IS NULL`,
    [now, jobId, kind],
  );
  if (closed > 0) await refreshHalted(tx, jobId);
  return closed > 0;
}

/** Ends the pauses whose time has come. */
export async function endExpiredSuspensions(tx: Transaction, now: Instant): Promise<void> {
  const ended = await tx.all(
    `UPDATE "suspensions" SET "to" = "until" WHERE "to" IS NULL AND "until" IS NOT NULL AND "until" <= ? RETURNING "jobId", "kind"`,
    [now],
  );
  for (const row of ended) {
    const jobId = String(row.jobId);
    await refreshHalted(tx, jobId);
    const data = { change: "resume", suspension: row.kind, by: "until" };
    tx.emit({ runId: undefined, jobId, at: now, kind: "job-changed", data });
  }
}

/** Recomputes (I1). */
export async function refreshHalted(tx: Statements, jobId: string): Promise<void> {
  await tx.run(
    `UPDATE "cursors" SET "isHalted" = CASE WHEN "isEnabled" = 0 OR EXISTS (SELECT 1 FROM "suspensions" AS s
       WHERE s."jobId" = "cursors"."jobId" AND s."to" IS NULL AND s."kind" IN ('paused','quarantined')) THEN 1 ELSE 0 END
     WHERE "jobId" = ?`,
    [jobId],
  );
}
