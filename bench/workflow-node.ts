// Child process: runs a chain of ten tasks again and again in a fresh home, and tells how long each run took.
//
// node workflow-node.mjs HOME RUNS inProcess|shell. Prints {p50Ms, p99Ms, commits}: `commits` = write transactions of a
// run, counted at the ledger's port; each is one fsync at most.

import { defineExecutor, openHome, startNode, submitWorkflow } from "../src/index.ts";
import { quantile } from "./measure.ts";

const [home = "", count = "", kind = "inProcess"] = process.argv.slice(2);
const RUNS = Number(count);
const TASKS = 10;

const noop = defineExecutor({ name: "noop", effects: "none", run: () => null });
const context = await openHome({ home, executors: { noop } });
const tasks = Array.from({ length: TASKS }, (_, index) => ({
  id: `t${index}`,
  ...(kind === "shell" ? { shell: "true", effects: "idempotent" } : { executor: "noop" }),
  ...(index > 0 && { dependsOn: [`t${index - 1}`] }),
}));
// Silent, so that nothing is delivered.
const workflow = { name: "chain", tasks, outputs: { message: "" } };

let commits = 0;
const { ledger } = context;
for (const name of ["enqueue", "recordProgress", "closeRuns", "startRuns", "pass"] as const) {
  const call = ledger[name].bind(ledger) as (...args: never[]) => Promise<unknown>;
  const counted = async (...args: never[]) => {
    const answer = await call(...args);
    const hasWritten = name !== "pass" || (answer as { claimed: unknown[] }).claimed.length > 0;
    if (hasWritten) commits += 1;
    return answer;
  };
  Object.assign(ledger, { [name]: counted });
}

const node = await startNode(context);
const took: number[] = [];
const counts: number[] = [];
for (let run = 0; run < RUNS; run += 1) {
  commits = 0;
  const began = performance.now();
  const { id } = await submitWorkflow(context, workflow);
  for (;;) {
    const row = await ledger.run(id);
    if (row && "state" in row && row.finishedAt !== undefined) break;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  took.push(performance.now() - began);
  counts.push(commits);
}
await node.stop({ graceMs: 1_000 });
await context.close();
// The first runs load what the others share.
const [warm, warmCounts] = [took.slice(RUNS / 10), counts.slice(RUNS / 10)];
const result = {
  p50Ms: quantile(warm, 0.5),
  p99Ms: quantile(warm, 0.99),
  commits: quantile(warmCounts, 0.5),
};
console.log(JSON.stringify(result));
