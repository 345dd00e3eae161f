// Following events on PostgreSQL while other transactions are open: here, and in another database of the server.

import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { START } from "../contract/ledger/fixtures.ts";
import { postgresBench } from "../contract/ledger/postgres-bench.ts";
import { hasPostgres, postgresDatabase } from "../support/postgres.ts";

const note = { runId: undefined, jobId: undefined, at: START, kind: "note", data: {} };

describe.skipIf(!hasPostgres)("events on PostgreSQL", () => {
  test("a smaller sequence that is not committed yet holds later ones back, and comes before them", async () => {
    const bench = await postgresBench();
    const ledger = await bench.open();
    await bench.sql("BEGIN");
    await bench.sql("SELECT pg_current_xact_id()");
    await ledger.appendEvents([{ ...note, kind: "later" }]);
    expect(await ledger.events({})).toEqual([]);
    expect(await ledger.lastSequence()).toBe(0);

    await bench.sql(
      `INSERT INTO "runEvents" ("sequence", "at", "kind") SELECT pg_current_xact_id()::text::bigint * 32768, ${START}, 'earlier'`,
    );
    await bench.sql("COMMIT");
    expect((await ledger.events({})).map(({ kind }) => kind)).toEqual(["earlier", "later"]);
  });

  test("a long transaction in another database of the server holds nobody back", async () => {
    const bench = await postgresBench();
    const ledger = await bench.open();
    const stranger = new pg.Client(await postgresDatabase());
    await stranger.connect();
    onTestFinished(() => stranger.end());
    await stranger.query("BEGIN");
    await stranger.query("SELECT pg_current_xact_id()");

    await ledger.appendEvents([note]);
    expect(await ledger.events({})).toHaveLength(1);
  });
});
