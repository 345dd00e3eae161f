// 300 kills -9 at random moments under load, in ten storms: each has a home and a seed of its own.

import { expect, test } from "vitest";
import { faultHome } from "../fault-home.ts";
import { killStorm, STORM_JOBS } from "../kill-storm.ts";

const SEED = Number(process.env.NIGHTSHIFT_FAULT_SEED ?? Date.now() % 1_000_000);
const STORMS = 10;
const KILLS = 30;

test.for(Array.from({ length: STORMS }, (_, index) => SEED + index))(
  "L3, L9: thirty kills at random moments lose nothing and do nothing twice (seed %i)",
  async (seed) => {
    const home = await faultHome();
    await home.jobFiles(STORM_JOBS);

    const { rows, deeds, audit, kills, early } = await killStorm(home, { kills: KILLS, seed });

    const states = countsOf(rows);
    console.log(
      JSON.stringify({
        seed,
        kills,
        early,
        due: audit.due,
        rows: rows.length,
        deeds: deeds.length,
        ...states,
      }),
    );
    expect(kills).toBe(KILLS);
    expect(states.succeeded, `seed ${seed}`).toBeGreaterThan(50);
  },
);

function countsOf(rows: readonly { state: string }[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { state } of rows) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
}
