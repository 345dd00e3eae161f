// How executors did, and how large each table is.

import type { Instant } from "../../kernel/time.ts";
import type { ExecutorSum, MetricsLedger, TableSize } from "../../records/ledger/metrics.ts";
import { reader } from "./reading.ts";
import type { Store } from "./store.ts";

/** The port's part over a store. */
export function metricsPart(store: Store): MetricsLedger {
  return {
    executorSums: (filter) => executorSums(store, filter),
    storeSizes: () => (store.dialect.engine === "sqlite" ? sqliteSizes(store) : postgresSizes(store)),
  };
}

async function executorSums(store: Store, { since }: { since: Instant }): Promise<readonly ExecutorSum[]> {
  const cast = store.dialect.engine === "postgres" ? "::json" : "";
  const rows = await reader(store).all(
    `SELECT a."executor", a."version", a."state", count(*) AS "attempts", sum(a."tookMs") AS "totalMs", max(a."tookMs") AS "longestMs"
     FROM (SELECT r."admission"${cast}->>'executor' AS "executor", r."admission"${cast}->>'version' AS "version", r."state",
             coalesce(r."finishedAt" - r."startedAt", 0) AS "tookMs"
           FROM "runs" AS r WHERE r."queue" IS NOT NULL AND r."finishedAt" >= ?) AS a
     WHERE a."executor" IS NOT NULL GROUP BY a."executor", a."version", a."state" ORDER BY a."executor", a."version", a."state"`,
    [since],
  );
  return rows.map((row) => ({
    executor: String(row.executor),
    version: row.version === null ? undefined : String(row.version),
    state: String(row.state),
    attempts: Number(row.attempts),
    totalMs: Number(row.totalMs),
    longestMs: Number(row.longestMs),
  }));
}

async function sqliteSizes(store: Store): ReturnType<MetricsLedger["storeSizes"]> {
  const { connection } = store;
  const names = await connection.all(
    `SELECT "name" FROM sqlite_master WHERE "type" = 'table' AND "name" NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY "name"`,
  );
  // A build of SQLite without that table cannot say.
  const sizes = await connection
    .all(
      `SELECT m."tbl_name" AS "table", sum(s."pgsize") AS "bytes" FROM dbstat AS s JOIN sqlite_master AS m ON m."name" = s."name" GROUP BY m."tbl_name"`,
    )
    .catch(() => undefined);
  const bytesOf = sizes && new Map(sizes.map((row) => [String(row.table), Number(row.bytes)]));
  const pages = await connection.get(
    `SELECT c."page_count" * s."page_size" AS "bytes" FROM pragma_page_count AS c, pragma_page_size AS s`,
  );
  const tables = names.map(({ name }) => ({ table: String(name), bytes: bytesOf?.get(String(name)) }));
  return { totalBytes: Number(pages?.bytes ?? 0), tables: await withRows(store, tables) };
}

async function postgresSizes(store: Store): ReturnType<MetricsLedger["storeSizes"]> {
  const rows = await store.connection.all(
    `SELECT c.relname AS "table", pg_total_relation_size(c.oid) AS "bytes" FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
     WHERE c.relkind = 'r' AND n.nspname = current_schema() ORDER BY c.relname`,
  );
  const tables = rows.map((row) => ({ table: String(row.table), bytes: Number(row.bytes) }));
  return {
    totalBytes: tables.reduce((sum, { bytes }) => sum + bytes, 0),
    tables: await withRows(store, tables),
  };
}

async function withRows(store: Store, tables: readonly Omit<TableSize, "rows">[]): Promise<TableSize[]> {
  const counted: TableSize[] = [];
  for (const one of tables) {
    const row = await store.connection.get(
      `SELECT count(*) AS "rows" FROM "${one.table.replaceAll('"', '""')}"`,
    );
    counted.push({ ...one, rows: Number(row?.rows ?? 0) });
  }
  return counted;
}
