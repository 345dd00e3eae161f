// Rules of incidents as far as the ledger keeps them (O1, D4).

import { expect, test } from "vitest";
import { HOUR, MINUTE } from "../../../src/kernel/time.ts";
import type { Streak } from "../../../src/records/definition.ts";
import type { Incident, IncidentFacts } from "../../../src/records/incident.ts";
import type { Closing } from "../../../src/records/ledger/claims.ts";
import type { Ledger } from "../../../src/records/ledger/index.ts";
import type { Run } from "../../../src/records/run.ts";
import {
  type Bench,
  define,
  delivery,
  fail,
  manualRun,
  START,
  startOne,
  succeed,
  whenFree,
} from "./fixtures.ts";

export function incidentRules(open: () => Promise<Bench>): void {
  test("O1: an incident is written in the transaction that ends its run, and the next ending finds it", async () => {
    const bench = await open();
    const ledger = await jobWith(bench);
    const seen: (IncidentFacts | undefined)[] = [];
    const settle = (streak: Streak, run: Run, facts?: IncidentFacts) => {
      seen.push(facts);
      const failures = (facts?.incidents[0]?.failures ?? 0) + 1;
      return {
        streak: { ...streak, failures: streak.failures + 1 },
        deliveries: [],
        incidents: [incident({ failures, lastRunId: run.id, toldAt: START, told: "failing" })],
      };
    };
    await end(bench, ledger, fail, { settle });
    await end(bench, ledger, fail, { settle });
    await end(bench, ledger, succeed, {
      settle: (streak, _run, facts) => {
        seen.push(facts);
        return { streak: { ...streak, failures: 0 }, deliveries: [] };
      },
    });
    expect(seen.map((facts) => facts?.incidents.map(({ failures }) => failures))).toEqual([[], [1], [2]]);
    expect(seen[2]?.toldLately).toEqual({ count: 1, firstAt: START });
    expect(await ledger.incident("job-a-0")).toMatchObject({ failures: 2, told: "failing", toldAt: START });
  });

  test("a success after a success is told nothing of incidents: it pays for none", async () => {
    const bench = await open();
    const ledger = await jobWith(bench);
    let facts: IncidentFacts | undefined | "unasked" = "unasked";
    await end(bench, ledger, succeed, {
      settle: (streak, _run, found) => {
        facts = found;
        return { streak, deliveries: [] };
      },
    });
    expect(facts).toBeUndefined();
  });

  test("endings of one job in one batch see each other's incidents", async () => {
    const bench = await open();
    const ledger = await jobWith(bench);
    await ledger.enqueue([1, 2].map(() => manualRun(bench, { jobId: "job-a", version: 1 })));
    const [one, two] = [await startOne(ledger, bench), await startOne(ledger, bench)];
    const settle = (streak: Streak, _run: Run, facts?: IncidentFacts) => ({
      streak: { ...streak, failures: streak.failures + 1 },
      deliveries: [],
      incidents: [incident({ failures: (facts?.incidents[0]?.failures ?? 0) + 1 })],
    });

    await ledger.closeRuns([fail(bench, one.claim, { settle }), fail(bench, two.claim, { settle })]);

    expect(await ledger.incident("job-a-0")).toMatchObject({ failures: 2 });
  });

  test("D4: a job that fails too often is paused in that transaction, by its own rule", async () => {
    const bench = await open();
    const ledger = await jobWith(bench);
    await end(bench, ledger, fail, {
      settle: (streak) => ({ streak, deliveries: [], pause: { reason: "3 failures in a row" } }),
    });
    expect((await ledger.job("job-a"))?.cursor.suspensions).toMatchObject([
      { kind: "paused", by: "autoPause", reason: "3 failures in a row", to: undefined },
    ]);
    expect((await ledger.events({ jobId: "job-a" })).at(-1)?.kind).toMatch(/run-finished|job-changed/);
  });

  test("lists are by state and job, the newest failure first, page by page", async () => {
    const bench = await open();
    const ledger = await jobWith(bench);
    await put(bench, ledger, [
      incident({ id: "job-a-1", cause: "1", lastAt: START + 1 }),
      incident({ id: "job-a-2", cause: "2", lastAt: START + 3, state: "acknowledged" }),
      incident({ id: "job-a-3", cause: "3", lastAt: START + 2, state: "resolved", resolvedAt: START }),
    ]);
    const ids = async (filter: Parameters<Ledger["incidents"]>[0]) =>
      (await ledger.incidents(filter)).map(({ id }) => id.slice(-1)).join("");
    expect(await ids({})).toBe("231");
    expect(await ids({ state: ["open", "resolved"] })).toBe("31");
    expect(await ids({ jobId: "other" })).toBe("");
    expect([await ids({ limit: 2 }), await ids({ before: "job-a-3" })]).toEqual(["23", "1"]);
    expect(await ledger.incident("job-a-")).toBeUndefined();
    expect((await ledger.incident("job-a-2"))?.state).toBe("acknowledged");
  });

  test("an open incident is acknowledged once, by one of two people; what waited to be told is dropped", async () => {
    const bench = await open();
    const ledger = await jobWith(bench);
    await put(bench, ledger, [incident({ tellAt: START + HOUR })]);
    const words = [
      { by: "ada", note: "disk ordered", at: START + MINUTE },
      { by: "bob", note: undefined, at: START + MINUTE },
    ];
    const answers = await Promise.all(words.map((word) => ledger.acknowledgeIncident("job-a-0", word)));
    expect(answers.filter(Boolean)).toHaveLength(1);
    expect(await ledger.incident("job-a-0")).toMatchObject({
      state: "acknowledged",
      told: "failing",
      tellAt: undefined,
      acknowledgedAt: START + MINUTE,
    });
  });

  test("held-back news is told once, when it is due, with its job as it is now; two nodes do not tell it twice", async () => {
    const bench = await open();
    const ledger = await jobWith(bench);
    const other = await bench.open();
    await put(bench, ledger, [
      incident({ id: "job-a-1", cause: "1", tellAt: START + HOUR }),
      incident({
        ...{ id: "job-a-2", cause: "2", tellAt: START + HOUR, told: "failing", alertedAt: START },
        ...{ state: "resolved", resolvedAt: START + 1 },
      }),
    ]);
    const told: string[] = [];
    const tell = (node: Ledger, now: number) =>
      node.tellIncidents({
        now,
        limit: 10,
        tell: (due) => {
          told.push(...due.map((one) => `${one.incident.id} ${one.definition?.version}`));
          return [delivery({ key: "digest", kind: "alert" })];
        },
      });
    expect([await tell(ledger, START), await ledger.nextNewsAt()]).toEqual([0, START + HOUR]);

    const counts = await Promise.all([ledger, other].map((node) => whenFree(() => tell(node, START + HOUR))));

    expect(counts.reduce((sum, count) => sum + count)).toBe(2);
    expect(new Set(told)).toEqual(new Set(["job-a-1 1", "job-a-2 1"]));
    expect(await ledger.deliveries({})).toHaveLength(1);
    expect(await ledger.nextNewsAt()).toBeUndefined();
    expect(await ledger.incident("job-a-1")).toMatchObject({ told: "failing", alertedAt: START + HOUR });
    expect(await ledger.incident("job-a-2")).toMatchObject({ told: "working", alertedAt: START });
  });

  test("a removed job leaves no open incident; resolved ones are forgotten when their time is over", async () => {
    const bench = await open();
    const ledger = await jobWith(bench);
    await put(bench, ledger, [incident({}), incident({ id: "job-a-9", cause: "9", tellAt: START + HOUR })]);
    await ledger.changeJob({
      jobId: "job-a",
      now: bench.now(),
      change: { kind: "remove", by: "test" },
      settle: () => ({ slots: [], endOpenRuns: [], cancelRuns: [], next: undefined }),
      isComplete: () => false,
      next: () => undefined,
      digest: () => [],
    });
    expect(await ledger.incidents({})).toMatchObject([
      { id: "job-a-9", state: "resolved", resolvedBy: "removed", tellAt: undefined },
      { id: "job-a-0", state: "resolved", resolvedBy: "removed", tellAt: undefined },
    ]);
    expect(await ledger.forgetIncidents({ before: START, limit: 10 })).toBe(0);
    expect(await ledger.forgetIncidents({ before: bench.now() + MINUTE, limit: 10 })).toBe(2);
  });
}

async function jobWith(bench: Bench): Promise<Ledger> {
  const ledger = await bench.open();
  await define(ledger, bench, "job-a", { slot: undefined });
  return ledger;
}

async function end(bench: Bench, ledger: Ledger, close: typeof fail, parts: Partial<Closing>): Promise<void> {
  await ledger.enqueue([manualRun(bench, { jobId: "job-a", version: 1 })]);
  const { claim } = await startOne(ledger, bench);
  expect(await ledger.closeRuns([close(bench, claim, parts)])).toEqual(["closed"]);
}

async function put(bench: Bench, ledger: Ledger, incidents: readonly Incident[]): Promise<void> {
  await end(bench, ledger, fail, { settle: (streak) => ({ streak, deliveries: [], incidents }) });
}

function incident(parts: Partial<Incident>): Incident {
  return {
    id: "job-a-0",
    jobId: "job-a",
    cause: "failed:exit:1",
    state: "open",
    openings: 1,
    failures: 1,
    error: "failed: exit 1",
    firstAt: START,
    openedAt: START,
    lastAt: START,
    lastRunId: "run",
    told: undefined,
    toldAt: undefined,
    alertedAt: undefined,
    tellAt: undefined,
    acknowledgedBy: undefined,
    acknowledgedAt: undefined,
    note: undefined,
    resolvedAt: undefined,
    resolvedBy: undefined,
    ...parts,
  };
}
