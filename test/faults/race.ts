// Nodes that race for the slots of one store: each slot is done once, by whichever node came first.

import { expect } from "vitest";
import { expectWhole, faultHome, untilTrue } from "./fault-home.ts";
import { isRun, type NodeProcess, spawnNode } from "./node-process.ts";

export interface Race {
  nodes: number;
  jobs: number;
  /** Slots of each job that start before it is complete. */
  slotsPerJob: number;
  /** `NIGHTSHIFT_STORE`; undefined = SQLite. */
  store?: string;
  withinMs: number;
}

export interface RaceResult {
  /** Runs by node, in the order of their start. */
  shares: number[];
  seconds: number;
}

/** Runs the race to its end and proves it. */
export async function race({ nodes, jobs, slotsPerJob, store, withinMs }: Race): Promise<RaceResult> {
  const home = await faultHome({ store });
  const all = Array.from({ length: jobs }, (_, index) => ({
    id: `job-${index}`,
    repeat: slotsPerJob,
    overlap: (["skip", "allow", "queue"] as const)[index % 3]!,
  }));
  if (store === undefined) await home.jobFiles(all);
  const started = performance.now();
  const up = Array.from({ length: nodes }, () => spawnNode({ home: home.path, env: home.env }));
  await Promise.all(up.map((node) => node.when(({ event }) => event === "ready", 60_000)));
  if (store !== undefined) await home.apply(all);
  const ended = () => up.reduce((sum, node) => sum + node.events.filter(isRun).length, 0);
  await untilTrue(`${jobs * slotsPerJob} runs`, () => ended() >= jobs * slotsPerJob, withinMs);
  const seconds = (performance.now() - started) / 1_000;
  for (const node of up) node.signal("SIGTERM");
  for (const node of up) expect(await node.exited, node.stderr()).toMatchObject({ code: 0 });

  const { rows, deeds } = await expectWhole(home);
  expect(deeds).toHaveLength(jobs * slotsPerJob);
  expect(rows.filter(({ state }) => state === "succeeded")).toHaveLength(jobs * slotsPerJob);
  return { shares: sharesOf(up), seconds };
}

function sharesOf(nodes: readonly NodeProcess[]): number[] {
  return nodes.map((node) => node.events.filter(isRun).length);
}
