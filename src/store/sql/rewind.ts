// After a backward step of the wall clock (T8): what was closed too early is open again, what started early is named.
//
// I1. Rows of slots that never began are deleted, never rewritten: a terminal row does not change.
// I2. What was recorded at an instant that is ahead again (a version, a pause, the end of one) holds from now on: the
//     order of people's words stands, only their hour was wrong.

import type { Instant } from "../../kernel/time.ts";
import type { JobView, SlotLedger } from "../../records/ledger/slots.ts";
import type { Columns } from "./columns.ts";
import type { Row } from "./connection.ts";
import { type Store, type Transaction, write } from "./store.ts";
import { closeSuspension } from "./suspensions.ts";
import { readViews } from "./views.ts";

type NextSlot = Parameters<SlotLedger["rewind"]>[1];

const JOB: Columns = { jobId: "text" };
const RUN_ID: Columns = { runId: "text" };

export async function rewind(store: Store, now: Instant, next: NextSlot): Promise<readonly string[]> {
  return write(store, async (tx) => {
    const jobs = await jobsAhead(tx, now);
    if (jobs.length === 0) return [];
    const own = tx.dialect.encodeRows(
      JOB,
      jobs.map((jobId) => ({ jobId })),
    );
    await tx.all(
      `SELECT 1 FROM "cursors" AS c JOIN ${tx.dialect.rows("x", JOB)} ON x."jobId" = c."jobId" ORDER BY c."jobId"${tx.dialect.forUpdate("c")}`,
      [own],
    );
    await redate(tx, now);
    const views = await readViews(
      tx,
      `JOIN ${tx.dialect.rows("x", JOB)} ON x."jobId" = c."jobId" WHERE c."removedAt" IS NULL ORDER BY c."jobId"`,
      [own],
    );
    // Read again under the locks: a node may have started one in between.
    const rows = await rowsAhead(tx, now);
    for (const view of views) {
      const own = rows.filter(({ jobId }) => jobId === view.cursor.jobId);
      await rewindJob(tx, { view, rows: own, now, next });
    }
    return views.map(({ cursor }) => cursor.jobId);
  });
}

/** Jobs of which anything was recorded about a time that is ahead again. */
async function jobsAhead(tx: Transaction, now: Instant): Promise<string[]> {
  const recorded = await tx.all(
    `SELECT "jobId" FROM "definitions" WHERE "inForceFrom" > ? OR "inForceTo" > ? UNION SELECT "jobId" FROM "suspensions" WHERE "from" > ? OR "to" > ?`,
    [now, now, now, now],
  );
  const rows = await rowsAhead(tx, now);
  return [...new Set([...recorded, ...rows].map(({ jobId }) => String(jobId)))];
}

const LIVING = `"jobId" IN (SELECT c."jobId" FROM "cursors" AS c WHERE c."removedAt" IS NULL)`;

/** (I2) A removed job keeps its dates: it is accounted for up to its end, and nothing of it comes due again. */
async function redate(tx: Transaction, now: Instant): Promise<void> {
  for (const [table, from, to] of [
    ["definitions", "inForceFrom", "inForceTo"],
    ["suspensions", "from", "to"],
  ]) {
    await tx.run(
      `UPDATE "${table}" SET "${from}" = CASE WHEN "${from}" > ? THEN ? ELSE "${from}" END, "${to}" = CASE WHEN "${to}" > ? THEN ? ELSE "${to}" END
       WHERE ("${from}" > ? OR "${to}" > ?) AND ${LIVING}`,
      [now, now, now, now, now, now],
    );
  }
}

async function rowsAhead(tx: Transaction, now: Instant): Promise<Row[]> {
  return tx.all(
    `SELECT "id", "jobId", "slot", "state", "startedAt" FROM "runs" WHERE "attempt" = 1 AND "jobId" IS NOT NULL AND ("slot" > ? OR "slotTo" > ?) ORDER BY "slot"`,
    [now, now],
  );
}

const neverBegan = ({ state, startedAt }: Row) =>
  startedAt === null && ["skipped", "missed", "queued", "waiting"].includes(String(state));

interface RewindJob {
  view: JobView;
  rows: readonly Row[];
  now: Instant;
  next: NextSlot;
}

async function rewindJob(tx: Transaction, { view, rows, now, next }: RewindJob): Promise<void> {
  const { jobId } = view.cursor;
  const begun = rows.filter((row) => !neverBegan(row));
  const began = new Set(begun.map(({ slot }) => Number(slot)));
  const after = next(view, (slot) => began.has(slot));
  // Where nothing will be decided any more (disabled, paused, complete), a stretch that began before `now` stays: voided,
  // its past part would belong to nobody.
  const voided = rows.filter((row) => neverBegan(row) && (after !== undefined || Number(row.slot) > now));
  await voidRows(tx, voided, now);
  for (const row of begun) await markEarly(tx, String(row.id), now);
  const first = voided.length > 0 ? Number(voided[0]?.slot) : undefined;
  // A stretch that reaches from before `now` to behind it is decided again from its start.
  const place = first !== undefined && first <= now ? { slot: first, dueAt: first } : after;
  await tx.run(
    `UPDATE "cursors" SET "nextSlot" = ?, "dueAt" = ?, "revision" = "revision" + 1 WHERE "jobId" = ?`,
    [place?.slot ?? null, place?.dueAt ?? null, jobId],
  );
  if (place) await closeSuspension(tx, { jobId, kind: "completed", now });
  const data = { change: "rewind", voided: voided.length, early: begun.length };
  tx.emit({ runId: undefined, jobId, at: now, kind: "job-changed", data });
}

async function voidRows(tx: Transaction, rows: readonly Row[], now: Instant): Promise<void> {
  if (rows.length === 0) return;
  await tx.run(`DELETE FROM "runs" WHERE "id" IN (SELECT x."runId" FROM ${tx.dialect.rows("x", RUN_ID)})`, [
    tx.dialect.encodeRows(
      RUN_ID,
      rows.map(({ id }) => ({ runId: id })),
    ),
  ]);
  for (const { id, jobId, slot, state } of rows)
    tx.emit({
      runId: String(id),
      jobId: String(jobId),
      at: now,
      kind: "slot-voided",
      data: { slot, state },
    });
}

async function markEarly(tx: Transaction, runId: string, now: Instant): Promise<void> {
  await tx.run(
    `INSERT INTO "resolutions" ("runId", "as", "by", "note", "at") SELECT "id", 'early', 'clock', 'the wall clock was set back', ? FROM "runs"
     WHERE "id" = ? AND NOT EXISTS (SELECT 1 FROM "resolutions" AS e WHERE e."runId" = ? AND e."as" = 'early')`,
    [now, runId, runId],
  );
}
