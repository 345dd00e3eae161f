// Child process: queues no-op runs in a fresh home, starts a node, and tells how long it took to close all of them.
//
// node noop-node.mjs HOME RUNS [STORE]. Prints {perSecond, cpuMs}.

import { addJob, openHome, startNode } from "../src/index.ts";
import { makeId } from "../src/kernel/ids.ts";
import { until } from "./measure.ts";

const [home = "", count = "", store] = process.argv.slice(2);
const RUNS = Number(count);
let begun = 0;

const context = await openHome({
  home,
  ...(store && { store }),
  executors: {
    noop: () => {
      begun += 1;
    },
  },
});
await addJob(context, { id: "noop", run: { task: { executor: "noop" } }, overlap: "allow", effects: "none" });

/** As `queueRun` does, a thousand in a transaction: what a producer that has a thousand would send to any queue at once. */
async function enqueue(amount: number): Promise<void> {
  const now = Date.now();
  const version = (await context.ledger.job("noop"))?.definition.version;
  const runs = Array.from({ length: amount }, () => {
    const id = makeId(now, context.random);
    return {
      ...{
        id,
        rootId: id,
        dedupeKey: `manual/${id}`,
        idempotencyKey: id,
        attempt: 1,
        jobId: "noop",
        version,
      },
      ...({ kind: "job", trigger: "manual", effects: "none", isExclusive: false } as const),
      ...{ parentId: undefined, slot: undefined, readyAt: now, createdAt: now },
    };
  });
  await context.ledger.enqueue(runs);
}

for (let done = 0; done < RUNS; done += 1_000) await enqueue(Math.min(1_000, RUNS - done));

const cpu = process.cpuUsage();
const began = performance.now();
const node = await startNode(context, { maxParallelRuns: Number(process.env.WIDTH ?? 1_000) });
await until("starting every run", () => begun === RUNS);
const isOpen = { state: ["queued", "claimed", "running"] as const, limit: 1 };
await until("closing every run", async () => (await context.ledger.runs(isOpen)).length === 0);
const ms = performance.now() - began;
const { user, system } = process.cpuUsage(cpu);
await node.stop({ graceMs: 1_000 });
await context.close();
console.log(JSON.stringify({ perSecond: RUNS / (ms / 1_000), cpuMs: (user + system) / 1_000 }));
