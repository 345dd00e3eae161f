// Child process: the same no-op runs through graphile-worker with its local queue. node graphile.mjs URL RUNS WIDTH

import { createRequire } from "node:module";

const require = createRequire(new URL("../../peers/package.json", import.meta.url));
const { run, runMigrations, makeWorkerUtils, Logger } = require("graphile-worker");
const { Pool } = require("pg");
const [url, count, width] = process.argv.slice(2);
const runs = Number(count);
const logger = new Logger(() => () => {});
const pgPool = new Pool({ connectionString: url, max: 12 });

await runMigrations({ pgPool, logger });
const utilities = await makeWorkerUtils({ pgPool, logger });
// Its own SQL for many jobs at once; version 0.16 has no method for it.
for (let done = 0; done < runs; done += 1_000) {
  await pgPool.query(
    'SELECT graphile_worker.add_jobs(ARRAY(SELECT json_populate_record(NULL::graphile_worker.job_spec, \'{"identifier":"noop","payload":{}}\') FROM generate_series(1, $1)))',
    [Math.min(1_000, runs - done)],
  );
}
await utilities.release();
const cpu = process.cpuUsage();
const began = performance.now();
let ended = 0;
let resolve;
const all = new Promise((done) => {
  resolve = done;
});
const runner = await run({
  pgPool,
  logger,
  noHandleSignals: true,
  concurrency: Number(width),
  taskList: {
    noop: () => {
      ended += 1;
      if (ended === runs) resolve();
    },
  },
  preset: {
    worker: {
      localQueue: { size: 500 },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
      concurrentJobs: Number(width),
    },
  },
});
await all;
// Batched completions reach the database a moment later: the jobs' rows are gone only then.
for (;;) {
  const { rows } = await pgPool.query("SELECT count(*)::int AS n FROM graphile_worker._private_jobs");
  if (rows[0].n === 0) break;
}
const ms = performance.now() - began;
const { user, system } = process.cpuUsage(cpu);
await runner.stop();
await pgPool.end();
console.log(JSON.stringify({ perSecond: runs / (ms / 1_000), cpuMs: (user + system) / 1_000 }));
