// Retention (L8): old trees leave, folded into a summary per job and day; their delivery keys stay as tombstones.
//
// Runs without a job are kept together, by a number of their own (W3: `maxTaskHistory`); they have no slots to fold.
//
// I1. Live rows, unresolved unknowns and open deliveries keep their whole tree. An unknown is settled by a person, by a
//     later attempt, and in a workflow by the workflow's own end.
// I2. Fold, tombstone and delete are one transaction; a crash in between repeats nothing and loses nothing.

import { DAY, type Instant } from "../../kernel/time.ts";
import type { Columns } from "./columns.ts";
import type { Row } from "./connection.ts";
import { isOpen } from "./endings.ts";
import { pruneModelCalls } from "./model-calls.ts";
import { type Store, type Transaction, write } from "./store.ts";

/** Trees pruned in one transaction: bounds how long others wait. */
const TREES_PER_TRANSACTION = 200;

const RUN_ID: Columns = { runId: "text" };
const SUMMARY: Columns = { jobId: "text", day: "int", from: "int", to: "int", counts: "json" };

interface PruneOptions {
  rootRunsPerJob: number;
  joblessRoots?: number;
  eventsKept: number;
  now: Instant;
}

export async function prune(
  store: Store,
  options: PruneOptions,
): Promise<{ prunedRuns: number; orphanedFiles: readonly string[] }> {
  let prunedRuns = 0;
  const orphanedFiles: string[] = [];
  const crowded = await store.connection.all(
    `SELECT "jobId" FROM "runs" GROUP BY "jobId" HAVING count(*) > CASE WHEN "jobId" IS NULL THEN CAST(? AS INTEGER) ELSE CAST(? AS INTEGER) END`,
    [keptOf(options, undefined), options.rootRunsPerJob],
  );
  for (const row of crowded) {
    const jobId = row.jobId === null ? undefined : String(row.jobId);
    for (;;) {
      const pruned = await write(store, (tx) => pruneJob(tx, jobId, options));
      prunedRuns += pruned.length;
      for (const { outputFile } of pruned) if (outputFile !== null) orphanedFiles.push(String(outputFile));
      if (pruned.length === 0) break;
    }
  }
  await store.connection.run(
    `DELETE FROM "runEvents" WHERE "sequence" <= (SELECT "sequence" FROM "runEvents" ORDER BY "sequence" DESC LIMIT 1 OFFSET ?)`,
    [options.eventsKept],
  );
  await pruneModelCalls(store.connection, options.now);
  return { prunedRuns, orphanedFiles };
}

function keptOf({ rootRunsPerJob, joblessRoots = rootRunsPerJob }: PruneOptions, jobId: string | undefined) {
  return jobId === undefined ? joblessRoots : rootRunsPerJob;
}

/** SQL and its parameters: the runs of a job, or those that are no job's. */
function ofJob(run: string, jobId: string | undefined): { sql: string; params: readonly string[] } {
  if (jobId === undefined) return { sql: `${run}"jobId" IS NULL`, params: [] };
  return { sql: `${run}"jobId" = ?`, params: [jobId] };
}

async function pruneJob(tx: Transaction, jobId: string | undefined, options: PruneOptions): Promise<Row[]> {
  const { sql, params } = ofJob("", jobId);
  const kept = await tx.get(
    `SELECT "id" FROM "runs" WHERE ${sql} AND "parentId" IS NULL ORDER BY "id" DESC LIMIT 1 OFFSET ?`,
    [...params, keptOf(options, jobId)],
  );
  if (!kept) return [];
  const roots = await prunableRoots(tx, jobId, String(kept.id));
  if (roots.length === 0) return [];
  const json = tx.dialect.encodeRows(
    RUN_ID,
    roots.map(({ id }) => ({ runId: id })),
  );
  const rows = await tx.all(
    `SELECT r."id", r."jobId", r."attempt", r."slot", r."slotTo", r."slotCount", r."state", r."outputFile" FROM ${tx.dialect.rows("x", RUN_ID)} JOIN "runs" AS r
       ON r."id" = x."runId" OR (r."rootId" = x."runId" AND r."parentId" IS NOT NULL)`,
    [json],
  );
  if (jobId !== undefined) await fold(tx, jobId, rows);
  await deleteRuns(
    tx,
    tx.dialect.encodeRows(
      RUN_ID,
      rows.map(({ id }) => ({ runId: id })),
    ),
    options.now,
  );
  return rows;
}

/** Roots at or below `from` whose whole tree may go (I1). */
async function prunableRoots(tx: Transaction, jobId: string | undefined, from: string): Promise<Row[]> {
  const { sql, params } = ofJob("r.", jobId);
  return tx.all(
    `SELECT r."id" FROM "runs" AS r WHERE ${sql} AND r."id" <= ? AND r."parentId" IS NULL AND NOT EXISTS (
       SELECT 1 FROM "runs" AS t WHERE (t."id" = r."id" OR (t."rootId" = r."id" AND t."parentId" IS NOT NULL)) AND (
         ${isOpen("t")}
         OR (t."state" = 'unknown' AND NOT (r."kind" = 'workflow' AND t."parentId" IS NOT NULL)
             AND NOT EXISTS (SELECT 1 FROM "runs" AS a WHERE a."dedupeKey" = t."dedupeKey" AND a."attempt" > t."attempt")
             AND NOT EXISTS (SELECT 1 FROM "resolutions" AS s WHERE s."runId" = t."id"))
         OR EXISTS (SELECT 1 FROM "deliveries" AS d WHERE d."runId" = t."id" AND d."state" IN ('queued','sending'))))
     ORDER BY r."id" LIMIT ?`,
    [...params, from, TREES_PER_TRANSACTION],
  );
}

interface Fold {
  jobId: string;
  day: number;
  from: Instant;
  to: Instant;
  counts: Record<string, number>;
}

/** A slot is counted by its first attempt or its range row (L2). */
async function fold(tx: Transaction, jobId: string, rows: readonly Row[]): Promise<void> {
  const days = new Map<number, Fold>();
  const known = await tx.all(`SELECT "day", "from", "to", "counts" FROM "slotSummaries" WHERE "jobId" = ?`, [
    jobId,
  ]);
  for (const { day, from, to, counts } of known)
    days.set(Number(day), {
      jobId,
      day: Number(day),
      from: Number(from),
      to: Number(to),
      counts: JSON.parse(String(counts)) as Record<string, number>,
    });
  const touched = new Set<Fold>();
  for (const row of rows) {
    if (row.slot === null || row.attempt !== 1 || row.jobId !== jobId) continue;
    const from = Number(row.slot);
    const to = Number(row.slotTo ?? row.slot);
    const day = Math.floor(from / DAY);
    const entry = days.get(day) ?? { jobId, day, from, to, counts: {} };
    entry.from = Math.min(entry.from, from);
    entry.to = Math.max(entry.to, to);
    const state = String(row.state);
    entry.counts[state] = (entry.counts[state] ?? 0) + Number(row.slotCount);
    days.set(day, entry);
    touched.add(entry);
  }
  if (touched.size === 0) return;
  await tx.run(
    `INSERT INTO "slotSummaries" ("jobId", "day", "from", "to", "counts") SELECT x."jobId", x."day", x."from", x."to", x."counts" FROM ${tx.dialect.rows("x", SUMMARY)} WHERE true
     ON CONFLICT ("jobId", "day") DO UPDATE SET "from" = excluded."from", "to" = excluded."to", "counts" = excluded."counts"`,
    [tx.dialect.encodeRows(SUMMARY, [...touched])],
  );
}

async function deleteRuns(tx: Transaction, json: string, now: Instant): Promise<void> {
  const pruned = `(SELECT x."runId" FROM ${tx.dialect.rows("x", RUN_ID)})`;
  await tx.run(
    `INSERT INTO "deliveryTombstones" ("key", "prunedAt") SELECT "key", CAST(? AS BIGINT) FROM "deliveries" WHERE "runId" IN ${pruned} ON CONFLICT DO NOTHING`,
    [now, json],
  );
  for (const table of ["deliveries", "processes", "resolutions", "runEvents", "journal"])
    await tx.run(`DELETE FROM "${table}" WHERE "runId" IN ${pruned}`, [json]);
  await tx.run(`DELETE FROM "budgets" WHERE "rootId" IN ${pruned}`, [json]);
  await tx.run(`DELETE FROM "runs" WHERE "id" IN ${pruned}`, [json]);
}
