// Kills -9 at random moments of workflows, in storms: on SQLite, beside a node that takes over at once, on PostgreSQL.
// Each has a home and a seed of its own; NIGHTSHIFT_FAULT_SEED repeats one.

import { expect, test } from "vitest";
import { hasPostgres, postgresDatabase } from "../../support/postgres.ts";
import { hasPython } from "../../support/python.ts";
import { workflowHome } from "../workflow-home.ts";
import { workflowStorm } from "../workflow-storm.ts";

const SEED = Number(process.env.NIGHTSHIFT_FAULT_SEED ?? Date.now() % 1_000_000);
const seeds = (count: number, offset: number) =>
  Array.from({ length: count }, (_, index) => SEED + offset + index);
const STORM = { kills: 20, runs: 8 };

/** What one storm came to, for the log: numbers, never only "passed". */
function tell(name: string, seed: number, storm: Awaited<ReturnType<typeof workflowStorm>>): void {
  const { workflows, taskDeeds, lost, answered } = storm;
  console.log(JSON.stringify({ name, seed, workflows, deeds: taskDeeds.length, lost, answered }));
  expect(taskDeeds.length, `seed ${seed}`).toBeGreaterThan(100);
}

test.skipIf(!hasPython()).for(seeds(4, 0))(
  "L6, L9: twenty kills amid workflows lose nothing and do nothing twice (seed %i) [needs python3]",
  async (seed) => tell("sqlite", seed, await workflowStorm(await workflowHome(), { ...STORM, seed })),
);

test.skipIf(!hasPython()).for(seeds(2, 100))(
  "L4, L9: twenty kills beside a node that takes workflows over lose nothing and do nothing twice (seed %i) [needs python3]",
  async (seed) => {
    const home = await workflowHome();
    tell("companion", seed, await workflowStorm(home, { ...STORM, seed, hasCompanion: true }));
  },
);

test.skipIf(!hasPython() || !hasPostgres).for(seeds(2, 200))(
  "L6, L9: twenty kills amid workflows on PostgreSQL lose nothing and do nothing twice (seed %i) [needs python3, postgres]",
  async (seed) => {
    const home = await workflowHome({ store: await postgresDatabase() });
    tell("postgres", seed, await workflowStorm(home, { ...STORM, seed, hasCompanion: seed % 2 === 0 }));
  },
);
