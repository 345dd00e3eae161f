// A SQLite store in a temp folder, driven by a hand-driven clock.

import { join } from "node:path";
import { onTestFinished } from "vitest";
import { makeId } from "../../../src/kernel/ids.ts";
import type { Ledger } from "../../../src/records/ledger/index.ts";
import { openLedger } from "../../../src/store/sql/open-ledger.ts";
import { openSqlite } from "../../../src/store/sql/sqlite-connection.ts";
import type { SqliteDriverName } from "../../../src/store/sql/sqlite-driver.ts";
import { manualClock } from "../../support/clock.ts";
import { seededRandom } from "../../support/random.ts";
import { tempFolder } from "../../support/temp.ts";
import { type Bench, HOST, START } from "./fixtures.ts";

export async function sqliteBench(driver: SqliteDriverName): Promise<Bench> {
  const folder = await tempFolder();
  const clock = manualClock(START);
  const random = seededRandom();
  const path = join(folder, "ledger.db");
  const opened: Ledger[] = [];
  // Registered after the folder's removal, so it runs before it.
  onTestFinished(async () => {
    for (const ledger of opened) await ledger.close();
  });
  return {
    async open({ host = HOST } = {}) {
      const ledger = await openLedger({ url: `sqlite:${path}`, clock, random, host, driver });
      opened.push(ledger);
      return ledger;
    },
    now: clock.now,
    advance: (ms) => clock.advance(ms),
    async sql(text) {
      const connection = await openSqlite(path, driver);
      try {
        return await connection.all(text);
      } finally {
        await connection.close();
      }
    },
    id: () => makeId(clock.now(), random),
  };
}
