// Rules of claims (L3–L6, law 3).

import { expect, test } from "vitest";
import { type Bench, manualRun, rowOf, startOne, succeed } from "./fixtures.ts";

export function claimRules(open: () => Promise<Bench>): void {
  test("L3: a run goes queued, claimed, running, succeeded, and every step is in the events", async () => {
    const bench = await open();
    const ledger = await bench.open();
    const [queued] = await ledger.enqueue([manualRun(bench)]);
    const { claim } = await startOne(ledger, bench);
    expect(await ledger.closeRuns([succeed(bench, claim)])).toEqual(["closed"]);
    expect(await rowOf(ledger, queued!.id)).toMatchObject({ state: "succeeded", startedAt: bench.now() });
    const kinds = (await ledger.events({ runId: queued!.id })).map(({ kind }) => kind);
    expect(kinds).toEqual(["run-queued", "run-claimed", "run-started", "run-finished"]);
  });
}
