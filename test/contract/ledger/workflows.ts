// Rules of workflows in the ledger: journals, task rows, and queues that nodes share (DESIGN §12, W4, law 3).

import { describe, expect, test } from "vitest";
import { MINUTE } from "../../../src/kernel/time.ts";
import type { NewRun } from "../../../src/records/ledger/claims.ts";
import type { Ledger } from "../../../src/records/ledger/index.ts";
import type { AdmitTasks, NewTask } from "../../../src/records/ledger/workflows.ts";
import type { Claim, Run } from "../../../src/records/run.ts";
import {
  type Bench,
  claimOne,
  define,
  LEASE_MS,
  manualRun,
  passRequest,
  rowOf,
  succeed,
  whenFree,
} from "./fixtures.ts";

const atOnce = { startsAtOnce: () => true };

/** As many as the width leaves, whoever runs them. */
const upTo =
  (width: number): AdmitTasks =>
  ({ waiting, running }) => ({
    start: waiting.slice(0, Math.max(0, width - running.length)).map(({ id }) => id),
    ...{ skip: [], cancel: [], blocked: [] },
  });

const queued = (bench: Bench, parts: Partial<NewRun> = {}): NewRun =>
  manualRun(bench, { kind: "task", queue: "main", admission: { enqueuedAt: bench.now() }, ...parts });

async function startWorkflow(ledger: Ledger, bench: Bench): Promise<{ run: Run; claim: Claim }> {
  await ledger.enqueue([manualRun(bench, { kind: "workflow" })]);
  return claimOne(ledger, bench, atOnce);
}

function taskOf(bench: Bench, root: Run, unit: string): NewTask {
  const dedupeKey = `parent/${root.id}/${unit}`;
  return queued(bench, { dedupeKey, parentId: root.id, rootId: root.rootId, idempotencyKey: dedupeKey });
}

export function workflowRules(open: () => Promise<Bench>): void {
  describe("workflows", () => {
    journalRules(open);
    resumeRules(open);
    queueRules(open);
  });
}

function journalRules(open: () => Promise<Bench>): void {
  test("law 3: entries and the rows they make are one write, and who lost the claim writes neither", async () => {
    const bench = await open();
    const ledger = await bench.open();
    const { run, claim } = await startWorkflow(ledger, bench);
    const record = {
      claim,
      now: bench.now(),
      from: 0,
      entries: ['{"a":1}', '{"b":2}'],
      tasks: [taskOf(bench, run, "t1")],
    };

    expect(await ledger.recordProgress(record)).toBe("recorded");
    expect(await ledger.recordProgress(record), "L11: its answer was lost, it is sent again").toBe(
      "recorded",
    );
    const other = { ...record, entries: ['{"c":3}'], tasks: [taskOf(bench, run, "t3")] };
    expect(await ledger.recordProgress(other), "the journal has grown").toBe("lost");
    const old = {
      ...record,
      from: 2,
      claim: { ...claim, token: claim.token - 1 },
      tasks: [taskOf(bench, run, "t2")],
    };
    expect(await ledger.recordProgress(old), "an old token").toBe("lost");

    expect(await ledger.journal(run.id)).toEqual(record.entries);
    expect((await ledger.tasksOf(run.id)).map(({ dedupeKey, state }) => [dedupeKey, state])).toEqual([
      [`parent/${run.id}/t1`, "queued"],
    ]);
  });

  test("a task that is over at once, one that waits for a person, its end, and a cancel", async () => {
    const bench = await open();
    const ledger = await bench.open();
    const { run, claim } = await startWorkflow(ledger, bench);
    const over: NewTask = {
      ...taskOf(bench, run, "a"),
      state: "succeeded",
      ...{ reason: undefined, startedAt: bench.now(), finishedAt: bench.now() },
      outcome: { state: "succeeded", output: "", isSilent: true, result: { size: 3 } },
    };
    const approval: NewTask = {
      ...taskOf(bench, run, "b"),
      queue: undefined,
      state: "waiting",
      reason: "approval",
    };
    const waiting = taskOf(bench, run, "c");
    const tasks = [over, approval, waiting];
    const recorded = await ledger.recordProgress({
      claim,
      now: bench.now(),
      from: 0,
      entries: ["{}"],
      tasks,
    });
    expect(recorded).toBe("recorded");
    await ledger.resolve({
      runId: approval.id,
      as: "succeeded",
      by: "ada",
      note: undefined,
      at: bench.now(),
    });

    expect((await ledger.resolutionsOf(run.id)).map(({ runId, by }) => [runId, by])).toEqual([
      [approval.id, "ada"],
    ]);
    await ledger.recordProgress({
      ...{ claim, now: bench.now(), from: 1, entries: ["{}"] },
      endings: [{ runId: approval.id, state: "succeeded", reason: "by ada", outcome: undefined }],
      cancels: [{ runId: waiting.id, by: "cancelled" }],
    });

    const rows = await ledger.tasksOf(run.id, [over.id, approval.id, waiting.id]);
    const byUnit = new Map(rows.map((row) => [row.dedupeKey.slice(-1), row]));
    expect(["a", "b", "c"].map((unit) => [byUnit.get(unit)?.state, byUnit.get(unit)?.reason])).toEqual([
      ["succeeded", undefined],
      ["succeeded", "by ada"],
      ["cancelled", "cancelled"],
    ]);
    expect(byUnit.get("a")?.outcome).toMatchObject({ result: { size: 3 } });
    expect((await ledger.tree(run.id)).map(({ id }) => id).sort()).toEqual(
      [run.id, over.id, approval.id, waiting.id].sort(),
    );
  });

  test("L8: a pruned workflow takes its journal along, and a task's unknown attempt that it has settled", async () => {
    const bench = await open();
    const ledger = await bench.open();
    const { run, claim } = await startWorkflow(ledger, bench);
    const lost: NewTask = {
      ...taskOf(bench, run, "a"),
      ...{ state: "unknown", reason: "its node died", outcome: { state: "unknown", why: "its node died" } },
      ...{ startedAt: bench.now(), finishedAt: bench.now() },
    };
    await ledger.recordProgress({ claim, now: bench.now(), from: 0, entries: ["{}"], tasks: [lost] });
    await ledger.closeRuns([succeed(bench, claim)]);
    await bench.advance(1);
    await ledger.enqueue([manualRun(bench)]);

    await ledger.prune({ rootRunsPerJob: 1, eventsKept: 100, now: bench.now() });

    expect(await ledger.journal(run.id)).toEqual([]);
    expect(await ledger.run(run.id)).toBeUndefined();
  });
}

function resumeRules(open: () => Promise<Bench>): void {
  test("a workflow of a dead node goes back to the queue and is not unknown; it keeps its start and its cancel", async () => {
    const bench = await open();
    const [a, b] = [await bench.open(), await bench.open()];
    const { run } = await startWorkflow(a, bench);
    const startedAt = bench.now();
    await bench.advance(MINUTE);
    await a.requestCancel(run.id, "ada", bench.now());

    const { requeued, taken } = await b.takeOver({
      ...{ nodeId: "node-b", now: bench.now(), leaseMs: LEASE_MS, deadNodes: ["node-a"] },
    });
    const again = await claimOne(b, bench, { nodeId: "node-b", ...atOnce });

    expect([requeued, taken]).toEqual([[run.id], []]);
    expect(again.run).toMatchObject({ state: "running", startedAt, cancelledBy: "ada" });
    expect(await b.cancelRequests("node-b")).toEqual([{ runId: run.id, by: "ada" }]);
    expect((await b.events({ runId: run.id })).filter(({ kind }) => kind === "run-started")).toHaveLength(1);
  });

  test("a cancel between two nodes is heard by the next one: what has begun is not ended behind its back", async () => {
    const bench = await open();
    const [a, b] = [await bench.open(), await bench.open()];
    const { run } = await startWorkflow(a, bench);
    await b.takeOver({
      ...{ nodeId: "node-b", now: bench.now(), leaseMs: LEASE_MS, deadNodes: ["node-a"] },
    });

    expect(await a.requestCancel(run.id, "ada", bench.now())).toMatchObject({ kind: "requested" });
    const again = await claimOne(b, bench, { nodeId: "node-b", ...atOnce });

    expect(again.run).toMatchObject({ id: run.id, state: "running", cancelledBy: "ada" });
    expect(await b.cancelRequests("node-b")).toEqual([{ runId: run.id, by: "ada" }]);
  });

  test("a workflow is given back as it is; who gave it back cannot write any more", async () => {
    const bench = await open();
    const ledger = await bench.open();
    const { run, claim } = await startWorkflow(ledger, bench);

    expect(await ledger.yieldRun(claim, { now: bench.now() })).toBe(true);
    expect(await ledger.yieldRun(claim, { now: bench.now() })).toBe(false);

    expect(await rowOf(ledger, run.id)).toMatchObject({ state: "queued", startedAt: run.startedAt });
    expect(await ledger.recordProgress({ claim, now: bench.now(), from: 0, entries: ["{}"] })).toBe("lost");
    expect((await claimOne(ledger, bench, atOnce)).claim.token).toBe(claim.token + 2);
  });

  test("W4: a workflow that waits for its group is claimed by admission, not as others are", async () => {
    const bench = await open();
    const ledger = await bench.open();
    const { run, claim } = await startWorkflow(ledger, bench);
    const group = { key: "line-A", max: 1, onConflict: "queue" as const };
    await ledger.yieldRun(claim, {
      ...{ now: bench.now(), queue: "(workflows)", admission: { enqueuedAt: bench.now(), group } },
    });

    expect((await ledger.pass(passRequest(bench))).claimed).toEqual([]);
    const seen: string[][] = [];
    const admit: AdmitTasks = (view) => {
      seen.push(view.waiting.map(({ admission }) => admission?.group?.key ?? ""));
      return upTo(1)(view);
    };
    const { claimed } = await ledger.pass(passRequest(bench, { ...atOnce, tasks: { admit, rated: [] } }));

    expect(seen).toEqual([["line-A"]]);
    expect(claimed.map((one) => one.run.id)).toEqual([run.id]);
  });
}

function queueRules(open: () => Promise<Bench>): void {
  test("W4: the view is in order of priority and waiting, and a minute of waiting is a step of priority", async () => {
    const bench = await open();
    const ledger = await bench.open();
    const at = (priority: number) => queued(bench, { admission: { priority, enqueuedAt: bench.now() } });
    const [old] = await ledger.enqueue([at(0)]);
    await bench.advance(2 * MINUTE + 1);
    const [low, high, middle] = await ledger.enqueue([at(1), at(9), at(2)]);
    const order: string[][] = [];

    await ledger.pass(
      passRequest(bench, {
        tasks: {
          rated: [],
          admit: (view) => {
            order.push(view.waiting.map(({ id }) => id));
            return { start: [], skip: [], cancel: [], blocked: [] };
          },
        },
      }),
    );

    expect(order).toEqual([[high?.id, old?.id, middle?.id, low?.id]]);
  });

  test("W4: two nodes race for a queue of width three and never hold more than three at once", async () => {
    const bench = await open();
    const nodes = [await bench.open(), await bench.open()];
    await nodes[0]?.enqueue(Array.from({ length: 20 }, () => queued(bench)));
    let most = 0;
    const claims = new Set<string>();
    const drain = async (ledger: Ledger, nodeId: string) => {
      const request = { nodeId, capacity: 100, ...atOnce, tasks: { admit: upTo(3), rated: [] } };
      while (claims.size < 20) {
        const { claimed } = await whenFree(() => ledger.pass(passRequest(bench, request)));
        const [counts] = await whenFree(() => ledger.queueCounts());
        most = Math.max(most, counts?.running ?? 0);
        for (const { claim } of claimed) {
          expect(claims.has(claim.runId), "claimed twice").toBe(false);
          claims.add(claim.runId);
          await whenFree(() => ledger.closeRuns([succeed(bench, claim)]));
        }
      }
    };

    await Promise.all(nodes.map((ledger, index) => drain(ledger, `node-${index}`)));

    expect(most).toBe(3);
  });

  test("T7: a queued run whose job has a live one is not in the view; it is when that has ended", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job", { slot: undefined });
    const first = { admission: { priority: 5, enqueuedAt: bench.now() } };
    const ofJob = { kind: "job" as const, jobId: "job", version: 1, isExclusive: true, ...first };
    await ledger.enqueue([queued(bench, ofJob), queued(bench, ofJob), queued(bench)]);
    const seen: number[] = [];
    const tasks = {
      rated: [],
      admit: ((view) => {
        seen.push(view.waiting.length);
        return upTo(1)(view);
      }) satisfies AdmitTasks,
    };
    const { claimed } = await ledger.pass(passRequest(bench, { ...atOnce, tasks }));
    await ledger.pass(passRequest(bench, { ...atOnce, tasks }));
    expect(seen).toEqual([3, 1]);
    await ledger.closeRuns(claimed.map(({ claim }) => succeed(bench, claim)));
    await ledger.pass(passRequest(bench, { ...atOnce, tasks }));
    expect(seen.at(-1)).toBe(2);
  });

  test("what a node cannot hold waits for resources, says so once, and starts when there are some", async () => {
    const bench = await open();
    const ledger = await bench.open();
    const [task] = await ledger.enqueue([queued(bench)]);
    const lacks = "needs 8192 MB of GPU memory, 8100 free";
    const blocking: AdmitTasks = ({ waiting }) => ({
      ...{ start: [], skip: [], cancel: [] },
      blocked: waiting.map(({ id }) => ({ runId: id, lacks })),
    });

    for (let pass = 0; pass < 2; pass++)
      await ledger.pass(passRequest(bench, { tasks: { admit: blocking, rated: [] } }));

    expect(await rowOf(ledger, task?.id ?? "")).toMatchObject({ state: "waiting", reason: "resources" });
    const told = (await ledger.events({ runId: task?.id ?? "" })).filter(
      ({ kind }) => kind === "run-waiting",
    );
    expect(told.map(({ data }) => data)).toEqual([{ nodeId: "node-a", lacks }]);
    const { claimed } = await ledger.pass(passRequest(bench, { tasks: { admit: upTo(1), rated: [] } }));
    expect(claimed.map(({ run }) => [run.id, run.reason])).toEqual([[task?.id, undefined]]);
  });

  test("a run that fills the view does not hide the tasks of others", async () => {
    const bench = await open();
    const ledger = await bench.open();
    const { run, claim } = await startWorkflow(ledger, bench);
    const many = Array.from({ length: 150 }, (_, index) => taskOf(bench, run, `t[${index}]`));
    await ledger.recordProgress({ claim, now: bench.now(), from: 0, entries: ["{}"], tasks: many });
    const [other] = await ledger.enqueue([
      queued(bench, { admission: { priority: -5, enqueuedAt: bench.now() } }),
    ]);
    let seen: readonly Run[] = [];

    await ledger.pass(
      passRequest(bench, {
        tasks: {
          rated: [],
          admit: (view) => {
            seen = view.waiting;
            return { start: [], skip: [], cancel: [], blocked: [] };
          },
        },
      }),
    );

    expect(seen.map(({ id }) => id)).toContain(other?.id);
    expect(seen.length).toBeLessThan(150);
  });

  test("a queue with a rate is shown the starts of its last hour, ended ones too", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.enqueue([queued(bench)]);
    const { claim } = await claimOne(ledger, bench, { ...atOnce, tasks: { admit: upTo(1), rated: [] } });
    const startedAt = bench.now();
    await ledger.closeRuns([succeed(bench, claim)]);
    await ledger.enqueue([queued(bench)]);
    let starts: readonly unknown[] = [];
    const admit: AdmitTasks = (view) => {
      starts = view.starts;
      return { start: [], skip: [], cancel: [], blocked: [] };
    };

    await ledger.pass(passRequest(bench, { tasks: { admit, rated: ["main"] } }));

    expect(starts).toEqual([{ queue: "main", at: startedAt }]);
  });
}
