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
  INSERT INTO "testClock" VALUES (${START});
  CREATE OR REPLACE FUNCTION nightshift_now() RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT "now" FROM "testClock" $$`;

export async function postgresBench(): Promise<Bench> {
  const url = await postgresDatabase();
  const clock = manualClock(START);
  const random = seededRandom();
  const opened: Ledger[] = [];
  const session = new pg.Client(url);
  await session.connect();
  onTestFinished(async () => {
    for (const ledger of opened) await ledger.close();
    await session.end();
  });
  const open: Bench["open"] = async ({ host = HOST } = {}) => {
    const ledger = await openLedger({ url, clock, random, host });
    opened.push(ledger);
    return ledger;
  };
  await open();
  await session.query(HAND_CLOCK);
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
