// Definitions and suspensions of a time that has been taken back (T8): they hold from now on, in the order of their record.
//
// I1. No two states of a job overlap afterwards: what lay ahead begins or ends at `now`, what it replaced ends there too.
// I2. Words that count from first sight (`in 30m`, `every 5m`) count from `now` where that lay ahead: nobody waits until
//     the wrong hour comes true. Instants that are written out in a document stay as they were written.
// I3. A pause that had run out by itself at an instant that is ahead again is open again: its end is still to come.

import { type Instant, wholeSecond } from "../../kernel/time.ts";
import type { Columns } from "./columns.ts";
import type { Transaction } from "./store.ts";
import { refreshHalted } from "./suspensions.ts";

const JOB: Columns = { jobId: "text" };

/** The cursors of the jobs are locked by this transaction. */
export async function redateJobs(tx: Transaction, jobs: readonly string[], now: Instant): Promise<void> {
  const own = tx.dialect.encodeRows(
    JOB,
    jobs.map((jobId) => ({ jobId })),
  );
  const isOwn = `"jobId" IN (SELECT x."jobId" FROM ${tx.dialect.rows("x", JOB)})`;
  const reopened = await tx.all(
    `UPDATE "suspensions" SET "to" = NULL WHERE "to" > ? AND "until" = "to" AND ${isOwn}
       AND NOT EXISTS (SELECT 1 FROM "suspensions" AS o WHERE o."jobId" = "suspensions"."jobId" AND o."kind" = "suspensions"."kind"
         AND (o."to" IS NULL OR o."from" > "suspensions"."from"))
     RETURNING "jobId"`,
    [now, own],
  );
  const anchor = wholeSecond(now);
  await tx.run(
    `UPDATE "definitions" SET "anchor" = ? WHERE "inForceFrom" > ? AND "anchor" > ? AND ${isOwn}`,
    [anchor, now, anchor, own],
  );
  for (const [table, from, to] of [
    ["definitions", "inForceFrom", "inForceTo"],
    ["suspensions", "from", "to"],
  ]) {
    await tx.run(
      `UPDATE "${table}" SET "${from}" = CASE WHEN "${from}" > ? THEN ? ELSE "${from}" END, "${to}" = CASE WHEN "${to}" > ? THEN ? ELSE "${to}" END
       WHERE ("${from}" > ? OR "${to}" > ?) AND ${isOwn}`,
      [now, now, now, now, now, now, own],
    );
  }
  await tx.run(`UPDATE "cursors" SET "removedAt" = ? WHERE "removedAt" > ? AND ${isOwn}`, [now, now, own]);
  for (const { jobId } of reopened) await refreshHalted(tx, String(jobId));
}
