// A PostgreSQL database of its own; its clock is replaced by one that reads a table, so the test drives it by hand.

import pg from "pg";
import { onTestFinished } from "vitest";
import { makeId } from "../../../src/kernel/ids.ts";
import type { Ledger } from "../../../src/records/ledger/index.ts";
import { openLedger } from "../../../src/store/sql/open-ledger.ts";
import { manualClock } from "../../support/clock.ts";
import { postgresDatabase } from "../../support/postgres.ts";
import { seededRandom } from "../../support/random.ts";
import { type Bench, HOST, START } from "./fixtures.ts";

const HAND_CLOCK = `
  CREATE TABLE "testClock" ("now" bigint NOT NULL);
  INSERT INTO "testClock" VALUES (0);
  CREATE OR REPLACE FUNCTION nightshift_now() RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT "now" FROM "testClock" $$`;

/** Every table but the schema's version and the clock: a table that is forgotten here would let tests see each other. */
const EMPTY = `DO $$ DECLARE name text; BEGIN
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename NOT IN ('meta', 'testClock')
    ORDER BY tablename <> 'cursors' -- which refer to definitions
  LOOP EXECUTE format('DELETE FROM %I', name); END LOOP; END $$;`;

let database: Promise<string> | undefined;

/** One database for all tests of this worker: making one costs a second of fsyncs. */
async function makeDatabase(): Promise<string> {
  const url = await postgresDatabase();
  const options = { url, clock: manualClock(START), random: seededRandom(), host: HOST };
  await (await openLedger(options)).close();
  await runScript(url, HAND_CLOCK);
  return url;
}

async function runScript(url: string, script: string): Promise<void> {
  const session = new pg.Client(url);
  await session.connect();
  try {
    await session.query(script);
  } finally {
    await session.end();
  }
}

export async function postgresBench(): Promise<Bench> {
  database ??= makeDatabase();
  const url = await database;
  const clock = manualClock(START);
  const random = seededRandom();
  const opened: Ledger[] = [];
  const session = new pg.Client(url);
  await session.connect();
  await session.query(`${EMPTY} UPDATE "testClock" SET "now" = ${START}`);
  onTestFinished(async () => {
    for (const ledger of opened) await ledger.close();
    await session.end();
  });
  const open: Bench["open"] = async ({ host = HOST } = {}) => {
    const ledger = await openLedger({ url, clock, random, host });
    opened.push(ledger);
    return ledger;
  };
  return {
    open,
    now: clock.now,
    async advance(ms) {
      await clock.advance(ms);
      await session.query(`UPDATE "testClock" SET "now" = "now" + $1`, [ms]);
    },
    sql: async (text) => (await session.query(text)).rows as Record<string, unknown>[],
    id: () => makeId(clock.now(), random),
  };
}
