// Child process: queued tasks and a large graph in a fresh home, timed until their last end is stored.
//
// node queue-node.mjs HOME tasks COUNT | graph COUNT | images COUNT ROUNDS. Prints one JSON object: `tasks` {ms, queuedMs,
// inversions}, `graph` {ms}, `images` {ms: a round each}.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defineExecutor, openHome, showRun, startNode, submitTask, submitWorkflow } from "../src/index.ts";
import { BLUR } from "./blur.ts";
import { until } from "./measure.ts";

const [home = "", kind = "", count = "", rounds = "1"] = process.argv.slice(2);
const COUNT = Number(count);
const PRIORITIES = [9, 5, 1];
/** Producers that hand in at a time. */
const PRODUCERS = 50;
const WIDE = "orchestrator: {maxConcurrentTasks: 100}\n";

const begun: number[] = [];
const noop = defineExecutor({
  name: "noop",
  input: { type: "object", properties: { priority: { type: "integer" } } },
  effects: "none",
  run: ({ priority }) => {
    // No result, so nothing to say and nothing to deliver.
    begun.push(Number(priority));
  },
});

async function open(config: string) {
  mkdirSync(join(home, "executors"), { recursive: true, mode: 0o700 });
  writeFileSync(join(home, "config.yaml"), config, { mode: 0o600 });
  return openHome({ home, executors: { noop } });
}

/** Every priority in turn; the node starts when all wait. */
async function tasks() {
  const context = await open(WIDE);
  const queuing = performance.now();
  for (let done = 0; done < COUNT; done += PRODUCERS)
    await Promise.all(
      Array.from({ length: Math.min(PRODUCERS, COUNT - done) }, (_, index) => {
        const priority = PRIORITIES[(done + index) % PRIORITIES.length] ?? 0;
        return submitTask(context, { executor: "noop", params: { priority }, priority });
      }),
    );
  const began = performance.now();
  const node = await startNode(context);
  const isOpen = { state: ["queued", "claimed", "running"] as const, limit: 1 };
  await until("starting every task", () => begun.length === COUNT);
  await until("closing every task", async () => (await context.ledger.runs(isOpen)).length === 0);
  const ms = performance.now() - began;
  await node.stop({ graceMs: 1_000 });
  await context.close();
  return { ms, queuedMs: began - queuing, inversions: inversions(begun) };
}

/** How many began after one of a lower priority had. */
function inversions(order: readonly number[]): number {
  let least = Number.POSITIVE_INFINITY;
  let late = 0;
  for (const priority of order) {
    if (priority > least) late += 1;
    least = Math.min(least, priority);
  }
  return late;
}

/** Layers of a hundred, each task behind two of the layer before. */
async function graph() {
  const context = await open(WIDE);
  const WIDTH = 100;
  const all = Array.from({ length: COUNT }, (_, index) => {
    const before = index - WIDTH;
    const neighbour =
      before + (((before % WIDTH) + WIDTH + 1) % WIDTH) - (((before % WIDTH) + WIDTH) % WIDTH);
    return {
      ...{ id: `t${index}`, executor: "noop" },
      ...(before >= 0 && { dependsOn: [`t${before}`, `t${neighbour}`] }),
    };
  });
  const node = await startNode(context);
  const began = performance.now();
  const { id } = await submitWorkflow(context, { name: "large", tasks: all, outputs: { message: "" } });
  await until("the workflow", async () => (await showRun(context, id)).finishedAt !== null);
  const ms = performance.now() - began;
  const { state } = await showRun(context, id);
  if (state !== "succeeded") throw new Error(`the graph ended as ${state}`);
  await node.stop({ graceMs: 1_000 });
  await context.close();
  return { ms };
}

/** As many at once, with the worker processes warm. */
async function images() {
  const context = await open("orchestrator: {maxConcurrentTasks: 2}\n");
  writeFileSync(
    join(home, "executors", "images.py"),
    `from nightshift import executor\n${BLUR}\n@executor\ndef blur_image(seed: int):\n    return blur(seed)\n`,
  );
  const node = await startNode(context);
  const round = async () => {
    const began = performance.now();
    const queued = await Promise.all(
      Array.from({ length: COUNT }, (_, seed) =>
        submitTask(context, { executor: "blur_image", params: { seed } }),
      ),
    );
    for (const { id } of queued)
      await until("an image", async () => (await showRun(context, id)).finishedAt !== null);
    const ms = performance.now() - began;
    for (const { id } of queued)
      if ((await showRun(context, id)).state !== "succeeded") throw new Error(`${id} did not succeed`);
    return ms;
  };
  await round();
  const ms: number[] = [];
  for (let turn = 0; turn < Number(rounds); turn += 1) ms.push(await round());
  await node.stop({ graceMs: 1_000 });
  await context.close();
  return { ms };
}

const work = { tasks, graph, images }[kind];
if (!work) throw new Error(`no such kind: ${kind}`);
console.log(JSON.stringify(await work()));
