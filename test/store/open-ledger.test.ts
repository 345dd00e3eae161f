// Opening a ledger: what it makes, what it refuses, and several processes at once (L4, L11).

import { execFile } from "node:child_process";
import { mkdir, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Ledger } from "../../src/records/ledger/index.ts";
import { networkFileSystem } from "../../src/store/sql/network-file-system.ts";
import { openLedger } from "../../src/store/sql/open-ledger.ts";
import { openSqlite } from "../../src/store/sql/sqlite-connection.ts";
import { HOST, manualRun, START } from "../contract/ledger/fixtures.ts";
import { sqliteBench } from "../contract/ledger/sqlite-bench.ts";
import { manualClock } from "../support/clock.ts";
import { seededRandom } from "../support/random.ts";
import { tempFolder } from "../support/temp.ts";

const run = promisify(execFile);

async function open(url: string): Promise<Ledger> {
  const ledger = await openLedger({ url, clock: manualClock(START), random: seededRandom(), host: HOST });
  onTestFinished(() => ledger.close());
  return ledger;
}

describe("opening a ledger on SQLite", () => {
  test("makes the folder 0700 and the files 0600, whatever the umask lets through", async () => {
    const folder = join(await tempFolder(), "home");
    const ledger = await open(`sqlite:${join(folder, "ledger.db")}`);
    await ledger.appendEvents([{ runId: undefined, jobId: undefined, at: START, kind: "note", data: {} }]);

    const modes = ["", "ledger.db", "ledger.db-wal", "ledger.db-shm"].map(async (name) =>
      ((await stat(join(folder, name))).mode & 0o777).toString(8),
    );
    expect(await Promise.all(modes)).toEqual(["700", "600", "600", "600"]);
  });

  test("keeps what was committed: WAL, synced in full, foreign keys on", async () => {
    const path = join(await tempFolder(), "ledger.db");
    const connection = await openSqlite(path);
    onTestFinished(() => connection.close());
    const pragmas = ["journal_mode", "synchronous", "foreign_keys", "busy_timeout"];
    const values = await Promise.all(pragmas.map(async (name) => await connection.get(`PRAGMA ${name}`)));
    expect(values.map((row) => Object.values(row!)[0])).toEqual(["wal", 2, 1, 50]);
  });

  test("refuses a newer database with store.newer, and does not touch it", async () => {
    const path = join(await tempFolder(), "ledger.db");
    await open(`sqlite:${path}`);
    const connection = await openSqlite(path);
    await connection.run(`UPDATE "meta" SET "value" = '9999' WHERE "key" = 'schemaVersion'`);
    await connection.close();

    await expect(open(`sqlite:${path}`)).rejects.toMatchObject({
      code: "store.newer",
      details: { version: 9999 },
    });
  });

  test("refuses a file that is no database with store.corrupt, and leaves its bytes alone", async () => {
    const path = join(await tempFolder(), "ledger.db");
    const text = "this is a letter to my mother, not a database\n".repeat(200);
    await writeFile(path, text);
    await expect(open(`sqlite:${path}`)).rejects.toMatchObject({ code: "store.corrupt" });
    expect((await stat(path)).size).toBe(text.length);
  });

  test("a database cut short is store.corrupt, not an empty ledger", async () => {
    const path = join(await tempFolder(), "ledger.db");
    await (await openLedger(optionsFor(path))).close();
    // libsql may leave everything in the write-ahead log when it closes; a cut file with a whole log is no loss.
    const connection = await openSqlite(path);
    await connection.get("PRAGMA wal_checkpoint(TRUNCATE)");
    await connection.close();
    await truncate(path, 8_192);
    const attempt = open(`sqlite:${path}`).then((ledger) => ledger.counts(START));
    await expect(attempt).rejects.toMatchObject({ code: "store.corrupt" });
  });

  test("a folder in the file's place is store.unavailable", async () => {
    const path = join(await tempFolder(), "ledger.db");
    await mkdir(path);
    await expect(open(`sqlite:${path}`)).rejects.toMatchObject({ code: "store.unavailable" });
  });

  test("an address of no known kind is refused with what to write instead", async () => {
    await expect(open("mysql://root@localhost/x")).rejects.toMatchObject({ code: "input.invalid" });
  });

  test("ten openings at once migrate once", async () => {
    const path = join(await tempFolder(), "ledger.db");
    const ledgers = await Promise.all(Array.from({ length: 10 }, () => open(`sqlite:${path}`)));
    expect(await Promise.all(ledgers.map((ledger) => ledger.lastSequence()))).toEqual(Array(10).fill(0));
  });

  test("L11: while another process writes, a call ends as store.busy within the blink it may wait, and writes nothing", async () => {
    const bench = await sqliteBench("libsql");
    const ledger = await bench.open();
    // The same driver: two copies of SQLite in one process do not see each other's locks.
    const other = await openSqlite(await pathOf(ledger), "libsql");
    onTestFinished(() => other.close());
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const writing = other.transaction(() => held);
    await new Promise((resolve) => setImmediate(resolve));

    const began = performance.now();
    const refused = ledger.enqueue([manualRun(bench)]);
    await expect(refused).rejects.toMatchObject({ code: "store.busy", retry: "later" });
    expect(performance.now() - began).toBeLessThan(1_000);
    release();
    await writing;
    expect(await ledger.runs({})).toEqual([]);
    expect(await ledger.enqueue([manualRun(bench)])).toHaveLength(1);
  });

  test("two callers in one process never mix: a transaction that waits keeps the others out", async () => {
    const connection = await openSqlite(join(await tempFolder(), "x.db"));
    onTestFinished(() => connection.close());
    await connection.exec(`CREATE TABLE "t" ("n" INTEGER)`);
    const failing = connection.transaction(async (tx) => {
      await tx.run(`INSERT INTO "t" VALUES (1)`);
      await new Promise((resolve) => setImmediate(resolve));
      throw new Error("undo");
    });
    const other = connection.run(`INSERT INTO "t" VALUES (2)`);
    await expect(failing).rejects.toThrow("undo");
    await other;
    expect(await connection.all(`SELECT "n" FROM "t"`)).toMatchObject([{ n: 2 }]);
  });
});

function optionsFor(path: string) {
  return { url: `sqlite:${path}`, clock: manualClock(START), random: seededRandom(), host: HOST };
}

async function pathOf(ledger: Ledger): Promise<string> {
  const { storeOf } = await import("../../src/store/sql/store.ts");
  const row = await storeOf(ledger).connection.get("PRAGMA database_list");
  return String(row?.file);
}

describe("a network file system under a home", () => {
  const mount = (point: string, type: string, options = "rw") =>
    `36 35 98:0 / ${point} rw,noatime master:1 - ${type} server:/export ${options}`;
  const info = [
    "22 1 8:1 / / rw - ext4 /dev/root rw",
    mount("/home/ann", "nfs4"),
    mount("/home/ann/local\\040disk", "ext4"),
    mount("/mnt/c", "9p", "rw,trans=fd,rfd=8"),
    mount("/mnt/far", "9p", "rw,trans=tcp,port=564"),
    mount("/mnt/box", "fuse.sshfs"),
    mount("/mnt/ntfs", "fuseblk"),
  ].join("\n");

  test.each([
    ["/home/ann/.nightshift", "nfs4"],
    ["/home/ann/local disk/.nightshift", undefined],
    ["/home/annabel/.nightshift", undefined],
    ["/mnt/c/Users/ann", undefined],
    ["/mnt/far/ann", "9p"],
    ["/mnt/box", "fuse.sshfs"],
    ["/mnt/ntfs/x", undefined],
    ["/", undefined],
  ])("L4: under %s it is %s", (folder, expected) => {
    expect(networkFileSystem(info, folder)).toBe(expected);
  });
});

const mayMount = process.platform === "linux" && process.getuid?.() === 0;

describe.skipIf(!mayMount)("a full disk (needs root, for a small tmpfs)", () => {
  test("is store.full; what was committed stays, and the ledger goes on when there is room again", async () => {
    const folder = join(await tempFolder(), "small");
    await mkdir(folder);
    const mounted = await run("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]).then(
      () => true,
      () => false,
    );
    if (!mounted) return;
    const ledger = await openLedger(optionsFor(join(folder, "ledger.db")));
    onTestFinished(async () => {
      await ledger.close();
      // Lazily: libsql lets go of its file when the garbage collector comes by.
      await run("umount", ["-l", folder]);
    });
    const event = {
      runId: undefined,
      jobId: undefined,
      at: START,
      kind: "note",
      data: { text: "x".repeat(50_000) },
    };
    const fill = async () => {
      for (let n = 0; n < 100; n++) await ledger.appendEvents([event]);
    };

    await expect(fill()).rejects.toMatchObject({ code: "store.full", retry: "later" });
    const kept = await ledger.lastSequence();
    expect(kept).toBeGreaterThan(0);
    await run("mount", ["-o", "remount,size=8m", folder]);
    await ledger.appendEvents([event]);
    expect(await ledger.events({ limit: 1_000 })).toHaveLength(kept + 1);
  });
});
