// Brings a database to this program's version, at start, under a lock: several processes at once are safe.
//
// I1. A newer database is refused before anything is read or written (`store.newer`).

import { Fault } from "../../kernel/errors.ts";
import type { Connection, EngineName, Statements } from "./connection.ts";
import { DIALECTS } from "./dialect.ts";
import { MIGRATIONS } from "./migrations/index.ts";

/** Serialises migrations of one PostgreSQL database. The number is arbitrary and ours. */
const MIGRATION_LOCK = 7_441_620_441;

/** Runs what is missing. Fast when nothing is. */
export async function migrate(connection: Connection): Promise<void> {
  const { engine } = connection;
  if ((await readVersion(connection, engine)) === MIGRATIONS.length) return;
  await connection.transaction(async (tx) => {
    if (engine === "postgres") await tx.exec(`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`);
    const version = await readVersion(tx, engine);
    for (const migration of MIGRATIONS.slice(version)) {
      for (const statement of migration(DIALECTS[engine])) await tx.exec(statement);
    }
    await writeVersion(tx, engine);
  });
}

async function readVersion(statements: Statements, engine: EngineName): Promise<number> {
  if (!(await hasMeta(statements, engine))) return 0;
  const row = await statements.get(`SELECT "value" FROM "meta" WHERE "key" = 'schemaVersion'`);
  const version = Number(row?.value ?? 0);
  if (version <= MIGRATIONS.length) return version;
  throw new Fault(
    "store.newer",
    `the ledger has version ${version}, this program knows ${MIGRATIONS.length}`,
    {
      hint: "Install the newer nightshift again; an older one must not write to this ledger.",
      details: { version, known: MIGRATIONS.length },
    },
  );
}

async function hasMeta(statements: Statements, engine: EngineName): Promise<boolean> {
  // Not `to_regclass`: a session that found no table before it waited for the lock remembers that (its catalogue cache
  // is not told within a transaction) and would create what another process has created meanwhile.
  const sql =
    engine === "postgres"
      ? `SELECT 1 AS "found" FROM pg_catalog.pg_tables WHERE "schemaname" = ANY (current_schemas(false)) AND "tablename" = 'meta'`
      : `SELECT 1 AS "found" FROM sqlite_master WHERE type = 'table' AND name = 'meta'`;
  return (await statements.get(sql)) !== undefined;
}

async function writeVersion(tx: Statements, engine: EngineName): Promise<void> {
  const { textType } = DIALECTS[engine];
  await tx.exec(
    `CREATE TABLE IF NOT EXISTS "meta" ("key" ${textType} PRIMARY KEY, "value" ${textType} NOT NULL)`,
  );
  await tx.run(
    `INSERT INTO "meta" ("key", "value") VALUES ('schemaVersion', ?) ON CONFLICT ("key") DO UPDATE SET "value" = excluded."value"`,
    [String(MIGRATIONS.length)],
  );
}
