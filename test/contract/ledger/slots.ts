// Rules of WHEN: passes, cursors, definitions (D1, D4, D5, L2, T8).

import { expect, test } from "vitest";
import { MINUTE } from "../../../src/kernel/time.ts";
import { type Bench, define, passRequest, rowOf, START } from "./fixtures.ts";

export function slotRules(open: () => Promise<Bench>): void {
  test("L2: a due slot becomes one run, claimed in the same pass, and the cursor moves past it", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a");
    const result = await ledger.pass(passRequest(bench));
    expect(result.claimed.map(({ run }) => [run.dedupeKey, run.state, run.owner, run.token])).toEqual([
      ["job/job-a/2026-11-29T06:00:00Z", "claimed", "node-a", 1],
    ]);
    expect(result.claimed[0]?.definition?.version).toBe(1);
    expect(result).toMatchObject({ decidedJobs: 1, hasMore: false, nextWakeAt: START + MINUTE });
    const stored = await rowOf(ledger, result.claimed[0]!.run.id);
    expect(stored).toEqual(result.claimed[0]?.run);
    expect((await ledger.job("job-a"))?.cursor).toMatchObject({ nextSlot: START + MINUTE, startedSlots: 0 });
  });
}
