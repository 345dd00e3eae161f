import { describe, expect, test } from "vitest";
import type { Context } from "../../src/app/context.ts";
import { followEvents } from "../../src/app/follow-events.ts";
import { openContext } from "../../src/app/open-context.ts";
import { manualClock } from "../support/clock.ts";
import { readEvents } from "./event-reader.ts";
import { addScript, BY_HAND, openHome, serve } from "./server.ts";

function append(context: Context, count: number, jobId = "hello", length = 0): Promise<void> {
  const at = context.clock.now();
  const events = Array.from({ length: count }, (_, n) => ({
    runId: undefined,
    jobId,
    at,
    kind: "stdout",
    data: { text: `line ${n}\n\ndata: no block of its own${"x".repeat(length)}` },
  }));
  return context.ledger.appendEvents(events);
}

async function sequences(context: Context, filter: { jobId?: string } = {}): Promise<number[]> {
  const all: number[] = [];
  for (;;) {
    const page = await context.ledger.events({ ...filter, after: all.at(-1) ?? 0, limit: 500 });
    if (page.length === 0) return all;
    all.push(...page.map(({ sequence }) => sequence));
  }
}

describe("the event stream", () => {
  test("starts at now: what was before is not told, what comes after is, once and in order", async () => {
    const served = await serve();
    await append(served.context, 5);
    const reader = await readEvents(served);
    await append(served.context, 3);
    const read = [await reader.next(), await reader.next(), await reader.next()].map((event) => event?.id);
    expect(read).toEqual((await sequences(served.context)).slice(5));
    await reader.hangUp();
  });

  test("a reader cut before its first event knows where to resume: nothing in between is lost", async () => {
    const served = await serve();
    await append(served.context, 2);
    const reader = await readEvents(served);
    const ended = reader.next();
    await served.server.stop();
    await ended;
    expect(reader.lastId()).toBe(String((await sequences(served.context)).at(-1)));
    await append(served.context, 1);
    const again = await serve({ context: served.context });
    const resumed = await readEvents(again, "/api/events", reader.lastId());
    expect((await resumed.next())?.id).toBe((await sequences(served.context)).at(-1));
    await resumed.hangUp();
  });

  test("resumed by Last-Event-ID again and again while jobs run and change, it loses and repeats nothing", async () => {
    const served = await serve({ withNode: true });
    const { call, context } = served;
    await addScript(context, "talk.sh", "#!/bin/sh\nfor n in 1 2 3 4 5; do echo line $n; done\n");
    await call("POST", "/api/jobs", { body: { id: "talk", run: "talk.sh", overlap: "allow" } });
    const start = await context.ledger.lastSequence();
    const runIds: string[] = [];
    const changing = (async () => {
      for (let turn = 0; turn < 8; turn++) {
        runIds.push((await call("POST", "/api/jobs/talk/run")).json.id);
        await call("PATCH", "/api/jobs/talk", { body: { name: `turn ${turn}` } });
      }
    })();
    const read: number[] = [];
    const finished = new Set<string>();
    let lastId = String(start);
    while (finished.size < 8) {
      const reader = await readEvents(served, "/api/events", lastId);
      for (let n = 0; n < 7 && finished.size < 8; n++) {
        const event = await reader.next();
        if (!event) throw new Error("the stream ended by itself");
        read.push(event.data.sequence);
        expect(event.id).toBe(event.data.sequence);
        if (event.data.kind === "run-finished" && event.data.runId) finished.add(event.data.runId);
      }
      lastId = reader.lastId();
      await reader.hangUp();
    }
    await changing;
    expect([...finished].sort()).toEqual([...runIds].sort());
    const all = (await sequences(context)).filter(
      (sequence) => sequence > start && sequence <= Number(lastId),
    );
    expect(read).toEqual(all);
  });

  test("filtered by job or run, it tells nothing else; an unknown one is refused before it begins", async () => {
    const served = await serve();
    const { call, context } = served;
    await call("POST", "/api/jobs", { body: { ...BY_HAND, name: "Greeter" } });
    await append(context, 2, "other");
    await append(context, 2);
    await append(context, 1, "other");
    const reader = await readEvents(served, "/api/events?after=0&job=greeter");
    const mine = await sequences(context, { jobId: "hello" });
    for (const sequence of mine) expect((await reader.next())?.id).toBe(sequence);
    await reader.hangUp();
    expect((await call("GET", "/api/events?job=nobody")).status).toBe(404);
    expect((await call("GET", "/api/events?run=nobody")).status).toBe(404);
    expect((await call("GET", "/api/events?after=-1")).status).toBe(400);
    const bad = await call("GET", "/api/events", { headers: { "last-event-id": "x" } });
    expect([bad.status, bad.json.error.message]).toEqual([400, 'Last-Event-ID "x" is no sequence.']);
  });

  test("a reader that does not read costs no memory: nothing is fetched beyond what its socket takes", async () => {
    const served = await serve();
    // Far more than the sockets of both ends can hold.
    await append(served.context, 6_000, "hello", 4_000);
    let fetched = 0;
    const { ledger } = served.context;
    const counting: Context = {
      ...served.context,
      ledger: Object.assign(Object.create(ledger) as typeof ledger, {
        events: async (filter: Parameters<typeof ledger.events>[0]) => {
          const page = await ledger.events(filter);
          fetched += page.length;
          return page;
        },
      }),
    };
    const again = await serve({ context: counting });
    const reader = await readEvents(again, "/api/events?after=0");
    for (let n = 0; n < 10; n++) await reader.next();
    await askOften(again.call);
    expect(fetched).toBeLessThan(6_000);
    for (let n = 10; n < 6_000; n++) await reader.next();
    expect(Number(reader.lastId())).toBe((await sequences(served.context)).at(-1));
    await reader.hangUp();
  });

  test("a reader that has hung up does not hold the stop", async () => {
    const served = await serve();
    const reader = await readEvents(served);
    await append(served.context, 1);
    await reader.next();
    await reader.hangUp();
    const before = served.context.clock.monotonicMs();
    await served.server.stop();
    expect(served.context.clock.monotonicMs() - before).toBeLessThan(1_500);
  });
});

/** Gives the server many turns in which it could read ahead. */
async function askOften(call: (method: string, path: string) => Promise<unknown>): Promise<void> {
  for (let n = 0; n < 100; n++) await call("GET", "/api/nodes");
}

describe("following", () => {
  test("with nothing to tell for 15 s it gives a sign of life, and goes on", async () => {
    const { ledger } = await openHome();
    const clock = manualClock(0);
    const abort = new AbortController();
    const events = followEvents({ ledger, clock }, { after: 0, quietMs: 15_000, signal: abort.signal });
    const first = events.next();
    for (let waited = 0; waited < 15_000; waited += 250) {
      await clock.whenSleeping();
      await clock.advance(250);
    }
    expect(await first).toEqual({ done: false, value: [] });
    const second = events.next();
    await ledger.appendEvents([{ runId: undefined, jobId: "a", at: 0, kind: "stdout", data: {} }]);
    await clock.whenSleeping();
    await clock.advance(250);
    expect((await second).value).toMatchObject([{ jobId: "a" }]);
    const last = events.next();
    abort.abort(new Error("gone"));
    expect(await last).toEqual({ done: true, value: undefined });
    expect(clock.sleeping()).toBe(0);
  });

  test("L11: what another process records is told here", async () => {
    const served = await serve();
    const other = await openContext({
      path: served.context.home.paths.root,
      storeUrl: undefined,
      actor: "other",
      isDebug: false,
      env: {},
      version: "0",
    });
    try {
      const reader = await readEvents(served);
      await append(other, 1);
      await other.ledger.wakeOthers();
      expect((await reader.next())?.data.jobId).toBe("hello");
      await reader.hangUp();
    } finally {
      await other.close();
    }
  });
});
