// Child process: queues agent runs in a fresh home, starts a node, and tells how long it took to close all of them.
//
// node agents-node.mjs HOME RUNS MODEL_URL RELAY(on|off) BUDGET(tokens, 0 = none). Prints {ms, cpuMs, rssMb, startMb, waits}.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { addJob, openHome, startNode } from "../src/index.ts";
import { makeId } from "../src/kernel/ids.ts";
import { until } from "./measure.ts";

const [home = "", count = "", baseUrl = "", relay = "on", budget = "0"] = process.argv.slice(2);
const RUNS = Number(count);

mkdirSync(home, { recursive: true, mode: 0o700 });
writeFileSync(
  join(home, "config.yaml"),
  `models:
  relay: ${relay === "on"}
  named:
    main: {provider: openai-compatible, id: scripted, baseUrl: "${baseUrl}", maxOutputTokens: 1000}
`,
  { mode: 0o600 },
);
const context = await openHome({ home });
const agent = {
  prompt: "Plan the day.",
  toolsets: ["todo"],
  ...(budget !== "0" && { budget: { tokens: Number(budget) } }),
};
await addJob(context, { id: "talk", run: { agent }, overlap: "allow", effects: "none", deliver: [] });

async function enqueue(amount: number): Promise<string[]> {
  const now = Date.now();
  const version = (await context.ledger.job("talk"))?.definition.version;
  const runs = Array.from({ length: amount }, () => {
    const id = makeId(now, context.random);
    return {
      ...{
        id,
        rootId: id,
        dedupeKey: `manual/${id}`,
        idempotencyKey: id,
        attempt: 1,
        jobId: "talk",
        version,
      },
      ...({ kind: "job", trigger: "manual", effects: "none", isExclusive: false } as const),
      ...{ parentId: undefined, slot: undefined, readyAt: now, createdAt: now },
    };
  });
  await context.ledger.enqueue(runs);
  return runs.map(({ id }) => id);
}

// The first run loads what agents need: that is paid once a node.
const warm = await startNode(context, { maxParallelRuns: RUNS });
const isOpen = { state: ["queued", "claimed", "running"] as const, limit: 1 };
const settle = () =>
  until("closing every run", async () => (await context.ledger.runs(isOpen)).length === 0, 240_000);
await enqueue(1);
await settle();
await warm.stop({ graceMs: 1_000 });

const startMb = process.memoryUsage().rss / 2 ** 20;
const ids = new Set(await enqueue(RUNS));
const cpu = process.cpuUsage();
const node = await startNode(context, { maxParallelRuns: RUNS });
await settle();
const { user, system } = process.cpuUsage(cpu);
const runs = (await context.ledger.runs({ limit: RUNS + 1 })).filter(({ id }) => ids.has(id));
const rssMb = process.resourceUsage().maxRSS / 1_024;
await node.stop({ graceMs: 1_000 });
const failed = runs.find(({ state }) => state !== "succeeded");
if (failed || runs.length !== RUNS) throw new Error(`a run ended ${failed?.state}: ${failed?.reason}`);
const first = Math.min(...runs.map(({ startedAt = Number.NaN }) => startedAt));
const last = Math.max(...runs.map(({ finishedAt = Number.NaN }) => finishedAt));
await context.close();
console.log(JSON.stringify({ ms: last - first, cpuMs: (user + system) / 1_000, rssMb, startMb }));
