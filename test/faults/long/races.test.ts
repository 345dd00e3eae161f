// Two, four and eight nodes on one store race for 2,000 slots: each is done once.

import { expect, test } from "vitest";
import { hasPostgres, postgresDatabase } from "../../support/postgres.ts";
import { race } from "../race.ts";

const RACE = { jobs: 100, slotsPerJob: 20, withinMs: 10 * 60_000 };

test.for([2, 4, 8])("L2, T9: %i nodes on one SQLite file start each of 2,000 slots once", async (nodes) => {
  const { shares, seconds } = await race({ ...RACE, nodes });
  console.log(JSON.stringify({ engine: "sqlite", nodes, shares, seconds }));
  expect(Math.min(...shares), "every node worked").toBeGreaterThan(0);
});

test.skipIf(!hasPostgres).for([2, 4, 8])(
  "L2, T9: %i nodes on one PostgreSQL start each of 2,000 slots once [needs postgres]",
  async (nodes) => {
    const { shares, seconds } = await race({ ...RACE, nodes, store: await postgresDatabase() });
    console.log(JSON.stringify({ engine: "postgres", nodes, shares, seconds }));
    expect(Math.min(...shares), "every node worked").toBeGreaterThan(0);
  },
);
