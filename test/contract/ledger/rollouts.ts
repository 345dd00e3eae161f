// Rules of rollouts as far as the ledger keeps them (DESIGN §12).

import { expect, test } from "vitest";
import { MINUTE } from "../../../src/kernel/time.ts";
import type { Ledger } from "../../../src/records/ledger/index.ts";
import { DEFAULT_BOUNDS, type Rollout } from "../../../src/records/rollout.ts";
import type { Admission } from "../../../src/records/run.ts";
import { type Bench, fail, manualRun, passRequest, START, startOne, succeed, whenFree } from "./fixtures.ts";

export function rolloutRules(open: () => Promise<Bench>): void {
  test("a rollout is one row an executor, read back whole, with an event for each change", async () => {
    const ledger = await (await open()).open();
    await ledger.changeRollout(rollout({ executor: "b" }), "rollout-started");
    await ledger.changeRollout(rollout({}), "rollout-started");
    const back = rollout({ revision: 2, state: "rolledBack", reason: "it failed", changedBy: "node" });

    expect(await ledger.changeRollout(back, "rollout-rolled-back")).toBe(true);

    expect(await ledger.rollouts()).toEqual([back, rollout({ executor: "b" })]);
    const kinds = (await ledger.events({})).filter(({ kind }) => kind.startsWith("rollout-"));
    expect(kinds.map(({ kind, data }) => `${kind} ${data.executor} ${data.by}`)).toEqual([
      "rollout-started b test",
      "rollout-started a test",
      "rollout-rolled-back a node",
    ]);
  });

  test("of two who change the same revision one does; one that was removed does not come back", async () => {
    const bench = await open();
    const [one, two] = [await bench.open(), await bench.open()];
    const begin = (node: Ledger, traffic: number) => () =>
      node.changeRollout(rollout({ traffic }), "rollout-started");
    const begun = await Promise.all([begin(one, 10), begin(two, 20)].map(whenFree));
    expect(begun.toSorted()).toEqual([false, true]);
    const change = (node: Ledger, traffic: number) => () =>
      node.changeRollout(rollout({ revision: 2, traffic }), "rollout-changed");
    const changed = await Promise.all([change(one, 30), change(two, 40)].map(whenFree));
    expect(changed.toSorted()).toEqual([false, true]);

    expect(await one.removeRollout({ executor: "a", revision: 1 }, "test", START)).toBe(false);
    expect(await one.removeRollout({ executor: "a", revision: 2 }, "test", START)).toBe(true);
    expect(await two.changeRollout(rollout({ revision: 3 }), "rollout-changed")).toBe(false);
    expect(await two.rollouts()).toEqual([]);
  });

  test("attempts of an executor's versions are told apart by how they ended, the newest first; cancelled ones are not told", async () => {
    const bench = await open();
    const ledger = await bench.open();
    const end = async (close: typeof fail, admission: Partial<Admission>) => {
      await ledger.enqueue([
        manualRun(bench, { kind: "task", queue: "q", admission: { enqueuedAt: bench.now(), ...admission } }),
      ]);
      const answer = await startOne(ledger, bench, {
        tasks: {
          rated: [],
          admit: ({ waiting }) => ({ start: waiting.map(({ id }) => id), skip: [], cancel: [], blocked: [] }),
        },
      });
      await bench.advance(MINUTE);
      expect(await ledger.closeRuns([close(bench, answer.claim)])).toEqual(["closed"]);
    };
    await end(succeed, { executor: "a_b", version: "1" });
    const since = bench.now() + 1;
    await end(succeed, { executor: "a_b", version: "1" });
    await end(fail, { executor: "a_b", version: "2" });
    await end(succeed, { executor: "axb", version: "2" });
    await end(succeed, { executor: "a_b" });
    await ledger.enqueue([
      manualRun(bench, {
        ...{ kind: "task", queue: "q" },
        admission: { enqueuedAt: bench.now(), executor: "a_b", version: "2" },
      }),
    ]);
    const [queued] = await ledger.runs({ state: ["queued"] });
    await ledger.requestCancel(queued?.id ?? "", "test", bench.now());
    await ledger.pass(passRequest(bench));

    const attempts = await ledger.versionAttempts({ executor: "a_b", since, limit: 10 });

    expect(attempts).toEqual([
      { version: "2", hasFailed: true, durationMs: MINUTE },
      { version: "1", hasFailed: false, durationMs: MINUTE },
    ]);
    expect(await ledger.versionAttempts({ executor: "a_b", since: 0, limit: 1 })).toEqual(
      attempts.slice(0, 1),
    );
  });
}

function rollout(parts: Partial<Rollout>): Rollout {
  return {
    ...{ executor: "a", revision: 1, version: "2", baseline: "1", traffic: 20, state: "running" },
    bounds: DEFAULT_BOUNDS,
    ...{ startedAt: START, startedBy: "test", changedAt: START, changedBy: "test", reason: undefined },
    ...parts,
  };
}
