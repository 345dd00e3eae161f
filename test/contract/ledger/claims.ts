// Rules of claims: starts, heartbeats, endings, take-overs (L1, L3–L7, law 3, O1).

import { expect, test } from "vitest";
import { MINUTE } from "../../../src/kernel/time.ts";
import type { Ledger } from "../../../src/records/ledger/index.ts";
import { HEAD_START_MS } from "../../../src/records/ledger/slots.ts";
import { TERMINAL_STATES } from "../../../src/records/run.ts";
import {
  type Bench,
  claimOne,
  fail,
  HOST,
  LEASE_MS,
  manualRun,
  passRequest,
  rowOf,
  START,
  startOne,
  succeed,
  whenFree,
} from "./fixtures.ts";

export function claimRules(open: () => Promise<Bench>): void {
  test("L3: a run goes queued, claimed, running, succeeded, and every step is in the events, in order", async () => {
    const bench = await open();
    const ledger = await bench.open();
    const [queued] = await ledger.enqueue([manualRun(bench)]);
    const { claim } = await startOne(ledger, bench);
    expect(await ledger.closeRuns([succeed(bench, claim)])).toEqual(["closed"]);

    expect(await rowOf(ledger, queued!.id)).toMatchObject({ state: "succeeded", startedAt: bench.now() });
    const events = await ledger.events({ runId: queued!.id });
    expect(events.map(({ kind }) => kind)).toEqual([
      "run-queued",
      "run-claimed",
      "run-started",
      "run-finished",
    ]);
    expect(await ledger.lastSequence()).toBe(events.at(-1)?.sequence);
  });

  test("L2: a known dedupe key changes nothing and answers with the row that holds it", async () => {
    const bench = await open();
    const ledger = await bench.open();
    const first = manualRun(bench, { dedupeKey: "event/push-17" });
    const second = manualRun(bench, { dedupeKey: "event/push-17" });

    expect((await ledger.enqueue([first])).map(({ id }) => id)).toEqual([first.id]);
    const answer = await ledger.enqueue([second, manualRun(bench)]);

    expect(answer.map(({ id }) => id)).toEqual([first.id, expect.any(String)]);
    expect(answer[0]).toEqual(await rowOf(ledger, first.id));
    expect(await ledger.attempts("event/push-17")).toHaveLength(1);
  });

  test("L3: a dead owner's claimed run returns to the queue with a higher token; the old owner cannot start it", async () => {
    const bench = await open();
    const [a, b] = [await bench.open(), await bench.open()];
    await a.enqueue([manualRun(bench)]);
    const { claim, run } = await claimOne(a, bench);

    const { requeued, taken } = await b.takeOver(takeOverBy("node-b", bench, ["node-a"]));
    const again = await claimOne(b, bench, { nodeId: "node-b" });

    expect([requeued, taken]).toEqual([[run.id], []]);
    expect(again.claim).toEqual({ runId: run.id, owner: "node-b", token: 3 });
    expect(await a.startRuns([{ claim, startedAt: bench.now() }])).toEqual(["lost"]);
  });

  test("L4: a lease that has not run out is not taken, one that has is", async () => {
    const bench = await open();
    const [a, b] = [await bench.open(), await bench.open()];
    await a.enqueue([manualRun(bench)]);
    const { claim, run } = await startOne(a, bench);

    await bench.advance(LEASE_MS - 1);
    expect((await b.takeOver(takeOverBy("node-b", bench))).taken).toEqual([]);
    await bench.advance(1);
    const { taken } = await b.takeOver(takeOverBy("node-b", bench));

    expect(taken).toMatchObject([
      { previousOwner: "node-a", claim: { runId: run.id, owner: "node-b", token: 2 }, processes: [] },
    ]);
    expect(taken[0]?.run.state).toBe("running");
    expect(await a.renewClaims([claim], LEASE_MS)).toEqual([
      { claim, state: "lost", cancelledBy: undefined },
    ]);
  });

  test("L4: a node never takes its own runs over, however late it is", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.enqueue([manualRun(bench)]);
    await startOne(ledger, bench);
    await bench.advance(10 * LEASE_MS);
    expect((await ledger.takeOver(takeOverBy("node-a", bench))).taken).toEqual([]);
  });

  test("L4: after a reboot the leases of the boot before are worth nothing on SQLite, and still count on PostgreSQL", async () => {
    const bench = await open();
    const [a, b] = [await bench.open(), await bench.open({ host: { ...HOST, bootId: "boot-2" } })];
    await a.enqueue([manualRun(bench)]);
    await startOne(a, bench);
    const { taken } = await b.takeOver(takeOverBy("node-b", bench));
    expect(taken).toHaveLength(b.engine === "sqlite" ? 1 : 0);
  });

  test("L5: an expired claim that nobody took is renewed with its token", async () => {
    const bench = await open();
    const [a, b] = [await bench.open(), await bench.open()];
    await a.enqueue([manualRun(bench)]);
    const { claim } = await startOne(a, bench);
    await bench.advance(3 * LEASE_MS);

    expect(await a.renewClaims([claim], LEASE_MS)).toMatchObject([{ state: "held" }]);
    expect((await b.takeOver(takeOverBy("node-b", bench))).taken).toEqual([]);
    expect((await rowOf(a, claim.runId)).leaseUntil).toBe(bench.now() + LEASE_MS);
  });

  test("L5: a zombie's renewal, start and outcome change nothing after a take-over", async () => {
    const bench = await open();
    const [a, b] = [await bench.open(), await bench.open()];
    await a.enqueue([manualRun(bench)]);
    const zombie = await startOne(a, bench);
    await bench.advance(LEASE_MS);
    const [taken] = (await b.takeOver(takeOverBy("node-b", bench))).taken;
    const before = await rowOf(b, zombie.run.id);

    const settle = () => expect.fail("a lost closing settles nothing");
    expect(await a.renewClaims([zombie.claim], LEASE_MS)).toMatchObject([{ state: "lost" }]);
    expect(await a.startRuns([{ claim: zombie.claim, startedAt: bench.now() }])).toEqual(["lost"]);
    expect(await a.closeRuns([succeed(bench, zombie.claim, { settle })])).toEqual(["lost"]);
    await a.releaseClaims([zombie.claim]);
    expect(await rowOf(b, zombie.run.id)).toEqual(before);
    expect(await b.closeRuns([fail(bench, taken!.claim)])).toEqual(["closed"]);
  });

  test("L1: a terminal row never changes: every later write is lost, and SQL past the port is refused", async () => {
    const bench = await open();
    const ledger = await bench.open();
    for (const state of TERMINAL_STATES) {
      await ledger.enqueue([manualRun(bench)]);
      const { claim } = await startOne(ledger, bench);
      await ledger.closeRuns([succeed(bench, claim, { state })]);
      const row = await rowOf(ledger, claim.runId);

      expect(await ledger.closeRuns([fail(bench, claim)])).toEqual(["lost"]);
      expect(await ledger.requestCancel(claim.runId, "me", bench.now())).toEqual({
        kind: "finished",
        run: row,
      });
      await expect(
        bench.sql(`UPDATE "runs" SET "reason" = 'x' WHERE "id" = '${claim.runId}'`),
      ).rejects.toThrow("a terminal run never changes");
      expect(await rowOf(ledger, claim.runId)).toEqual(row);
    }
  });

  test("law 3: the database refuses a token that decreases", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.enqueue([manualRun(bench)]);
    const { run } = await claimOne(ledger, bench);
    await expect(bench.sql(`UPDATE "runs" SET "token" = 0 WHERE "id" = '${run.id}'`)).rejects.toThrow(
      "a token never decreases",
    );
  });

  test("L1: a person's word on a terminal run is a row beside it", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.enqueue([manualRun(bench)]);
    const { claim } = await startOne(ledger, bench);
    await ledger.closeRuns([succeed(bench, claim, { state: "unknown" })]);
    const resolution = { runId: claim.runId, as: "succeeded", by: "me", note: "seen", at: START } as const;
    await ledger.resolve(resolution);
    expect(await ledger.resolutions(claim.runId)).toEqual([resolution]);
    expect((await rowOf(ledger, claim.runId)).state).toBe("unknown");
  });

  test("L12: what this node cannot prepare waits for another node, which claims it", async () => {
    const bench = await open();
    const [a, b] = [await bench.open(), await bench.open()];
    const [run] = await a.enqueue([manualRun(bench)]);
    const unable = await a.pass(passRequest(bench, { cannotPrepare: () => "script backup.sh" }));

    expect(unable.claimed).toEqual([]);
    expect(await rowOf(a, run!.id)).toMatchObject({ state: "waiting", reason: "node" });
    const events = await a.events({ runId: run!.id });
    expect(events.at(-1)).toMatchObject({ kind: "run-waiting", data: { lacks: "script backup.sh" } });
    expect((await claimOne(b, bench, { nodeId: "node-b" })).run).toMatchObject({ reason: undefined });
  });

  test("L11: a cancel of what waits ends it; of what lives, it is a column the owner reads", async () => {
    const bench = await open();
    const [a, b] = [await bench.open(), await bench.open()];
    const [waiting] = await a.enqueue([manualRun(bench, { readyAt: START + MINUTE })]);
    await a.enqueue([manualRun(bench)]);
    const live = await startOne(a, bench);

    expect(await b.requestCancel(waiting!.id, "me", START)).toMatchObject({
      kind: "cancelled",
      run: { state: "cancelled" },
    });
    expect(await b.requestCancel(live.run.id, "me", START)).toMatchObject({
      kind: "requested",
      run: { state: "cancelling" },
    });
    expect(await b.requestCancel("nobody", "me", START)).toEqual({ kind: "notFound" });
    expect(await a.cancelRequests("node-a")).toEqual([{ runId: live.run.id, by: "me" }]);
    expect(await a.renewClaims([live.claim], LEASE_MS)).toMatchObject([{ state: "held", cancelledBy: "me" }]);
    expect(await a.closeRuns([succeed(bench, live.claim, { state: "cancelled" })])).toEqual(["closed"]);
  });

  test("L3: a cancel that comes before the start wins: nothing may begin", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.enqueue([manualRun(bench)]);
    const { claim } = await claimOne(ledger, bench);
    await ledger.requestCancel(claim.runId, "me", START);
    expect(await ledger.startRuns([{ claim, startedAt: bench.now() }])).toEqual(["cancelled"]);
    expect((await rowOf(ledger, claim.runId)).startedAt).toBeUndefined();
  });

  test("U2: a run that was queued for one process is that process's for a minute, then anybody's", async () => {
    const bench = await open();
    const [a, b] = [await bench.open(), await bench.open()];
    const readyAt = bench.now() + HEAD_START_MS;
    const [mine, orphan] = await a.enqueue([manualRun(bench, { readyAt }), manualRun(bench, { readyAt })]);

    expect((await b.pass(passRequest(bench, { nodeId: "node-b" }))).claimed).toEqual([]);
    const here = await a.pass(passRequest(bench, { onlyRun: mine!.id }));
    await bench.advance(HEAD_START_MS);
    const there = await b.pass(passRequest(bench, { nodeId: "node-b" }));

    expect(here.claimed.map(({ run }) => [run.id, run.owner])).toEqual([[mine!.id, "node-a"]]);
    expect(there.claimed.map(({ run }) => [run.id, run.owner])).toEqual([[orphan!.id, "node-b"]]);
  });

  test("L13: a released claim is queued again with a higher token; a run that began is not", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.enqueue([manualRun(bench), manualRun(bench)]);
    const { claimed } = await ledger.pass(passRequest(bench));
    const [idle, begun] = claimed.map(({ claim }) => claim);
    await ledger.startRuns([{ claim: begun!, startedAt: bench.now() }]);
    await ledger.releaseClaims([idle!, begun!]);

    expect(await rowOf(ledger, idle!.runId)).toMatchObject({ state: "queued", owner: undefined, token: 2 });
    expect(await rowOf(ledger, begun!.runId)).toMatchObject({ state: "running", token: 1 });
  });

  test("L10: processes are recorded with the start, found again by whoever takes over, and ended with the run", async () => {
    const bench = await open();
    const [a, b] = [await bench.open(), await bench.open()];
    await a.enqueue([manualRun(bench)]);
    const { claim } = await claimOne(a, bench);
    const process = {
      id: bench.id(),
      ...{ runId: claim.runId, hostId: "host", pid: 4242, startTime: "99", processGroup: 4242 },
      ...{ command: "sh x", cwd: "/", startedAt: START, endedAt: undefined, exitCode: undefined },
    };
    await a.startRuns([{ claim, startedAt: START, process, scriptSha256: "abc" }]);
    const [taken] = (await b.takeOver(takeOverBy("node-b", bench, ["node-a"]))).taken;
    const endedProcesses = [{ id: process.id, exitCode: 137 }];
    const note = {
      runId: claim.runId,
      jobId: undefined,
      at: START,
      kind: "process-ended",
      data: { pid: 4242 },
    };
    await b.closeRuns([fail(bench, taken!.claim, { endedProcesses, events: [note] })]);

    expect(taken?.processes).toEqual([process]);
    expect(await a.processes(claim.runId)).toEqual([{ ...process, endedAt: START, exitCode: 137 }]);
    expect((await rowOf(a, claim.runId)).scriptSha256).toBe("abc");
    expect((await a.events({ runId: claim.runId })).map(({ kind }) => kind)).toContain("process-ended");
  });

  test("output with NUL and broken surrogates is kept, without them, on every engine", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.enqueue([manualRun(bench)]);
    const { claim } = await startOne(ledger, bench);
    const outcome = { state: "succeeded", output: "a\0b\ud800c", isSilent: false } as const;
    await ledger.closeRuns([succeed(bench, claim, { outcome, reason: "x\0y" })]);
    const row = await rowOf(ledger, claim.runId);
    expect(row.outcome?.output).toMatch(/^a.b.c$/su);
    expect(row.reason).toBe("x\ufffdy");
  });

  test("events of two nodes at once come to a follower in order, none behind what it has seen", async () => {
    const bench = await open();
    const ledgers = [await bench.open(), await bench.open()];
    const follower = await bench.open();
    const seen: number[] = [];
    let isOver = false;
    const follow = async () => {
      for (let last = false; ; last = isOver) {
        for (const { sequence } of await follower.events({ after: seen.at(-1) ?? 0 })) seen.push(sequence);
        if (last) return;
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const emit = async (ledger: Ledger) => {
      for (let n = 0; n < 40; n++) {
        const event = { runId: undefined, jobId: undefined, at: START, kind: "note", data: { n } };
        await whenFree(() => ledger.appendEvents([event, event]));
      }
    };
    const following = follow();
    await Promise.all(ledgers.map(emit));
    isOver = true;
    await following;

    expect(seen).toEqual(seen.toSorted((x, y) => x - y));
    expect(new Set(seen).size).toBe(160);
  });
}

function takeOverBy(nodeId: string, bench: Bench, deadNodes: readonly string[] = []) {
  return { nodeId, now: bench.now(), leaseMs: LEASE_MS, deadNodes };
}
