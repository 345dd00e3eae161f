// After a backward step of the wall clock (T8): what never began is open again, what started early is named.
//
// I1. Rows of slots ahead that never began are deleted, never rewritten: a terminal row does not change. Whoever had
//     claimed one loses it as after a take-over.
// I2. What was recorded at an instant that is ahead again (a version, a pause, an end) holds from now on: the order of
//     people's words stands, only their hour was wrong (re-date.ts).
// I3. A slot keeps its one row (L2): what began early stays accounted for, and later decisions go around it.

import { invariant } from "../../kernel/errors.ts";
import { makeId } from "../../kernel/ids.ts";
import type { Instant } from "../../kernel/time.ts";
import { BY_SCHEDULE, type Suspension } from "../../records/definition.ts";
import type { JobView, RewindRules } from "../../records/ledger/slots.ts";
import type { RunState } from "../../records/run.ts";
import { writeAhead } from "./apply-decisions.ts";
import type { Columns } from "./columns.ts";
import type { Row } from "./connection.ts";
import { redateJobs } from "./re-date.ts";
import { redateEvidence } from "./record-clock.ts";
import { insertRuns } from "./run-rows.ts";
import { type Store, type Transaction, write } from "./store.ts";
import { closeSuspension } from "./suspensions.ts";
import { definitionOf, readDefinitions, readViews } from "./views.ts";

const JOB: Columns = { jobId: "text" };
const DEDUPE_KEY: Columns = { dedupeKey: "text" };

export async function rewind(store: Store, now: Instant, rules: RewindRules): Promise<readonly string[]> {
  return write(store, async (tx) => {
    const jobs = await jobsAhead(tx, now);
    if (jobs.length > 0) await rewindJobs(tx, { jobs, now, rules });
    await redateEvidence(tx, now);
    return jobs;
  });
}

/** Jobs of which anything was recorded about a time that is ahead again, by id. */
async function jobsAhead(tx: Transaction, now: Instant): Promise<string[]> {
  const recorded = await tx.all(
    `SELECT "jobId" FROM "definitions" WHERE "inForceFrom" > ? OR "inForceTo" > ? UNION SELECT "jobId" FROM "suspensions" WHERE "from" > ? OR "to" > ?`,
    [now, now, now, now],
  );
  const rows = await rowsAhead(tx, now);
  return [...new Set([...recorded, ...rows].map(({ jobId }) => String(jobId)))].sort();
}

interface RewindJobs {
  jobs: readonly string[];
  now: Instant;
  rules: RewindRules;
}

async function rewindJobs(tx: Transaction, { jobs, now, rules }: RewindJobs): Promise<void> {
  const own = tx.dialect.encodeRows(
    JOB,
    jobs.map((jobId) => ({ jobId })),
  );
  const join = `JOIN ${tx.dialect.rows("x", JOB)} ON x."jobId" = c."jobId"`;
  await tx.all(`SELECT 1 FROM "cursors" AS c ${join} ORDER BY c."jobId"${tx.dialect.forUpdate("c")}`, [own]);
  await redateJobs(tx, jobs, now);
  // Read again under the locks: a node may have started one in between.
  const rows = (await rowsAhead(tx, now)).filter(({ jobId }) => jobs.includes(String(jobId)));
  await voidRows(tx, rows.filter(neverBegan), now);
  for (const row of rows) if (!neverBegan(row)) await markEarly(tx, String(row.id), now);
  for (const view of await readViews(tx, `${join} ORDER BY c."jobId"`, [own])) {
    const ofJob = rows.filter(({ jobId }) => jobId === view.cursor.jobId);
    await rewindJob(tx, { view, rows: ofJob, now, rules });
  }
}

/** First attempts and stretches that lie or reach ahead, with whether any attempt of the slot began. */
async function rowsAhead(tx: Transaction, now: Instant): Promise<Row[]> {
  return tx.all(
    `SELECT r."id", r."jobId", r."version", r."slot", r."slotTo", r."state", r."reason", r."dedupeKey",
       CASE WHEN EXISTS (SELECT 1 FROM "runs" AS a WHERE a."dedupeKey" = r."dedupeKey" AND a."startedAt" IS NOT NULL) THEN 1 ELSE 0 END AS "hasBegun"
     FROM "runs" AS r WHERE r."attempt" = 1 AND r."jobId" IS NOT NULL AND (r."slot" > ? OR r."slotTo" > ?) ORDER BY r."slot"`,
    [now, now],
  );
}

const neverBegan = ({ hasBegun }: Row) => Number(hasBegun) === 0;

interface RewindJob {
  view: JobView;
  /** As they were before the voiding, by slot. */
  rows: readonly Row[];
  now: Instant;
  rules: RewindRules;
}

async function rewindJob(tx: Transaction, { view: asRead, rows, now, rules }: RewindJob): Promise<void> {
  const { jobId, version, removedAt } = asRead.cursor;
  const begun = rows.filter((row) => !neverBegan(row));
  const known = { ...asRead, accountedAhead: begun.map(({ slot }) => Number(slot)) };
  const view = removedAt === undefined ? await reopened(tx, known, { now, rules }) : known;
  const after = removedAt === undefined ? rules.next(view) : undefined;
  const reaching = rows.find((row) => neverBegan(row) && Number(row.slot) <= now);
  // A stretch that reaches from before `now` to behind it is decided again from its start; where nothing decides any more
  // (paused, complete, removed), or another version does, its past part stays closed as it was.
  const isDecidedAgain = after !== undefined && Number(reaching?.version) === version;
  if (reaching && !isDecidedAgain) await keepPast(tx, reaching, { now, rules });
  const first = Number(reaching?.slot);
  const place = reaching && isDecidedAgain ? { slot: first, dueAt: first } : after;
  if (removedAt === undefined) await placeCursor(tx, { jobId, place, now });
  const voided = rows.length - begun.length;
  const data = { change: "rewind", voided, early: begun.length };
  tx.emit({ runId: undefined, jobId, at: now, kind: "job-changed", data });
}

/** T9: what the schedule completed is open again where slots can come. A completion by somebody's word stands. */
async function reopened(
  tx: Transaction,
  view: JobView,
  { now, rules }: { now: Instant; rules: RewindRules },
): Promise<JobView> {
  const { cursor } = view;
  const completion = cursor.suspensions.find(isCompletionBySchedule);
  if (!completion || rules.isComplete(view)) return view;
  await closeSuspension(tx, { jobId: cursor.jobId, kind: "completed", now });
  return {
    ...view,
    cursor: { ...cursor, suspensions: cursor.suspensions.filter((one) => one !== completion) },
  };
}

function isCompletionBySchedule({ kind, by }: Suspension): boolean {
  return kind === "completed" && by === BY_SCHEDULE;
}

async function placeCursor(
  tx: Transaction,
  { jobId, place, now }: { jobId: string; place: ReturnType<RewindRules["next"]>; now: Instant },
): Promise<void> {
  await tx.run(
    `UPDATE "cursors" SET "nextSlot" = ?, "dueAt" = ?, "revision" = "revision" + 1 WHERE "jobId" = ?`,
    [place?.slot ?? null, place?.dueAt ?? null, jobId],
  );
  const ahead = await tx.all(
    `SELECT "slot" FROM "runs" WHERE "jobId" = ? AND "attempt" = 1 AND "slot" >= ? ORDER BY "slot"`,
    [jobId, place?.slot ?? now],
  );
  await writeAhead(
    tx,
    jobId,
    ahead.map(({ slot }) => Number(slot)),
  );
}

/** (I1) A new row for what the voided stretch said about slots that are not ahead. */
async function keepPast(
  tx: Transaction,
  row: Row,
  { now, rules }: { now: Instant; rules: RewindRules },
): Promise<void> {
  const jobId = String(row.jobId);
  const version = Number(row.version);
  const slot = Number(row.slot);
  const definition = definitionOf(await readDefinitions(tx, [{ jobId, version }]), { jobId, version });
  invariant(definition, "a slot's row names a version on record (D5)");
  const { last, count, isCountAtLeast } = rules.pastPart(definition, slot);
  const id = makeId(now, tx.store.random);
  const dedupeKey = String(row.dedupeKey);
  const state = String(row.state) as RunState;
  const reason = row.reason === null ? undefined : String(row.reason);
  await insertRuns(tx, [
    {
      ...{ id, rootId: id, dedupeKey, idempotencyKey: dedupeKey, kind: "job", jobId, version },
      ...{ trigger: "schedule", effects: "external", state, reason, readyAt: slot, createdAt: now },
      ...{ slot, slotTo: last === slot ? undefined : last, slotCount: count, isCountAtLeast },
      finishedAt: now,
    },
  ]);
  tx.emit({ runId: id, jobId, at: now, kind: `slot-${state}`, data: { slot, reason } });
}

async function voidRows(tx: Transaction, rows: readonly Row[], now: Instant): Promise<void> {
  if (rows.length === 0) return;
  await tx.run(
    `DELETE FROM "runs" WHERE "dedupeKey" IN (SELECT x."dedupeKey" FROM ${tx.dialect.rows("x", DEDUPE_KEY)})`,
    [tx.dialect.encodeRows(DEDUPE_KEY, rows)],
  );
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
