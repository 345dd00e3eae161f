// A PostgreSQL whose clock the test drives: `nightshift_now` reads a table.

import pg from "pg";
import { systemClock, systemRandom } from "../../../src/app/system.ts";
import { readHost } from "../../../src/execute/host.ts";
import { openLedger } from "../../../src/store/sql/open-ledger.ts";
import { postgresDatabase } from "../../support/postgres.ts";

const HAND_CLOCK = `
  CREATE TABLE "testClock" ("now" bigint NOT NULL);
  INSERT INTO "testClock" VALUES (0);
  CREATE OR REPLACE FUNCTION nightshift_now() RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT "now" FROM "testClock" $$`;

/** Children before parents. */
const TABLES = ["cursors", "definitions", "suspensions", "runs", "slotSummaries", "runEvents", "resolutions"]
  .concat(["deliveries", "deliveryTombstones", "processes", "nodes", "documents", "changeClock"])
  .map((table) => `DELETE FROM "${table}";`)
  .join("\n");

/** A database with our tables; `empty` clears them. */
export async function handDrivenPostgres(): Promise<{ url: string; empty(): Promise<void> }> {
  const url = await postgresDatabase();
  const ledger = await openLedger({ url, clock: systemClock, random: systemRandom, host: readHost() });
  await ledger.close();
  await onSession(url, HAND_CLOCK);
  return { url, empty: () => onSession(url, TABLES) };
}

async function onSession(url: string, script: string): Promise<void> {
  const session = new pg.Client(url);
  await session.connect();
  try {
    await session.query(script);
  } finally {
    await session.end();
  }
}
