// The ledger's events: one growing sequence that a reader can follow without ever missing a line.
//
// I1. SQLite has one writer, so the order of sequences is the order of commits.
// I2. On PostgreSQL a sequence is the transaction's id × EVENTS_PER_TRANSACTION + n. A reader stops before the oldest
//     transaction still under way, so no smaller sequence can appear behind what it has seen.

import type { NewRunEvent, RunEvent } from "../../records/run.ts";
import type { Columns } from "./columns.ts";
import type { Connection, Row, Statements } from "./connection.ts";
import type { Dialect } from "./dialect.ts";

/** What reading events needs of a store. */
interface EventStore {
  readonly connection: Connection;
  readonly dialect: Dialect;
}

/** 2^15: leaves 2^38 transactions below 2^53, nine years at a thousand a second. */
const EVENTS_PER_TRANSACTION = 32_768;
const EVENT: Columns = { n: "int", runId: "text", jobId: "text", at: "int", kind: "text", data: "json" };
/** Added to transaction ids, raised when a ledger moves to a younger server (open-ledger.ts). */
const OFFSET = `COALESCE((SELECT "value"::bigint FROM "meta" WHERE "key" = 'eventOffset'), 0)`;
/**
 * The oldest transaction under way that may write here; those of the server's other databases, found by the lock that
 * each holds on its own id, cannot, and must not hold our readers up for an hour.
 */
const OLDEST_UNFINISHED = `(SELECT COALESCE(min(u."xid"::text::bigint), pg_snapshot_xmax(pg_current_snapshot())::text::bigint)
  FROM pg_snapshot_xip(pg_current_snapshot()) AS u("xid") WHERE NOT EXISTS (
    SELECT 1 FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid
    WHERE l.locktype = 'transactionid' AND l.granted AND l.mode = 'ExclusiveLock'
      AND l.transactionid::text::bigint = (u."xid"::text::bigint & 4294967295)
      AND a.datid <> (SELECT oid FROM pg_database WHERE datname = current_database())))`;
const DEFAULT_LIMIT = 1_000;

/** Writes events in order, last in their transaction. */
export async function appendEvents(
  tx: Statements & { dialect: Dialect },
  events: readonly NewRunEvent[],
): Promise<void> {
  if (events.length === 0) return;
  await tx.run(insertEvents(tx.dialect), [encodeEvents(tx.dialect, events)]);
}

/** SQL: inserts one parameter of `encodeEvents`, alias `x`. */
export function insertEvents(dialect: Dialect): string {
  const source = dialect.rows("x", EVENT);
  const values = `x."runId", x."jobId", x."at", x."kind", x."data"`;
  const columns = `"runId", "jobId", "at", "kind", "data"`;
  return dialect.engine === "sqlite"
    ? `INSERT INTO "runEvents" (${columns}) SELECT ${values} FROM ${source}`
    : `INSERT INTO "runEvents" ("sequence", ${columns}) SELECT (pg_current_xact_id()::text::bigint + ${OFFSET}) * ${EVENTS_PER_TRANSACTION} + x."n", ${values} FROM ${source}`;
}

export function encodeEvents(dialect: Dialect, events: readonly NewRunEvent[]): string {
  const kept = events.slice(0, EVENTS_PER_TRANSACTION);
  const rows = kept.map((event, n) => ({ ...event, n, data: hasKeys(event.data) ? event.data : undefined }));
  return dialect.encodeRows(EVENT, rows);
}

function hasKeys(data: Record<string, unknown>): boolean {
  for (const _ in data) return true;
  return false;
}

/** SQL: what a reader may see. Needs no parameter. */
function visible(dialect: Dialect): string {
  return dialect.engine === "sqlite"
    ? "1 = 1"
    : `"sequence" < (${OLDEST_UNFINISHED} + ${OFFSET}) * ${EVENTS_PER_TRANSACTION}`;
}

export async function readEvents(
  store: EventStore,
  filter: { after?: number; runId?: string; jobId?: string; limit?: number },
): Promise<RunEvent[]> {
  const where = [visible(store.dialect), `"sequence" > ?`];
  const params: (string | number)[] = [filter.after ?? 0];
  if (filter.runId !== undefined) {
    where.push(`"runId" = ?`);
    params.push(filter.runId);
  }
  if (filter.jobId !== undefined) {
    where.push(`"jobId" = ?`);
    params.push(filter.jobId);
  }
  const rows = await store.connection.all(
    `SELECT "sequence", "runId", "jobId", "at", "kind", "data" FROM "runEvents" WHERE ${where.join(" AND ")} ORDER BY "sequence" LIMIT ?`,
    [...params, filter.limit ?? DEFAULT_LIMIT],
  );
  return rows.map(decodeEvent);
}

function decodeEvent(row: Row): RunEvent {
  return {
    sequence: Number(row.sequence),
    runId: row.runId === null ? undefined : String(row.runId),
    jobId: row.jobId === null ? undefined : String(row.jobId),
    at: Number(row.at),
    kind: String(row.kind),
    data: row.data === null ? {} : (JSON.parse(String(row.data)) as Record<string, unknown>),
  };
}

export async function lastSequence(store: EventStore): Promise<number> {
  const row = await store.connection.get(
    `SELECT "sequence" FROM "runEvents" WHERE ${visible(store.dialect)} ORDER BY "sequence" DESC LIMIT 1`,
  );
  return Number(row?.sequence ?? 0);
}

/** Keeps sequences growing when a dump was restored into a server whose transaction ids are lower. */
export async function alignEventOffset(store: EventStore): Promise<void> {
  if (store.dialect.engine === "sqlite") return;
  await store.connection.run(
    `INSERT INTO "meta" ("key", "value")
     SELECT 'eventOffset', (m."top" / ${EVENTS_PER_TRANSACTION} + 1 - pg_current_xact_id()::text::bigint)::text
     FROM (SELECT max("sequence") AS "top" FROM "runEvents") AS m
     WHERE m."top" / ${EVENTS_PER_TRANSACTION} > pg_snapshot_xmax(pg_current_snapshot())::text::bigint + ${OFFSET}
     ON CONFLICT ("key") DO UPDATE SET "value" = excluded."value"`,
  );
}
