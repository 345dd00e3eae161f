// No-op runs claimed, started and closed per second, against BullMQ (embedded) and graphile-worker (PostgreSQL).
//
// Both sides get their work in bulk before the clock starts, and both are timed until the last end is stored. The sides
// take turns, so that a machine with other work disturbs both alike.

import { execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  type Benchmark,
  fsyncsPerSecond,
  median,
  type Result,
  type Setup,
  spread,
  until,
  withFolder,
} from "./measure.ts";
import { withPostgres } from "./postgres-server.ts";

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

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}

/** A Redis of our own on a free port; undefined where there is none. */
async function withRedis<T>(settings: string[], work: (port: string) => Promise<T>): Promise<T | undefined> {
  if (!(await run("redis-server", ["--version"]).catch(() => undefined))) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "nightshift-redis-"));
  const port = String(await freePort());
  const server = spawn("redis-server", ["--port", port, "--dir", folder, "--save", "", ...settings], {
    stdio: "ignore",
  });
  const isUp = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(Number(port), "127.0.0.1", () => resolve(true)).once("error", () =>
        resolve(false),
      );
      socket.once("connect", () => socket.end());
    });
  try {
    await until("Redis's start", isUp, 10_000);
    return await work(port);
  } finally {
    server.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
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
