// A write that met another process's lock must not hold its session to an old snapshot (L11).

import { join } from "node:path";
import { expect, test } from "vitest";
import { openSqlite } from "../../src/store/sql/sqlite-connection.ts";
import { tempFolder } from "../support/temp.ts";

test("L11: after a single write was refused as busy, the next transaction of that session goes through", async () => {
  const path = join(await tempFolder(), "ledger.db");
  const other = await openSqlite(path);
  const ours = await openSqlite(path);
  await other.exec(`CREATE TABLE "t" ("x" INTEGER); INSERT INTO "t" VALUES (0)`);
  try {
    await other.exec("BEGIN IMMEDIATE");
    await other.exec(`INSERT INTO "t" VALUES (1)`);
    await expect(ours.run(`UPDATE "t" SET "x" = 5`)).rejects.toMatchObject({ code: "store.busy" });
    await ours.all(`SELECT * FROM "t"`);
    await other.exec("COMMIT");

    for (let turn = 0; turn < 3; turn++) {
      await ours.transaction((tx) => tx.run(`INSERT INTO "t" VALUES (?)`, [turn + 2]));
      await ours.all(`SELECT * FROM "t"`);
      await other.run(`INSERT INTO "t" VALUES (9)`);
    }
    expect(await ours.all(`SELECT "x" FROM "t" WHERE "x" BETWEEN 2 AND 4`)).toHaveLength(3);
  } finally {
    await ours.close();
    await other.close();
  }
});
