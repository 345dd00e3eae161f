// How many no-op runs the ledger takes through claimed, started and closed in a second, in batches, state durable.
//
// node bench/ledger.ts [sqlite|postgres://…]. For ourselves: bench/ proper compares with peers.

import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeId } from "../src/kernel/ids.ts";
import type { Clock } from "../src/kernel/time.ts";
import type { Ledger } from "../src/records/ledger/index.ts";
import { openLedger } from "../src/store/sql/open-ledger.ts";

const RUNS = Number(process.env.RUNS ?? 20_000);
const BATCH = Number(process.env.BATCH ?? 1_000);
const HOST = { hostId: "h", machineId: "m", bootId: "b", pidNamespace: "p" };

const clock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  uptimeMs: () => performance.now(),
  sleep: () => Promise.resolve(),
};
const random = (bytes: number) => randomBytes(bytes);

async function enqueue(ledger: Ledger, count: number): Promise<number> {
  const began = performance.now();
  for (let done = 0; done < count; done += BATCH) {
    const now = Date.now();
    const runs = Array.from({ length: Math.min(BATCH, count - done) }, () => {
      const id = makeId(now, random);
      return {
        ...{ id, rootId: id, dedupeKey: `manual/${id}`, idempotencyKey: `manual/${id}`, attempt: 1 },
        ...({ kind: "job", trigger: "manual", effects: "none", isExclusive: false } as const),
        ...{ jobId: undefined, version: undefined, parentId: undefined, slot: undefined },
        ...{ readyAt: now, createdAt: now },
      };
    });
    await ledger.enqueue(runs);
  }
  return count / ((performance.now() - began) / 1000);
}

async function runAll(
  ledger: Ledger,
): Promise<{ perSecond: number; perCpuSecond: number; parts: Record<string, number> }> {
  const parts = { pass: 0, start: 0, close: 0 };
  const cpu = process.cpuUsage();
  const began = performance.now();
  let done = 0;
  for (;;) {
    let at = performance.now();
    const lap = (name: keyof typeof parts) => {
      const now = performance.now();
      parts[name] += now - at;
      at = now;
    };
    const { claimed } = await ledger.pass({
      nodeId: "bench",
      now: Date.now(),
      capacity: BATCH,
      liveRuns: 0,
      leaseMs: 60_000,
      decide: () => ({ slots: [], endOpenRuns: [], cancelRuns: [], next: undefined }),
      digest: () => [],
      cannotPrepare: () => undefined,
    });
    lap("pass");
    if (claimed.length === 0) break;
    await ledger.startRuns(claimed.map(({ claim }) => ({ claim, startedAt: Date.now() })));
    lap("start");
    await ledger.closeRuns(
      claimed.map(({ claim }) => ({
        claim,
        state: "succeeded" as const,
        reason: undefined,
        outcome: { state: "succeeded" as const, output: "", isSilent: true },
        finishedAt: Date.now(),
      })),
    );
    lap("close");
    done += claimed.length;
  }
  const seconds = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  return { perSecond: done / seconds, perCpuSecond: (done * 1e6) / (user + system), parts };
}

async function main(url: string): Promise<void> {
  const ledger = await openLedger({ url, clock, random, host: HOST });
  try {
    for (let round = 1; round <= 3; round++) {
      const enqueued = await enqueue(ledger, RUNS);
      const { perSecond, perCpuSecond, parts } = await runAll(ledger);
      const laps = Object.entries(parts).map(([name, ms]) => `${name} ${ms.toFixed(0)} ms`);
      console.log(
        `${ledger.engine} round ${round}: enqueue ${enqueued.toFixed(0)}/s, claim+start+close ${perSecond.toFixed(0)}/s, per CPU second ${perCpuSecond.toFixed(0)} (${laps.join(", ")})`,
      );
    }
  } finally {
    await ledger.close();
  }
}

const target = process.argv[2] ?? "sqlite";
if (target === "sqlite") {
  const folder = await mkdtemp(join(tmpdir(), "nightshift-bench-"));
  await main(`sqlite:${join(folder, "ledger.db")}`).finally(() => rm(folder, { recursive: true }));
} else await main(target);
