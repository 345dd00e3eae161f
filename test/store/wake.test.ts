// Waking other processes (L11) and documents in a table.

import { createHash } from "node:crypto";
import { readdir, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Ledger } from "../../src/records/ledger/index.ts";
import { openDocumentTable } from "../../src/store/sql/documents.ts";
import { openLedger } from "../../src/store/sql/open-ledger.ts";
import { type Bench, HOST, manualRun, START } from "../contract/ledger/fixtures.ts";
import { postgresBench } from "../contract/ledger/postgres-bench.ts";
import { sqliteBench } from "../contract/ledger/sqlite-bench.ts";
import { manualClock } from "../support/clock.ts";
import { hasPostgres } from "../support/postgres.ts";
import { seededRandom } from "../support/random.ts";
import { tempFolder } from "../support/temp.ts";

/** Resolves at the ledger's next sign of a change. */
function nextChange(ledger: Ledger): Promise<void> {
  return new Promise((resolve) => {
    const stop = ledger.onChange(() => {
      stop();
      resolve();
    });
  });
}

async function opener(runFolder?: string) {
  const folder = await tempFolder();
  const clock = manualClock(START);
  let seed = 1;
  return async () => {
    const ledger = await openLedger({
      ...{ url: `sqlite:${join(folder, "ledger.db")}`, clock, host: HOST, random: seededRandom(seed++) },
      ...(runFolder === undefined ? {} : { runFolder }),
    });
    onTestFinished(() => ledger.close());
    return ledger;
  };
}

/** Until the socket is there: listening begins with the first listener and is not awaited by it. */
async function whenListening(folder: string, count: number): Promise<void> {
  for (;;) {
    const names = await readdir(folder).catch(() => []);
    if (names.filter((name) => name.endsWith(".sock")).length >= count) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const run = () => manualRun({ now: () => START, id: () => `id-${Math.random()}` } as unknown as Bench);

describe("L11: waking on SQLite", () => {
  test("through a socket: an enqueue in one process wakes the other, and its own listeners just once", async () => {
    const folder = join(await tempFolder(), "run");
    const open = await opener(folder);
    const [a, b] = [await open(), await open()];
    let own = 0;
    a.onChange(() => own++);
    const woken = nextChange(b);
    await whenListening(folder, 2);

    await a.enqueue([run()]);
    await woken;
    expect(own).toBe(1);
  });

  test("without a folder, through the database's own counter", async () => {
    const open = await opener();
    const [a, b] = [await open(), await open()];
    const woken = nextChange(b);
    await b.lastSequence();
    await a.enqueue([run()]);
    await woken;
  });

  test("with a folder whose path is too long for a socket, through the counter too", async () => {
    const open = await opener(join(await tempFolder(), "x".repeat(120)));
    const [a, b] = [await open(), await open()];
    const woken = nextChange(b);
    await b.lastSequence();
    await a.enqueue([run()]);
    await woken;
  });

  test("a socket that a killed process left behind is removed by whoever meets it; a closed ledger leaves none", async () => {
    const folder = join(await tempFolder(), "run");
    const open = await opener(folder);
    const [a, b] = [await open(), await open()];
    b.onChange(() => {});
    await whenListening(folder, 1);
    const dead = createServer();
    await new Promise<void>((resolve) => dead.listen(join(folder, "dead.sock"), resolve));
    // Closing would remove the file; a kill would not. A plain file in its place refuses connections as well.
    await new Promise<void>((resolve) => dead.close(() => resolve()));
    await writeFile(join(folder, "dead.sock"), "");

    await a.wakeOthers();
    await expect.poll(() => readdir(folder)).not.toContain("dead.sock");
    await b.close();
    expect(await readdir(folder)).toEqual([]);
  });
});

describe.skipIf(!hasPostgres)("L11: waking on PostgreSQL", () => {
  test("through LISTEN and NOTIFY; after the session was cut it listens again and looks", async () => {
    const bench = await postgresBench();
    const [a, b] = [await bench.open(), await bench.open()];
    const listening = `SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()`;
    const woken = nextChange(b);
    await expect.poll(async () => (await bench.sql(listening)).length).toBe(1);
    await a.enqueue([manualRun(bench)]);
    await woken;

    const again = nextChange(b);
    await bench.sql(`SELECT pg_terminate_backend(pid) FROM (${listening}) AS x`);
    await again;
    const third = nextChange(b);
    await a.wakeOthers();
    await third;
  });

  test("a node goes on after the server cut all its sessions: the call in flight is told, the next one works", async () => {
    const bench = await postgresBench();
    const ledger = await bench.open();
    await ledger.enqueue([manualRun(bench)]);
    await bench.sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'nightshift' AND datname = current_database()`,
    );
    await expect
      .poll(() =>
        ledger.runs({}).then(
          (runs) => runs.length,
          (error: { code: string }) => error.code,
        ),
      )
      .toBe(1);
  });
});

const engines: [string, () => Promise<Bench>][] = [["SQLite", () => sqliteBench("libsql")]];
if (hasPostgres) engines.push(["PostgreSQL", postgresBench]);

describe.each(engines)("documents in a table on %s", (_, openBench) => {
  const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

  test("D3: written when the digest is the expected one; a lost compare changes nothing", async () => {
    const source = openDocumentTable(await (await openBench()).open());
    const at = source.sourceFor("disk-watch");
    const first = "id: disk-watch\n";

    expect(await source.write(at, first, undefined)).toEqual({ kind: "written", digest: sha256(first) });
    expect(await source.write(at, "other", undefined)).toEqual({
      kind: "conflict",
      actualDigest: sha256(first),
    });
    expect(await source.write(at, "other", "stale")).toEqual({
      kind: "conflict",
      actualDigest: sha256(first),
    });
    expect(await source.write(at, "second", sha256(first))).toMatchObject({ kind: "written" });
    expect(await source.list()).toEqual({
      isReadable: true,
      entries: [{ source: at, defaultId: "disk-watch", digest: sha256("second"), text: "second" }],
      unreadable: [],
      settlesAt: undefined,
    });
  });

  test("D3: removed under its digest, its text kept aside, and its place free for a new one", async () => {
    const bench = await openBench();
    const source = openDocumentTable(await bench.open());
    const at = source.sourceFor("a");
    await source.write(at, "text", undefined);

    expect(await source.remove(at, "stale")).toEqual({ kind: "conflict" });
    const removed = await source.remove(at, sha256("text"));
    expect(removed).toMatchObject({ kind: "removed" });
    expect(await source.read(at)).toBeUndefined();
    const kept = await bench.sql(`SELECT "text" FROM "documents" WHERE "removedAt" IS NOT NULL`);
    expect(kept).toMatchObject([{ text: "text" }]);
    expect(await source.write(at, "new", undefined)).toMatchObject({ kind: "written" });
  });

  test("two writers of one document: one wins, the other is told", async () => {
    const bench = await openBench();
    const [a, b] = [openDocumentTable(await bench.open()), openDocumentTable(await bench.open())];
    await a.write("table/x", "1", undefined);
    const answers = await Promise.allSettled([
      a.write("table/x", "2", sha256("1")),
      b.write("table/x", "3", sha256("1")),
    ]);
    const kinds = answers.map((answer) => (answer.status === "fulfilled" ? answer.value.kind : "busy"));
    expect(kinds.filter((kind) => kind === "written")).toHaveLength(1);
  });
});
