// The storm: a node under load is killed at random moments and started again, until `kills` are done; then it drains.

import { expect } from "vitest";
import { seededRandom } from "../support/random.ts";
import { expectWhole, type FaultHome, type FaultJob, type Whole } from "./fault-home.ts";
import { isRun, spawnNode, startNode } from "./node-process.ts";

/** Mixed length, overlap, catch-up and effects; all every second. */
export const STORM_JOBS: readonly FaultJob[] = [
  { id: "quick-a" },
  { id: "quick-b", catchUp: "latest" },
  { id: "quick-c", catchUp: "all", overlap: "queue" },
  { id: "spoken", deliver: ["local"] },
  { id: "short-skip", seconds: 0.3 },
  { id: "short-allow", seconds: 0.4, overlap: "allow" },
  { id: "long-skip", seconds: 1.4 },
  { id: "long-queue", seconds: 1.2, overlap: "queue" },
  { id: "long-allow", seconds: 1.7, overlap: "allow" },
  { id: "long-replace", seconds: 1.3, overlap: "replace" },
  { id: "again-none", seconds: 0.5, effects: "none" },
  { id: "again-safe", seconds: 1.1, effects: "idempotent", overlap: "queue" },
];

export interface StormResult extends Whole {
  kills: number;
  /** Kills that came before the node had said that it is ready. */
  early: number;
}

export interface Storm {
  kills: number;
  seed: number;
  /** Longest life of a node, ms, counted from its spawn. */
  longestMs?: number;
  /** A second node that is up throughout and takes over at once. */
  hasCompanion?: boolean;
}

/** Runs the storm and proves what is left whole. The seed gives the same moments again. */
export async function killStorm(
  home: FaultHome,
  { kills, seed, longestMs = 2_500, hasCompanion = false }: Storm,
): Promise<StormResult> {
  const hint = `(seed ${seed})`;
  const random = seededRandom(seed);
  const fraction = () => {
    const [high = 0, low = 0] = random(2);
    return (high * 256 + low) / 65_536;
  };
  const up = { home: home.path, env: home.env, args: ["--grace", "10s"] };
  const companion = hasCompanion ? await startNode(up) : undefined;
  let early = 0;
  for (let kill = 0; kill < kills; kill++) {
    const node = spawnNode({ home: home.path, env: home.env });
    // The moment itself is the fault: nothing is waited for here.
    await new Promise((resolve) => setTimeout(resolve, 150 + fraction() * (longestMs - 150)));
    if (node.events.length === 0) early += 1;
    node.signal("SIGKILL");
    expect((await node.exited).signal, `the node ended by itself ${hint}: ${node.stderr()}`).toBe("SIGKILL");
  }
  const last = spawnNode(up);
  await last.when(({ event }) => event === "ready");
  await last.when(isRun);
  for (const node of [last, companion]) {
    node?.signal("SIGINT");
    if (node) expect(await node.exited, `${hint}: ${node.stderr()}`).toMatchObject({ code: 0 });
  }
  return { ...(await expectWhole(home, hint)), kills, early };
}
