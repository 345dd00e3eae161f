// Rules of reading and housekeeping: lists, prefixes, trees, counts, audit views, retention (L8, L9, U2), nodes.

import { expect, test } from "vitest";
import { DAY, MINUTE, SECOND } from "../../../src/kernel/time.ts";
import type { NewRun } from "../../../src/records/ledger/claims.ts";
import type { Ledger } from "../../../src/records/ledger/index.ts";
import type { NodeRecord } from "../../../src/records/node.ts";
import {
  type Bench,
  claimOne,
  define,
  delivery,
  keep,
  manualRun,
  missEveryMinute,
  passRequest,
  rowOf,
  START,
  startOne,
  succeed,
} from "./fixtures.ts";

export function readingRules(open: () => Promise<Bench>): void {
  test("runs are listed newest first, in pages, by job, state, start and root", async () => {
    const bench = await open();
    const ledger = await bench.open();
    const made: NewRun[] = [];
    for (let n = 0; n < 6; n++) {
      const parent = n === 5 ? made[0] : undefined;
      const more = parent ? { parentId: parent.id, rootId: parent.id } : {};
      made.push(manualRun(bench, { jobId: n % 2 ? "odd" : "even", ...more }));
      await bench.advance(MINUTE);
    }
    await ledger.enqueue(made);
    const first = await startOne(ledger, bench);
    await ledger.closeRuns([succeed(bench, first.claim)]);
    const ids = made.map(({ id }) => id);
    const list = async (filter: Parameters<Ledger["runs"]>[0]) =>
      (await ledger.runs(filter)).map(({ id }) => ids.indexOf(id));

    expect(await list({})).toEqual([5, 4, 3, 2, 1, 0]);
    expect(await list({ limit: 2, before: ids[4]! })).toEqual([3, 2]);
    expect(await list({ jobId: "odd" })).toEqual([5, 3, 1]);
    expect(await list({ jobId: "even", state: ["queued"] })).toEqual([4, 2]);
    expect(await list({ state: ["succeeded"] })).toEqual([0]);
    expect(await list({ state: ["succeeded", "queued"], limit: 6 })).toEqual([5, 4, 3, 2, 1, 0]);
    expect(await list({ since: START + 4 * MINUTE })).toEqual([5, 4]);
    expect(await list({ rootsOnly: true, limit: 2 })).toEqual([4, 3]);
    expect((await ledger.tree(ids[0]!)).map(({ id }) => ids.indexOf(id))).toEqual([0, 5]);
    expect(await ledger.counts(bench.now())).toMatchObject({ runs: { succeeded: 1, queued: 5 } });
  });

  test("a run is found by its id or a unique prefix; an ambiguous one names the candidates", async () => {
    const bench = await open();
    const ledger = await bench.open();
    const runs = await ledger.enqueue(
      ["abcdef-1", "abcdef-2", "abcxyz-3"].map((id) => manualRun(bench, { id })),
    );

    expect(await ledger.run("abcdef-1")).toEqual(runs[0]);
    expect(await ledger.run("abcxyz")).toEqual(runs[2]);
    expect(await ledger.run("abcdef")).toEqual({ ambiguous: ["abcdef-2", "abcdef-1"] });
    expect(await ledger.run("abc")).toBeUndefined();
    expect(await ledger.run("abcdez")).toBeUndefined();
  });

  test("the newest run of a job is the newest that started or was closed, not one that waits", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.enqueue([manualRun(bench, { jobId: "a" }), manualRun(bench, { jobId: "never" })]);
    const { claim } = await startOne(ledger, bench, {
      cannotPrepare: ({ jobId }) => (jobId === "a" ? undefined : "x"),
    });
    await ledger.closeRuns([succeed(bench, claim)]);
    await bench.advance(MINUTE);
    await ledger.enqueue([manualRun(bench, { jobId: "a" })]);

    const last = await ledger.lastRuns(["a", "never", "unknown"]);
    expect([...last].map(([jobId, { id }]) => [jobId, id])).toEqual([["a", claim.runId]]);
  });

  test("overdue jobs are those whose due instant has passed", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "late", { slot: START - MINUTE });
    await define(ledger, bench, "later", { slot: START + MINUTE });
    expect((await ledger.counts(START)).overdueJobs).toEqual([{ jobId: "late", dueAt: START - MINUTE }]);
  });

  test("L9: an audit sees every version, suspension and slot of the window, ranges that reach into it included", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a", { slot: START - 10 * MINUTE });
    await ledger.pass(passRequest(bench, { decide: missEveryMinute }));
    await bench.advance(MINUTE);
    const { run } = await claimOne(ledger, bench);

    const view = await ledger.auditView("job-a", { since: START - MINUTE, until: START + MINUTE });
    const early = await ledger.auditView("job-a", { since: 0, until: START - 20 * MINUTE });

    expect(view).toMatchObject({
      cursor: { nextSlot: START + 2 * MINUTE },
      definitions: [{ version: 1 }],
      rows: [
        { slot: START - 10 * MINUTE, slotTo: START, slotCount: 11, state: "missed" },
        { runId: run.id, slot: START + MINUTE, slotTo: undefined, slotCount: 1, isCountAtLeast: false },
      ],
    });
    expect(early?.rows).toEqual([]);
    expect(await ledger.auditView("nobody", { since: 0, until: START })).toBeUndefined();
  });

  test("L8: retention folds old slots into summaries, keeps delivery keys, and spares what is not finished", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a");
    const runIds: string[] = [];
    for (let n = 0; n < 6; n++) {
      const { claim, run } = await startOne(ledger, bench);
      runIds.push(run.id);
      const state = n === 1 ? "unknown" : "succeeded";
      const deliveries = n === 0 ? [delivery({ key: "sent", runId: run.id, state: "dead" })] : [];
      const pending = n === 2 ? [delivery({ key: "open", runId: run.id })] : [];
      const settle = (streak: object) => ({
        streak: streak as never,
        deliveries: [...deliveries, ...pending],
      });
      await ledger.closeRuns([succeed(bench, claim, { state, settle, outputFile: `output/${n}.md` })]);
      await bench.advance(MINUTE);
    }

    const result = await ledger.prune({ rootRunsPerJob: 2, eventsKept: 5, now: bench.now() });

    expect(result).toEqual({ prunedRuns: 2, orphanedFiles: ["output/0.md", "output/3.md"] });
    expect((await ledger.runs({ jobId: "job-a" })).map(({ id }) => runIds.indexOf(id))).toEqual([5, 4, 2, 1]);
    const view = await ledger.auditView("job-a", { since: 0, until: bench.now() });
    expect(view?.summaries).toEqual([{ from: START, to: START + 3 * MINUTE, counts: { succeeded: 2 } }]);
    await ledger.putDeliveries([delivery({ key: "sent" })], bench.now());
    expect((await ledger.deliveries({})).map(({ key }) => key)).toEqual(["open"]);
    expect((await ledger.events({})).length).toBeLessThanOrEqual(6);
    const known = await ledger.knownOutputFiles(["output/0.md", "output/5.md", "other"]);
    expect([...known]).toEqual(["output/5.md"]);
    expect((await ledger.prune({ rootRunsPerJob: 2, eventsKept: 5, now: bench.now() })).prunedRuns).toBe(0);
  });

  test("L8: a whole tree is pruned together, and kept together while one of it lives", async () => {
    const bench = await open();
    const ledger = await bench.open();
    const trees: [root: string, child: string][] = [];
    for (let n = 0; n < 3; n++) {
      const root = manualRun(bench, { jobId: "job-a" });
      const child = manualRun(bench, { jobId: "job-a", parentId: root.id, rootId: root.id });
      await ledger.enqueue([root, child]);
      trees.push([root.id, child.id]);
      await bench.advance(1);
    }
    const { claimed } = await ledger.pass(passRequest(bench, { decide: keep }));
    const [[living, survivor], [ended]] = trees as [[string, string], [string, string]];
    const others = claimed.filter(({ run }) => run.id !== survivor);
    await ledger.closeRuns(others.map(({ claim }) => succeed(bench, claim)));

    const { prunedRuns } = await ledger.prune({ rootRunsPerJob: 1, eventsKept: 100, now: bench.now() });

    expect(prunedRuns).toBe(2);
    expect(await ledger.tree(living)).toHaveLength(2);
    expect(await ledger.tree(ended)).toEqual([]);
    expect(await rowOf(ledger, survivor)).toMatchObject({ state: "claimed" });
  });

  test("W3: what is no job's is kept by a number of its own (`maxTaskHistory`), whatever jobs keep", async () => {
    const bench = await open();
    const ledger = await bench.open();
    for (let n = 0; n < 4; n++) {
      await ledger.enqueue([manualRun(bench, { jobId: undefined }), manualRun(bench, { jobId: "job-a" })]);
      await bench.advance(1);
    }
    const { claimed } = await ledger.pass(passRequest(bench, { decide: keep }));
    await ledger.closeRuns(claimed.map(({ claim }) => succeed(bench, claim)));

    const kept = { rootRunsPerJob: 2, joblessRoots: 3, eventsKept: 100, now: bench.now() };
    expect((await ledger.prune(kept)).prunedRuns).toBe(3);

    const jobs = (await ledger.runs({})).map(({ jobId }) => jobId ?? "none").sort();
    expect(jobs).toEqual(["job-a", "job-a", "none", "none", "none"]);
  });

  test("nodes are listed newest start first; those that ended more than a day ago are dropped", async () => {
    const bench = await open();
    const ledger = await bench.open();
    const old = node({ id: "old", startedAt: START - 3 * DAY, lastSeenAt: START - 2 * DAY });
    await ledger.registerNode(old);
    await ledger.registerNode(node({ id: "a", startedAt: START - MINUTE }));
    await ledger.registerNode(node({ id: "b" }));
    await ledger.updateNode("a", {
      lastPassAt: START,
      lastError: "store.busy",
      url: "http://127.0.0.1:4747",
    });
    await ledger.updateNode("a", { lastError: undefined, lastSeenAt: START });

    const nodes = await ledger.nodes();
    expect(nodes.map(({ id }) => id)).toEqual(["b", "a"]);
    expect(nodes[1]).toEqual(
      node({ id: "a", startedAt: START - MINUTE, lastPassAt: START, url: "http://127.0.0.1:4747" }),
    );
  });

  test("a node that passes often writes its row once a second, and is woken to put its count of runs right", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.registerNode(node({ id: "node-a" }));
    const pass = async (at: number, liveRuns: number) => {
      const request = passRequest(bench, { node: { lastPassAt: at }, liveRuns });
      const { nextWakeAt } = await ledger.pass(request);
      const [row] = await ledger.nodes();
      return [row?.lastPassAt, row?.liveRuns, nextWakeAt];
    };

    expect(await pass(START, 1)).toEqual([START, 1, undefined]);
    expect(await pass(START + 400, 1)).toEqual([START, 1, undefined]);
    expect(await pass(START + 900, 0)).toEqual([START, 1, START + SECOND]);
    expect(await pass(START + SECOND, 0)).toEqual([START + SECOND, 0, undefined]);
    // T8: a clock that was set back is written at once.
    expect(await pass(START, 0)).toEqual([START, 0, undefined]);
  });

  test("D3: the definition in force is read alone, and not of a job that was removed", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await define(ledger, bench, "job-a");
    expect(await ledger.definition("job-a")).toEqual((await ledger.job("job-a"))?.definition);
    expect(await ledger.definition("job-b")).toBeUndefined();
    await ledger.changeJob({
      ...{ jobId: "job-a", now: bench.now(), change: { kind: "remove", by: "me" } },
      ...{ settle: missEveryMinute, isComplete: () => false, digest: () => [], next: () => undefined },
    });
    expect(await ledger.definition("job-a")).toBeUndefined();
  });
}

function node(parts: Partial<NodeRecord>): NodeRecord {
  return {
    ...{ id: "n", name: "host:1", hostId: "h", bootId: "b", pid: 1, startTime: "1", version: "0.1.0" },
    ...{ startedAt: START, lastSeenAt: START, lastPassAt: undefined, clockOffsetMs: 0 },
    ...{ stoppingAt: undefined, stoppedAt: undefined, maxParallelRuns: 8, liveRuns: 0 },
    ...{ url: undefined, lastError: undefined },
    ...parts,
  };
}
