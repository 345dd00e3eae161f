// From `queueRun` to the first line of the work, one run at a time, on an otherwise idle node.
//
// Embedded: producer and node are one process, as in a program that embeds Nightshift. PostgreSQL: the producer has a
// connection of its own, and the node is woken by NOTIFY.

import { join } from "node:path";
import { addJob, openHome, queueRun, startNode } from "../src/index.ts";
import {
  type Benchmark,
  fsyncsPerSecond,
  quantile,
  type Result,
  type Setup,
  spread,
  withFolder,
} from "./measure.ts";
import { withPostgres } from "./postgres-server.ts";

const RUNS = Number(process.env.BENCH_LATENCY_RUNS ?? 200);
const WARM_UP = 20;

/** Latencies of `RUNS` runs in ms. */
async function measure(home: string, store: string | undefined): Promise<number[]> {
  let begin = (_at: number) => {};
  const options = { home, ...(store !== undefined && { store }) };
  const executors = { noop: () => begin(performance.now()) };
  const context = await openHome({ ...options, executors });
  const producer = store === undefined ? context : await openHome({ ...options, executors });
  await addJob(context, {
    id: "noop",
    run: { task: { executor: "noop" } },
    overlap: "allow",
    effects: "none",
  });
  const node = await startNode(context);
  const latencies: number[] = [];
  try {
    for (let count = -WARM_UP; count < RUNS; count++) {
      const begun = new Promise<number>((resolve) => {
        begin = resolve;
      });
      const created = performance.now();
      await queueRun(producer, "noop");
      const latency = (await begun) - created;
      if (count >= 0) latencies.push(latency);
      // The closing of this run must not stand in the way of the next one.
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
  } finally {
    await node.stop({ graceMs: 1_000 });
    if (producer !== context) await producer.close();
    await context.close();
  }
  return latencies;
}

function lines(what: string, rounds: number[][], goal: [number, number], note: string): Result[] {
  const line = (name: string, share: number, limit: number): Result => {
    const values = rounds.map((round) => quantile(round, share));
    const ok = quantile(values, 0.5) <= limit;
    return {
      what: `${what}, create to start, ${name}`,
      value: `${spread(values, 2)} ms`,
      goal: `≤ ${limit} ms`,
      ok,
      note,
    };
  };
  return [line("p50", 0.5, goal[0]), line("p99", 0.99, goal[1])];
}

async function run({ repeats, say }: Setup): Promise<Result[]> {
  say("embedded …");
  const rounds: number[][] = [];
  let fsyncs = 0;
  for (let round = 0; round < repeats; round++) {
    await withFolder(async (folder) => {
      fsyncs = fsyncsPerSecond(folder);
      rounds.push(await measure(join(folder, "home"), undefined));
    });
  }
  const note = `one commit with fsync (queued, claimed and running); the disk takes ${fsyncs.toFixed(0)} a second`;
  const embedded = lines("embedded", rounds, [1, 5], note);
  say("PostgreSQL …");
  const overNetwork = await withPostgres(async (newDatabase) => {
    const measured: number[][] = [];
    for (let round = 0; round < repeats; round++) {
      await withFolder(async (folder) =>
        measured.push(await measure(join(folder, "home"), await newDatabase())),
      );
    }
    return measured;
  });
  if (!overNetwork)
    return [
      ...embedded,
      { what: "PostgreSQL, create to start", value: "not measured: no PostgreSQL runs here" },
    ];
  return [
    ...embedded,
    ...lines("PostgreSQL", overNetwork, [5, 20], "LISTEN/NOTIFY, server on the same machine, fsync on"),
  ];
}

export const latency: Benchmark = { name: "latency", run };
