// A node inside your own program. Its work is a function here, so no process is started for it.
//
//   node examples/embedded/main.mjs
//
// The home is a folder below the system's temporary one; set NIGHTSHIFT_HOME to keep it. The ledger in it survives a
// crash of this program like any other: what was due is on record, once.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addJob, listRuns, openHome, startNode } from "nightshift";

const home = process.env.NIGHTSHIFT_HOME ?? mkdtempSync(join(tmpdir(), "nightshift-embedded-"));
let count = 0;
let finished = () => {};
const enough = new Promise((resolve) => {
  finished = resolve;
});

const context = await openHome({
  home,
  executors: {
    /** `params` come from the job, `ctx.signal` aborts when the run is cancelled or its time is up. */
    async count({ params, ctx }) {
      count += params.step;
      ctx.signal.throwIfAborted();
      if (count >= 3 * params.step) finished();
      return `counted to ${count}`;
    },
  },
});
const node = await startNode(context);
await addJob(context, {
  id: "counter",
  schedule: "every 1s",
  run: { task: { executor: "count", params: { step: 2 } } },
  effects: "idempotent",
  deliver: [],
});

await enough;
await node.stop({ graceMs: 5_000 });
for (const run of (await listRuns(context, { job: "counter" })).reverse())
  console.log(`${run.slot} ${run.state}: ${run.outcome?.output} (${run.latenessMs} ms late)`);
await context.close();
