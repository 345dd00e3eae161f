// A thousand jobs due in the same second: how late the first starts, when the last has begun, and scripts against the
// machine's own rate of spawning.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { openHome, startNode } from "../src/index.ts";
import { type Benchmark, median, type Result, type Setup, spread, until, withFolder } from "./measure.ts";

const JOBS = 1_000;
const SCRIPTS = Number(process.env.BENCH_SCRIPTS ?? 300);
/** Runs at a time, for scripts as for plain spawning: more processes than this only wait for a core. */
const WIDTH = Math.max(8, 4 * availableParallelism());

interface Burst {
  firstMs: number;
  lastMs: number;
}

function writeJobs(home: string, count: number, job: { at: string; run: string }): void {
  mkdirSync(join(home, "jobs"), { recursive: true, mode: 0o700 });
  for (let number = 0; number < count; number++) {
    const text = `schedule: {kind: at, at: "${job.at}"}\nrun: ${job.run}\neffects: none\ndeliver: none\n`;
    writeFileSync(join(home, "jobs", `job-${number}.yaml`), text, { mode: 0o600 });
  }
}

/** Files first, then the instant: reading a thousand of them takes the node a while. */
async function noops(): Promise<Burst> {
  return withFolder(async (folder) => {
    const home = join(folder, "home");
    const starts: number[] = [];
    const executors = { noop: () => void starts.push(Date.now()) };
    const context = await openHome({ home, executors });
    const at = Math.ceil(Date.now() / 1_000) * 1_000 + 30_000;
    writeJobs(home, JOBS, { at: new Date(at).toISOString(), run: "{task: {executor: noop}}" });
    const node = await startNode(context, { maxParallelRuns: JOBS });
    await until("reading the jobs", async () => (await context.ledger.jobs()).length === JOBS, 28_000);
    await until("starting every job", () => starts.length === JOBS, 120_000);
    await node.stop({ graceMs: 10_000 });
    await context.close();
    return { firstMs: Math.min(...starts) - at, lastMs: Math.max(...starts) - at };
  });
}

/** Script runs per second, from the first start to the last end as the ledger has them. */
async function scripts(): Promise<number> {
  return withFolder(async (folder) => {
    const home = join(folder, "home");
    const context = await openHome({ home });
    writeFileSync(join(home, "scripts", "noop.sh"), "#!/bin/sh\n:\n", { mode: 0o700 });
    const at = Math.ceil(Date.now() / 1_000) * 1_000 + 12_000;
    writeJobs(home, SCRIPTS, { at: new Date(at).toISOString(), run: "noop.sh" });
    const node = await startNode(context, { maxParallelRuns: WIDTH });
    const ended = async () => (await context.ledger.counts(Date.now())).runs.succeeded === SCRIPTS;
    await until("running every script", ended, 180_000);
    const runs = await context.ledger.runs({ limit: SCRIPTS });
    await node.stop({ graceMs: 10_000 });
    await context.close();
    const first = Math.min(...runs.map(({ startedAt = Number.NaN }) => startedAt));
    const last = Math.max(...runs.map(({ finishedAt = Number.NaN }) => finishedAt));
    return SCRIPTS / ((last - first) / 1_000);
  });
}

/** Plain `child_process.spawn` of the same script with the same width, output read, groups of their own. */
async function plainSpawns(): Promise<number> {
  return withFolder(async (folder) => {
    const script = join(folder, "noop.sh");
    writeFileSync(script, "#!/bin/sh\n:\n", { mode: 0o700 });
    const began = performance.now();
    let next = 0;
    const lane = async () => {
      while (next < SCRIPTS) {
        next += 1;
        const child = spawn(script, [], { detached: true, stdio: ["ignore", "pipe", "pipe"] });
        child.stdout.resume();
        child.stderr.resume();
        await once(child, "close");
      }
    };
    await Promise.all(Array.from({ length: WIDTH }, lane));
    return SCRIPTS / ((performance.now() - began) / 1_000);
  });
}

async function run({ repeats, say }: Setup): Promise<Result[]> {
  const bursts: Burst[] = [];
  const own: number[] = [];
  const plain: number[] = [];
  for (let round = 0; round < repeats; round++) {
    say(`burst ${round + 1} of ${repeats}: waiting for the instant …`);
    bursts.push(await noops());
    plain.push(await plainSpawns());
    own.push(await scripts());
  }
  const first = bursts.map(({ firstMs }) => firstMs);
  const last = bursts.map(({ lastMs }) => lastMs);
  const ratios = own.map((rate, index) => rate / (plain[index] ?? Number.NaN));
  return [
    {
      ...{ what: `${JOBS} jobs due in one second: first start`, value: `${spread(first, 0)} ms late` },
      ...{
        goal: "p99 ≤ 20 ms",
        ok: Math.max(...first) <= 20,
        note: "met = the worst repeat is within the goal",
      },
    },
    {
      ...{
        what: `${JOBS} jobs due in one second: all begun`,
        value: `${spread(last, 0)} ms after the instant`,
      },
      ...{
        goal: "≤ 1000 ms",
        ok: median(last) <= 1_000,
        note: "in-process no-ops, every slot claimed and started with fsync",
      },
    },
    {
      ...{ what: `${SCRIPTS} scripts due in one second`, value: `${spread(ratios, 2)} × plain spawn` },
      ...{ goal: "≥ 0.8 ×", ok: median(ratios) >= 0.8 },
      note: `${spread(own, 0)} /s against ${spread(plain, 0)} /s, ${WIDTH} at a time`,
    },
  ];
}

export const burst: Benchmark = { name: "burst", run };
