// No-op runs claimed, started and closed per second, against BullMQ (embedded) and graphile-worker (PostgreSQL).
//
// Both sides get their work in bulk before the clock starts, and both are timed until the last end is stored. The sides
// take turns, so that a machine with other work disturbs both alike.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  type Benchmark,
  fsyncsPerSecond,
  median,
  type Result,
  type Setup,
  spread,
  withFolder,
} from "./measure.ts";
import { withPostgres } from "./postgres-server.ts";
import { withRedis } from "./redis-server.ts";

const run = promisify(execFile);
const RUNS = process.env.BENCH_RUNS ?? "10000";
/** Jobs that BullMQ and graphile-worker run at a time; more made neither of them faster here. */
const PEER_WIDTH = "100";

interface Measured {
  perSecond: number;
  cpuMs: number;
}

async function child(script: string, ...args: string[]): Promise<Measured> {
  const { stdout } = await run(process.execPath, [join(import.meta.dirname, script), ...args], {
    timeout: 300_000,
  });
  return JSON.parse(stdout) as Measured;
}

const ours = (store?: string) =>
  withFolder((home) => child("noop-node.mjs", join(home, "home"), RUNS, ...(store ? [store] : [])));

function compare(what: string, [own, peer]: [Measured[], Measured[]], note: string): Result[] {
  const rate = (all: Measured[]) => all.map(({ perSecond }) => perSecond);
  const cpu = (all: Measured[]) => all.map(({ cpuMs }) => (cpuMs * 1_000) / Number(RUNS));
  const ratios = own.map(({ perSecond }, index) => perSecond / (peer[index]?.perSecond ?? Number.NaN));
  const said = `${spread(rate(own), 0)} /s against ${spread(rate(peer), 0)} /s; CPU of the worker's process ${spread(cpu(own), 0)} µs a run against ${spread(cpu(peer), 0)}; ${note}`;
  return [{ what, value: `${spread(ratios, 2)} ×`, goal: "≥ 1 ×", ok: median(ratios) >= 1, note: said }];
}

const REDIS: readonly [string, string[]][] = [
  ["BullMQ, Redis without persistence", ["--appendonly", "no"]],
  ["BullMQ, Redis with fsync for every write", ["--appendonly", "yes", "--appendfsync", "always"]],
];

async function embedded({ repeats, say }: Setup): Promise<Result[]> {
  const fsyncs = await withFolder(async (folder) => fsyncsPerSecond(folder));
  const results: Result[] = [];
  for (const [name, settings] of REDIS) {
    say(`embedded against ${name} …`);
    const measured = await withRedis(settings, async (port) => {
      const pairs: [Measured[], Measured[]] = [[], []];
      for (let round = 0; round < repeats; round++) {
        pairs[0].push(await ours());
        pairs[1].push(await child("bullmq.mjs", port, RUNS, PEER_WIDTH));
      }
      return pairs;
    });
    if (measured) {
      const note = `ours: SQLite, synchronous=FULL; the disk takes ${fsyncs.toFixed(0)} fsyncs a second`;
      results.push(...compare(`embedded ledger against ${name}`, measured, note));
    } else {
      results.push({
        what: `embedded ledger against ${name}`,
        value: "not measured: no redis-server on this machine",
      });
    }
  }
  return results;
}

async function postgres({ repeats, say }: Setup): Promise<Result[]> {
  say("PostgreSQL against graphile-worker …");
  const measured = await withPostgres(async (newDatabase) => {
    const pairs: [Measured[], Measured[]] = [[], []];
    for (let round = 0; round < repeats; round++) {
      pairs[0].push(await ours(await newDatabase()));
      pairs[1].push(await child("graphile.mjs", await newDatabase(), RUNS, PEER_WIDTH));
    }
    return pairs;
  });
  if (!measured) return [{ what: "PostgreSQL", value: "not measured: no PostgreSQL runs here" }];
  return compare(
    "PostgreSQL against graphile-worker, local queue",
    measured,
    "fsync and synchronous_commit on, one server",
  );
}

export const throughput: Benchmark = { name: "throughput", run: embedded };
export const throughputPostgres: Benchmark = { name: "throughput-postgres", run: postgres };
