// Rules of the outbox (O1–O3, L8) as far as the ledger keeps them.

import { expect, test } from "vitest";
import { MINUTE } from "../../../src/kernel/time.ts";
import type { Ledger } from "../../../src/records/ledger/index.ts";
import {
  type Bench,
  delivery,
  HOST,
  keep,
  LEASE_MS,
  manualRun,
  passRequest,
  START,
  startOne,
  succeed,
  whenFree,
} from "./fixtures.ts";

const MEDIA = {
  file: "output/_media/r/0-a.png",
  name: "a.png",
  kind: "image",
  contentType: "image/png",
} as const;

export function outboxRules(open: () => Promise<Bench>): void {
  test("O1: a key is put once; the second time it changes nothing", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.putDeliveries([delivery({ key: "k", body: "first" })], START);
    await ledger.putDeliveries([delivery({ key: "k", body: "second" }), delivery({ key: "other" })], START);
    expect((await ledger.deliveries({})).map(({ key, body }) => [key, body]).toSorted()).toEqual([
      ["k", "first"],
      ["other", "hello"],
    ]);
  });

  test("O4: a row that is dead from birth keeps its reason and is never taken", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.putDeliveries([delivery({ state: "dead", error: "noHome" })], START);
    expect(await take(ledger, bench)).toEqual([]);
    expect(await ledger.deliveries({ state: ["dead"] })).toMatchObject([
      { error: "noHome", finishedAt: START },
    ]);
  });

  test("U2: a row whose text is where it belongs already is delivered from birth, with its evidence, and is never taken", async () => {
    const bench = await open();
    const ledger = await bench.open();
    const receipt = { id: "output/a/1.md", at: START };
    await ledger.putDeliveries([delivery({ state: "delivered", receipt })], START);
    expect(await take(ledger, bench)).toEqual([]);
    expect(await ledger.deliveries({ state: ["delivered"] })).toMatchObject([
      { receipt, attempts: 0, finishedAt: START },
    ]);
  });

  test("O2: per target one at a time and in order; another target does not wait", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.putDeliveries([to("x", "1"), to("x", "2"), to("y", "3")], START);

    const first = await take(ledger, bench);
    expect(first.map(({ body, state, attempts, token }) => [body, state, attempts, token])).toEqual([
      ["1", "sending", 1, 1],
      ["3", "sending", 1, 1],
    ]);
    expect(await take(ledger, bench)).toEqual([]);
    expect(await ledger.nextDeliveryAt()).toBeUndefined();
    await ledger.closeDeliveries([delivered(first[0]!)]);
    expect((await take(ledger, bench)).map(({ body }) => body)).toEqual(["2"]);
  });

  test("O2: a failed try goes back to the queue and still blocks what comes after it; dead and unknown do not", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.putDeliveries([to("x", "1"), to("x", "2"), to("x", "3")], START);
    const [one] = await take(ledger, bench);
    const retry = { ...fence(one!), kind: "retry", error: "503", nextAttemptAt: START + MINUTE } as const;
    expect(await ledger.closeDeliveries([retry])).toEqual(["closed"]);
    expect(await take(ledger, bench)).toEqual([]);
    expect(await ledger.nextDeliveryAt()).toBe(START + MINUTE);

    await bench.advance(MINUTE);
    const [again] = await take(ledger, bench);
    expect(again).toMatchObject({ body: "1", attempts: 2, error: "503" });
    await ledger.closeDeliveries([{ ...fence(again!), kind: "dead", error: "410", finishedAt: bench.now() }]);
    const [two] = await take(ledger, bench);
    await ledger.closeDeliveries([
      { ...fence(two!), kind: "unknown", error: "cut", finishedAt: bench.now() },
    ]);
    expect((await take(ledger, bench)).map(({ body }) => body)).toEqual(["3"]);
  });

  test("O2: two nodes drain at once: every message is taken once", async () => {
    const bench = await open();
    const [a, b] = [await bench.open(), await bench.open()];
    await a.putDeliveries(
      Array.from({ length: 20 }, (_, n) => to(`target-${n}`, String(n))),
      START,
    );
    const taken = await Promise.all([
      whenFree(() => take(a, bench, "node-a")),
      whenFree(() => take(b, bench, "node-b")),
    ]);
    const bodies = taken.flat().map(({ body }) => Number(body));
    expect(bodies.toSorted((x, y) => x - y)).toEqual(Array.from({ length: 20 }, (_, n) => n));
  });

  test("O2, O3: what a dead sender left in flight is the taker's to judge, with a higher token and one more try; the old one is fenced off", async () => {
    const bench = await open();
    const [a, b] = [await bench.open(), await bench.open()];
    await a.putDeliveries([to("x", "1"), to("y", "2")], START);
    const [left, other] = await take(a, bench, "node-a");
    const request = { nodeId: "node-b", now: START, leaseMs: LEASE_MS };

    expect(await b.takeOverDeliveries({ ...request, deadNodes: [] })).toEqual([]);
    const taken = await b.takeOverDeliveries({ ...request, deadNodes: ["node-a"] });
    expect(taken).toMatchObject([
      { id: left!.id, state: "sending", owner: "node-b", token: 2, attempts: 2 },
      { id: other!.id, token: 2 },
    ]);
    expect(await a.closeDeliveries([delivered(left!)])).toEqual(["lost"]);
    expect(await b.closeDeliveries([delivered(taken[0]!)])).toEqual(["closed"]);
    await bench.advance(LEASE_MS);
    expect(await a.takeOverDeliveries({ ...request, nodeId: "node-a", deadNodes: [] })).toHaveLength(1);
  });

  test("O3: delivered needs a receipt, and is final", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.putDeliveries([to("x", "1")], START);
    const [row] = await take(ledger, bench);
    await ledger.closeDeliveries([delivered(row!)]);

    const stored = await ledger.delivery(row!.id);
    expect(stored).toMatchObject({ state: "delivered", receipt: { id: "m-1", at: START }, owner: undefined });
    expect(await ledger.closeDeliveries([delivered(row!)])).toEqual(["lost"]);
    expect(await ledger.retryDelivery(row!.id, START)).toBeUndefined();
    for (const change of [`"state" = 'queued'`, `"error" = 'x'`, `"receipt" = NULL`, `"token" = 0`])
      await expect(bench.sql(`UPDATE "deliveries" SET ${change}`)).rejects.toThrow(/never|CHECK/);
    await bench.sql(`UPDATE "deliveries" SET "body" = ''`);
    expect((await ledger.delivery(row!.id))?.body).toBe("");
  });

  test("a row with a file keeps it until its text is emptied; then nobody names it any more", async () => {
    const bench = await open();
    const ledger = await bench.open();
    const whole = { ...MEDIA, bytes: 3, sha256: "ab" };
    await ledger.putDeliveries([delivery({ key: "k", body: "a.png", media: whole })], START);
    const [row] = await take(ledger, bench);
    expect(row).toMatchObject({ media: whole });
    const known = async () => [...(await ledger.knownMediaFiles([whole.file, "other"]))];
    expect(await known()).toEqual([whole.file]);

    await ledger.closeDeliveries([delivered(row!)]);
    expect(await known()).toEqual([whole.file]);
    await ledger.blankDeliveries({ before: bench.now() + MINUTE, limit: 10 });

    expect(await ledger.delivery(row!.id)).toMatchObject({ state: "delivered", body: "", media: undefined });
    expect(await known()).toEqual([]);
  });

  test("a file of a task may yet be named while its workflow goes on", async () => {
    const bench = await open();
    const ledger = await bench.open();
    const root = manualRun(bench, { jobId: undefined });
    const task = manualRun(bench, { jobId: undefined, parentId: root.id, rootId: root.id });
    await ledger.enqueue([root, task]);
    const file = `output/_media/${task.id}/0-a.png`;
    const { claimed } = await ledger.pass(passRequest(bench, { decide: keep }));
    const claimOf = (id: string) => claimed.filter(({ run }) => run.id === id).map(({ claim }) => claim);
    await ledger.closeRuns(claimOf(task.id).map((claim) => succeed(bench, claim)));
    expect([...(await ledger.knownMediaFiles([file]))]).toEqual([file]);

    await ledger.closeRuns(claimOf(root.id).map((claim) => succeed(bench, claim)));
    expect([...(await ledger.knownMediaFiles([file]))]).toEqual([]);
  });

  test("O2: a file is slow to send: its row is held six times as long as a text", async () => {
    const bench = await open();
    const [a, b] = [await bench.open(), await bench.open()];
    const media = { ...MEDIA, bytes: 3, sha256: "ab" };
    await a.putDeliveries([to("x", "text"), { ...to("y", "file"), media }], START);
    await take(a, bench, "node-a");
    const overdue = async () =>
      (
        await b.takeOverDeliveries({ nodeId: "node-b", now: bench.now(), leaseMs: LEASE_MS, deadNodes: [] })
      ).map(({ body }) => body);

    await bench.advance(LEASE_MS);
    expect(await overdue()).toEqual(["text"]);
    await bench.advance(5 * LEASE_MS);
    expect(await overdue()).toContain("file");
  });

  test("a file is sent from the host that made it, as long as a node lives there; then by whoever is left", async () => {
    const bench = await open();
    const elsewhere = { ...HOST, hostId: "elsewhere" };
    const [here, there] = [await bench.open(), await bench.open({ host: elsewhere })];
    for (const [id, hostId] of [
      ["node-a", HOST.hostId],
      ["node-b", elsewhere.hostId],
    ] as const)
      await here.registerNode({
        ...{ id, hostId, name: id, bootId: "b", pid: 1, startTime: "1", version: "0" },
        ...{ startedAt: START, lastSeenAt: START, lastPassAt: START, clockOffsetMs: 0 },
        ...{ stoppingAt: undefined, stoppedAt: undefined, maxParallelRuns: 1, liveRuns: 0 },
        ...{ url: undefined, lastError: undefined },
      });
    await here.enqueue([manualRun(bench)]);
    const { run } = await startOne(here, bench, { nodeId: "node-a" });
    const media = { ...MEDIA, bytes: 3, sha256: "ab" };
    await here.putDeliveries(
      [
        to("x", "text"),
        { ...to("y", "a.png"), runId: run.id, media },
        { ...to("z", "b.png"), runId: run.id, media },
      ],
      START,
    );
    const bodies = async (ledger: Ledger, nodeId: string) =>
      (await ledger.takeDeliveries({ nodeId, now: bench.now(), leaseMs: LEASE_MS, limit: 1 })).map(
        ({ body }) => body,
      );

    expect(await bodies(there, "node-b")).toEqual(["text"]);
    expect(await bodies(there, "node-b")).toEqual([]);
    expect(await bodies(here, "node-a")).toEqual(["a.png"]);
    await here.updateNode("node-a", { stoppedAt: bench.now() });
    expect(await bodies(there, "node-b")).toEqual(["b.png"]);
  });

  test("a run's deliveries are listed by part, though all were made in one millisecond; pages go on where one ended", async () => {
    const bench = await open();
    const ledger = await bench.open();
    const parts = Array.from({ length: 12 }, (_, part) => delivery({ key: `k${part}`, runId: "r", part }));
    await ledger.putDeliveries(parts, START);
    const newest = await ledger.deliveries({ runId: "r", limit: 5 });
    const next = await ledger.deliveries({ runId: "r", limit: 5, before: newest[4]!.id });
    expect([...newest, ...next].map(({ part }) => part)).toEqual([11, 10, 9, 8, 7, 6, 5, 4, 3, 2]);
  });

  test("a delivered text is emptied when its time is over; a dead one is kept, for a person may still send it", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.putDeliveries([to("x", "1"), to("y", "2"), to("z", "3")], START);
    const [x, y, z] = await take(ledger, bench);
    await ledger.closeDeliveries([
      delivered(x!),
      { ...fence(y!), kind: "dead", error: "410", finishedAt: START },
      { ...delivered(z!), finishedAt: START + 2 },
    ]);

    expect(await ledger.blankDeliveries({ before: START + 1, limit: 10 })).toBe(1);

    const bodies = await Promise.all([x, y, z].map(async (row) => (await ledger.delivery(row!.id))?.body));
    expect(bodies).toEqual(["", "2", "3"]);
    expect(await ledger.blankDeliveries({ before: START + 1, limit: 10 })).toBe(0);
  });

  test("O2: a person dismisses a dead row: it is suppressed with the reason, and no late duplicate wakes it", async () => {
    const bench = await open();
    const ledger = await bench.open();
    const message = to("x", "1");
    await ledger.putDeliveries([message], START);
    const [row] = await take(ledger, bench);
    const dismissal = { reason: "dismissed by ada", now: START + 1 };
    expect(await ledger.dismissDelivery(row!.id, dismissal)).toBeUndefined();
    await ledger.closeDeliveries([{ ...fence(row!), kind: "dead", error: "410", finishedAt: START }]);

    const rested = await ledger.dismissDelivery(row!.id, dismissal);

    expect(rested).toMatchObject({ state: "suppressed", error: "dismissed by ada", finishedAt: START + 1 });
    await ledger.putDeliveries([message], START);
    expect(await ledger.nextDeliveryAt()).toBeUndefined();
    expect(await ledger.retryDelivery(row!.id, START)).toBeUndefined();
    expect(await ledger.dismissDelivery(row!.id, dismissal)).toBeUndefined();
  });

  test("O2: a person sends a dead row again: tries count from nothing, under a new token", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.putDeliveries([to("x", "1")], START);
    const [row] = await take(ledger, bench);
    await ledger.closeDeliveries([{ ...fence(row!), kind: "dead", error: "410", finishedAt: START }]);

    const retried = await ledger.retryDelivery(row!.id, START);
    expect(retried).toMatchObject({
      state: "queued",
      attempts: 0,
      error: undefined,
      finishedAt: undefined,
      token: 2,
    });
    expect(await take(ledger, bench)).toMatchObject([{ id: row!.id, attempts: 1, token: 3 }]);
  });

  test("deliveries are listed newest first, in pages, by state, run and job", async () => {
    const bench = await open();
    const ledger = await bench.open();
    for (let n = 0; n < 5; n++) {
      await ledger.putDeliveries(
        [delivery({ key: `k${n}`, runId: `run-${n % 2}`, jobId: "job-a" })],
        bench.now(),
      );
      await bench.advance(1);
    }
    const keys = async (filter: Parameters<Ledger["deliveries"]>[0]) =>
      (await ledger.deliveries(filter)).map(({ key }) => key);

    expect(await keys({ limit: 2 })).toEqual(["k4", "k3"]);
    const page = await ledger.deliveries({ limit: 2 });
    expect(await keys({ limit: 2, before: page[1]!.id })).toEqual(["k2", "k1"]);
    expect(await keys({ runId: "run-1" })).toEqual(["k3", "k1"]);
    expect(await keys({ jobId: "job-a", state: ["queued"], limit: 1 })).toEqual(["k4"]);
    expect(await keys({ state: ["dead", "queued"], limit: 3 })).toEqual(["k4", "k3", "k2"]);
    expect((await ledger.delivery(page[0]!.id.slice(0, 20)))?.key).toBeDefined();
  });
}

type Row = Awaited<ReturnType<Ledger["takeDeliveries"]>>[number];

function to(target: string, body: string) {
  return delivery({ target: { platform: "local", text: target }, body });
}

function take(ledger: Ledger, bench: Bench, nodeId = "node-a") {
  return ledger.takeDeliveries({ nodeId, now: bench.now(), leaseMs: LEASE_MS, limit: 100 });
}

const fence = ({ id, token, owner }: Row) => ({ id, token, owner: owner ?? "" });

function delivered(row: Row) {
  return { ...fence(row), kind: "delivered", receipt: { id: "m-1", at: START }, finishedAt: START } as const;
}
