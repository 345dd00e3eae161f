// Two nodes on one store race for 200 slots. Two, four and eight nodes race for 2,000 in long/races.test.ts.

import { expect, test } from "vitest";
import { systemClock, systemRandom } from "../../src/app/system.ts";
import { readHost } from "../../src/execute/host.ts";
import { openLedger } from "../../src/store/sql/open-ledger.ts";
import { hasPostgres, postgresDatabase } from "../support/postgres.ts";
import { race } from "./race.ts";

const SHORT = { nodes: 2, jobs: 50, slotsPerJob: 4, withinMs: 40_000 };

test.skipIf(!hasPostgres)(
  "L12: eight processes that open an empty PostgreSQL at the same moment all get a ledger [needs postgres]",
  { timeout: 60_000 },
  async () => {
    const url = await postgresDatabase();
    const open = () => openLedger({ url, clock: systemClock, random: systemRandom, host: readHost() });
    const ledgers = await Promise.all(Array.from({ length: 8 }, open));
    const jobs = await Promise.all(ledgers.map((ledger) => ledger.jobs()));
    for (const ledger of ledgers) await ledger.close();
    expect(jobs).toEqual(Array.from({ length: 8 }, () => []));
  },
);

test("L2, T9: two nodes on one SQLite file start each of 200 slots once", { timeout: 60_000 }, async () => {
  const { shares } = await race(SHORT);
  expect(Math.min(...shares), "both nodes worked").toBeGreaterThan(0);
});

test.skipIf(!hasPostgres)(
  "L2, T9: two nodes on one PostgreSQL start each of 200 slots once [needs postgres]",
  { timeout: 90_000 },
  async () => {
    const { shares } = await race({ ...SHORT, store: await postgresDatabase() });
    expect(Math.min(...shares), "both nodes worked").toBeGreaterThan(0);
  },
);
