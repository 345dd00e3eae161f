// One pass over a hundred thousand jobs with ten due, and a page of a ledger with a million runs.
//
// Jobs and runs are written by SQL in one go: how they came to be is not what is measured.

import { join } from "node:path";
import { listRuns, openHome } from "../src/index.ts";
import { openSqlite } from "../src/store/sql/sqlite-connection.ts";
import { type Benchmark, median, type Result, type Setup, spread, withFolder } from "./measure.ts";

const JOBS = 100_000;
const DUE = 10;
const RUNS = Number(process.env.BENCH_LEDGER_RUNS ?? 1_000_000);

const NUMBERS = (count: number) =>
  `WITH RECURSIVE numbers("n") AS (SELECT 0 UNION ALL SELECT "n" + 1 FROM numbers WHERE "n" + 1 < ${count})`;

const job = `"job-" || printf('%06d', "n")`.replaceAll('"job-"', "'job-'");
const DOCUMENT = `json_object('id', ${job}, 'schedule', json_object('kind', 'every', 'every', '1h'), 'run', json_object('task', json_object('executor', 'noop')), 'overlap', 'allow', 'effects', 'none', 'deliver', json_array())`;

async function fillJobs(file: string, now: number): Promise<void> {
  const connection = await openSqlite(file, undefined);
  await connection.exec(
    `BEGIN; INSERT INTO "definitions" ("jobId", "version", "digest", "document", "zone", "anchor", "source", "inForceFrom") ${NUMBERS(JOBS)} SELECT ${job}, 1, 'd', ${DOCUMENT}, 'UTC', ${now - 3_600_000}, ${job} || '.yaml', ${now - 3_600_000} FROM numbers;
     INSERT INTO "cursors" ("jobId", "version", "revision", "nextSlot", "dueAt") ${NUMBERS(JOBS)} SELECT ${job}, 1, 1, ${now} + 3600000, ${now} + 3600000 FROM numbers; COMMIT`,
  );
  await connection.close();
}

/** Makes ten more jobs due; the instants lie on their interval. */
async function makeDue(file: string, now: number, round: number): Promise<void> {
  const connection = await openSqlite(file, undefined);
  await connection.run(
    `UPDATE "cursors" SET "nextSlot" = ?, "dueAt" = ? WHERE "jobId" >= ? AND "jobId" < ?`,
    [now, now, ...[round, round + 1].map((one) => `job-${String(one * DUE).padStart(6, "0")}`)],
  );
  await connection.close();
}

async function passes({ repeats, say }: Setup): Promise<Result> {
  say(`${JOBS} jobs …`);
  const times: number[] = [];
  await withFolder(async (folder) => {
    const home = join(folder, "home");
    const context = await openHome({ home, executors: { noop: () => {} } });
    const now = Date.now();
    await fillJobs(context.home.paths.ledgerFile, now);
    for (let round = 0; round <= repeats; round++) {
      await makeDue(context.home.paths.ledgerFile, now, round);
      const began = performance.now();
      const result = await context.ledger.pass({
        ...{ nodeId: "bench", now: now + 1, capacity: 100, liveRuns: 0, leaseMs: 60_000 },
        ...{ decide: context.decide, digest: context.digest, cannotPrepare: () => undefined },
      });
      const ms = performance.now() - began;
      if (result.claimed.length !== DUE)
        throw new Error(`${result.claimed.length} runs were claimed instead of ${DUE}`);
      // The first pass prepares its statements: a node does that once.
      if (round > 0) times.push(ms);
    }
    await context.close();
  });
  const what = `one pass over ${JOBS.toLocaleString("en")} jobs, ${DUE} due`;
  return {
    what,
    value: `${spread(times)} ms`,
    goal: "≤ 30 ms",
    ok: median(times) <= 30,
    note: "decided, inserted, claimed, committed with fsync",
  };
}

async function fillRuns(file: string, now: number): Promise<void> {
  const connection = await openSqlite(file, undefined);
  const run = `printf('01kb%022d', "n")`;
  await connection.exec(
    `BEGIN; INSERT INTO "runs" ("id", "dedupeKey", "attempt", "kind", "jobId", "version", "rootId", "trigger", "state", "effects", "idempotencyKey", "readyAt", "createdAt", "startedAt", "finishedAt", "owner", "outcome")
     ${NUMBERS(RUNS)} SELECT ${run}, 'manual/' || ${run}, 1, 'job', 'job-' || ("n" % 1000), 1, ${run}, 'manual', CASE WHEN "n" % 10 = 0 THEN 'failed' ELSE 'succeeded' END, 'none', ${run}, ${now}, ${now}, ${now}, ${now}, 'n', '{"state":"succeeded","output":"","isSilent":true}' FROM numbers; COMMIT`,
  );
  await connection.close();
}

async function pages({ repeats, say }: Setup): Promise<Result[]> {
  say(`${RUNS} runs …`);
  return withFolder(async (folder) => {
    const home = join(folder, "home");
    await (await openHome({ home })).close();
    const context = await openHome({ home });
    await fillRuns(context.home.paths.ledgerFile, Date.now());
    const middle = `01kb${String(Math.floor(RUNS / 2)).padStart(22, "0")}`;
    const filters = [
      ["newest", {}],
      ["from the middle", { before: middle }],
      ["of one job", { jobId: "job-7" }],
      ["failed ones of one job", { jobId: "job-10", state: ["failed"] as const }],
    ] as const;
    const results: Result[] = [];
    for (const [name, filter] of filters) {
      const times: number[] = [];
      for (let round = 0; round <= repeats; round++) {
        const began = performance.now();
        const runs = await listRuns(context, { ...filter, limit: 50 });
        if (runs.length !== 50) throw new Error(`a page of ${runs.length} rows`);
        if (round > 0) times.push(performance.now() - began);
      }
      const what = `a page of 50 in ${RUNS.toLocaleString("en")} runs, ${name}`;
      results.push({ what, value: `${spread(times)} ms`, goal: "≤ 50 ms", ok: median(times) <= 50 });
    }
    await context.close();
    return results;
  });
}

export const scale: Benchmark = {
  name: "scale",
  run: async (setup) => [await passes(setup), ...(await pages(setup))],
};
