// 300 kills -9 at random moments under load in ten storms on SQLite, then storms on PostgreSQL and beside a second node.
// Each has a home and a seed of its own; NIGHTSHIFT_FAULT_SEED repeats one.

import { expect, test } from "vitest";
import { hasPostgres, postgresDatabase } from "../../support/postgres.ts";
import { faultHome } from "../fault-home.ts";
import { killStorm, STORM_JOBS, type StormResult } from "../kill-storm.ts";

const SEED = Number(process.env.NIGHTSHIFT_FAULT_SEED ?? Date.now() % 1_000_000);
const seeds = (count: number, offset: number) =>
  Array.from({ length: count }, (_, index) => SEED + offset + index);
const KILLS = 30;

/** What one storm came to, for the log: numbers, never only "passed". */
function tell(name: string, seed: number, { rows, deeds, audit, kills, early }: StormResult) {
  const states: Record<string, number> = {};
  for (const { state } of rows) states[state] = (states[state] ?? 0) + 1;
  console.log(JSON.stringify({ name, seed, kills, early, due: audit.due, deeds: deeds.length, ...states }));
  return states;
}

test.for(seeds(10, 0))(
  "L3, L9: thirty kills at random moments lose nothing and do nothing twice (seed %i)",
  async (seed) => {
    const home = await faultHome();
    await home.jobFiles(STORM_JOBS);

    const result = await killStorm(home, { kills: KILLS, seed });

    expect(tell("sqlite", seed, result).succeeded, `seed ${seed}`).toBeGreaterThan(10);
    expect(result.kills).toBe(KILLS);
  },
);

test.for(seeds(2, 100))(
  "L4, L9: thirty kills beside a node that takes over at once lose nothing and do nothing twice (seed %i)",
  async (seed) => {
    const home = await faultHome();
    await home.jobFiles(STORM_JOBS);

    const result = await killStorm(home, { kills: KILLS, seed, hasCompanion: true });

    expect(tell("companion", seed, result).succeeded, `seed ${seed}`).toBeGreaterThan(10);
  },
);

test.skipIf(!hasPostgres).for(seeds(2, 200))(
  "L3, L9: thirty kills on PostgreSQL lose nothing and do nothing twice (seed %i) [needs postgres]",
  async (seed) => {
    const home = await faultHome({ store: await postgresDatabase() });
    await home.apply(STORM_JOBS);

    const result = await killStorm(home, { kills: KILLS, seed, hasCompanion: seed % 2 === 0 });

    expect(tell("postgres", seed, result).succeeded, `seed ${seed}`).toBeGreaterThan(10);
  },
);
