// kill -9 at random moments under load, and what the next node makes of it.
// The storm of 300 kills is in long/kills.test.ts.

import { expect, test } from "vitest";
import { faultHome } from "./fault-home.ts";
import { killStorm, STORM_JOBS } from "./kill-storm.ts";

test("L3, L9: after eight kills at random moments every slot is accounted for once and nothing was done twice", {
  timeout: 60_000,
}, async () => {
  const home = await faultHome();
  await home.jobFiles(STORM_JOBS);
  const seed = Date.now() % 1_000_000;

  const { rows, deeds } = await killStorm(home, { kills: 8, seed, longestMs: 1_800 });

  // How much got done depends on the machine; that work was done at all shows that the storm had something to hit.
  expect(rows.filter(({ state }) => state === "succeeded").length, `seed ${seed}`).toBeGreaterThan(5);
  expect(deeds.length).toBeGreaterThan(5);
});
