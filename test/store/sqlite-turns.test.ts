// Transactions of one process that meet share a commit, and fail apart.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { PassResult } from "../../src/records/ledger/slots.ts";
import type { Connection } from "../../src/store/sql/connection.ts";
import { openSqlite } from "../../src/store/sql/sqlite-connection.ts";
import { define, manualRun, passRequest } from "../contract/ledger/fixtures.ts";
import { sqliteBench } from "../contract/ledger/sqlite-bench.ts";
import { tempFolder } from "../support/temp.ts";

const hasNodeSqlite = Number(process.versions.node.split(".")[0]) >= 22;

async function opened(work: (ours: Connection, other: Connection, path: string) => Promise<void>) {
  const path = join(await tempFolder(), "ledger.db");
  const ours = await openSqlite(path);
  const other = await openSqlite(path);
  try {
    await ours.exec(`CREATE TABLE "t" ("x" INTEGER)`);
    await work(ours, other, path);
  } finally {
    await ours.close();
    await other.close();
  }
}

/** Commits since the file was opened. @source SQLite, "WAL-mode File Format" §2: iChange in the header of the index */
const commitsOf = (path: string) => readFileSync(`${path}-shm`).readUInt32LE(8);

const rows = async (connection: Connection) =>
  (await connection.all(`SELECT "x" FROM "t" ORDER BY rowid`)).map(({ x }) => x);

const insert = (x: number, connection: Connection, invite?: () => void) =>
  connection.transaction((tx) => tx.run(`INSERT INTO "t" VALUES (?)`, [x]), invite);

test("L11: transactions that meet are one commit, in their order, and none resolves before it is durable", async () => {
  await opened(async (ours, other, path) => {
    const before = commitsOf(path);
    const all = [1, 2, 3].map((x) => insert(x, ours));
    await all[0];
    expect(await rows(other)).toEqual([1, 2, 3]);
    await Promise.all(all);
    expect(commitsOf(path) - before).toBe(1);
  });
});

test("L11: many that meet do not hold the file for long: a commit carries a few", async () => {
  await opened(async (ours, other, path) => {
    const before = commitsOf(path);
    await Promise.all(Array.from({ length: 12 }, (_, x) => insert(x, ours)));
    expect(commitsOf(path) - before).toBe(3);
    expect(await rows(other)).toHaveLength(12);
  });
});

test("one of those that meet fails: it alone is undone and told, the others are committed", async () => {
  await opened(async (ours, other) => {
    const runs = { failing: 0 };
    const first = insert(1, ours);
    const failing = ours.transaction(async (tx) => {
      runs.failing += 1;
      await tx.run(`INSERT INTO "t" VALUES (2)`);
      throw new Error("mine");
    });
    const settled = await Promise.allSettled([first, failing, insert(3, ours)]);

    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(settled[1]).toMatchObject({ reason: { message: "mine" } });
    expect(await rows(other)).toEqual([1, 3]);
    expect(runs.failing, "once with the others, once by itself").toBe(2);
  });
});

test("the file is locked by another process: every one that waits is told by itself, and later ones go through", async () => {
  await opened(async (ours, other) => {
    await other.exec("BEGIN IMMEDIATE");
    const settled = await Promise.allSettled([insert(1, ours), insert(2, ours)]);
    expect(settled.map((one) => one.status === "rejected" && one.reason.code)).toEqual([
      "store.busy",
      "store.busy",
    ]);
    await other.exec("ROLLBACK");

    await insert(3, ours);
    expect(await rows(other)).toEqual([3]);
  });
});

test("a read that waits beside transactions never sees what is undone", async () => {
  await opened(async (ours) => {
    const failing = ours.transaction(async (tx) => {
      await tx.run(`INSERT INTO "t" VALUES (1)`);
      throw new Error("mine");
    });
    const read = rows(ours);
    const [answer] = await Promise.all([read, insert(2, ours), failing.catch(() => {})]);
    expect([[], [2]]).toContainEqual(answer);
  });
});

test("whoever is invited before a commit joins it; without an invitation the next one commits by itself", async () => {
  await opened(async (ours, _, path) => {
    let second: Promise<number> | undefined;
    const before = commitsOf(path);
    await insert(1, ours, () => {
      second = Promise.resolve().then(() => insert(2, ours));
    });
    await second;
    expect(commitsOf(path) - before).toBe(1);

    await insert(3, ours);
    await insert(4, ours);
    expect(commitsOf(path) - before).toBe(3);
  });
});

test("L3: a node of the same process claims and starts a run with the very commit that queues it", async () => {
  const bench = await sqliteBench(hasNodeSqlite ? "node:sqlite" : "libsql");
  const ledger = await bench.open();
  await define(ledger, bench, "job-a", { slot: undefined });
  const [{ file } = { file: "" }] = await bench.sql("PRAGMA database_list");
  const before = commitsOf(String(file));
  let passed: Promise<PassResult> | undefined;
  const unsubscribe = ledger.onChange(() => {
    passed = Promise.resolve().then(() => ledger.pass(passRequest(bench, { startsAtOnce: () => true })));
  });

  const [run] = await ledger.enqueue([manualRun(bench, { jobId: "job-a", version: 1 })]);
  unsubscribe();

  expect((await passed)?.claimed).toMatchObject([{ run: { id: run?.id, state: "running" } }]);
  expect(commitsOf(String(file)) - before).toBe(1);
});
