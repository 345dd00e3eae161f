import { createServer } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Context } from "../../src/app/context.ts";
import { waitForChange } from "../../src/app/wait-for-change.ts";
import { readEvents } from "./event-reader.ts";
import { BY_HAND, type Served, serve, YEARLY } from "./server.ts";

/** Runs the job by hand on the node and waits for its end, told by the event stream. */
async function runToEnd(served: Served, job: string): Promise<string> {
  const after = await served.context.ledger.lastSequence();
  const queued = await served.call("POST", `/api/jobs/${job}/run`);
  const { id } = queued.json;
  expect([queued.status, queued.headers.get("location")]).toEqual([202, `/api/runs/${id}`]);
  const reader = await readEvents(served, `/api/events?run=${id}&after=${after}`);
  for (let event = await reader.next(); event; event = await reader.next())
    if (event.data.kind === "run-finished") break;
  await reader.hangUp();
  return id;
}

describe("runs", () => {
  test("U2: a run by hand goes from queued to its output, and every view of it agrees", async () => {
    const served = await serve({ withNode: true });
    const { call } = served;
    await call("POST", "/api/jobs", { body: BY_HAND });
    const id = await runToEnd(served, "hello");

    const run = await call("GET", `/api/runs/${id}`);
    expect(run.json).toMatchObject({
      id,
      jobId: "hello",
      trigger: "manual",
      slot: null,
      state: "succeeded",
      outcome: { state: "succeeded", output: "hello\n", isSilent: false },
      deliveries: [{ kind: "result", target: "local" }],
    });
    expect((await call("GET", `/api/runs/${id.slice(0, 20)}`)).json.id).toBe(id);
    expect((await call("GET", `/api/runs/${id}/tree`)).json).toMatchObject({ id, children: [] });
    expect((await call("GET", `/api/runs/${id}/explain`)).json).toMatchObject({
      runId: id,
      because: "finished",
    });
    const events = (await call("GET", `/api/runs/${id}/events`)).json;
    expect(events.map(({ kind }: { kind: string }) => kind)).toEqual(
      expect.arrayContaining(["run-started", "stdout", "run-finished"]),
    );
    const page = (await call("GET", `/api/runs/${id}/events?after=${events[0].sequence}&limit=1`)).json;
    expect(page).toEqual([events[1]]);
    expect((await call("GET", "/api/jobs/hello")).json.lastRun).toMatchObject({ id, state: "succeeded" });
  });

  test("U1: lists are newest first, filtered like the command line's, paged by the last id", async () => {
    const { call } = await serve();
    await call("POST", "/api/jobs", { body: { ...BY_HAND, name: "Greeter" } });
    await call("POST", "/api/jobs", { body: YEARLY });
    const ids: string[] = [];
    for (const job of ["hello", "yearly", "hello"])
      ids.unshift((await call("POST", `/api/jobs/${job}/run`)).json.id);
    const list = async (query: string) =>
      (await call("GET", `/api/runs${query}`)).json.map((run: { id: string }) => run.id);
    expect(await list("")).toEqual(ids);
    expect(await list("?limit=1")).toEqual([ids[0]]);
    expect(await list(`?limit=1&before=${ids[0]}`)).toEqual([ids[1]]);
    expect(await list("?job=greeter")).toEqual([ids[0], ids[2]]);
    expect(await list("?state=failed,queued&since=1h")).toEqual(ids);
    expect(await list("?state=failed&state=missed")).toEqual([]);
    expect(await list("?since=2099-01-01")).toEqual([]);
  });

  test.each([
    ["?limit=0", 'limit "0" is not a whole number from 1 to 1000.'],
    ["?limit=1001", 'limit "1001" is not a whole number from 1 to 1000.'],
    ["?state=done", 'state "done" is not one of queued, '],
    ["?since=yesterday", 'since "yesterday" is not an instant such as 2026-11-29T06:00:00Z'],
    ["?job=nobody", 'There is no job "nobody".'],
    ["?sicne=1h", 'unknown query parameter "sicne"'],
  ])("a filter that cannot be read is refused by name: %s", async (query, message) => {
    const { call } = await serve();
    const reply = await call("GET", `/api/runs${query}`);
    expect([400, 404]).toContain(reply.status);
    expect(reply.json.error.message).toContain(message);
  });

  test("a queued run is cancelled at once, a second time it is a conflict; then it can be retried", async () => {
    const { call } = await serve();
    await call("POST", "/api/jobs", { body: BY_HAND });
    const { id } = (await call("POST", "/api/jobs/hello/run")).json;
    const open = await call("POST", `/api/runs/${id}/retry`);
    expect([open.status, open.json.error.message]).toEqual([409, `run ${id} is queued`]);
    expect((await call("GET", `/api/runs/${id}/explain`)).json.because).toBe("nodeDown");
    expect((await call("POST", `/api/runs/${id}/cancel`)).json.state).toBe("cancelled");
    const again = await call("POST", `/api/runs/${id}/cancel`);
    expect([again.status, again.json.error.code]).toEqual([409, "input.conflict"]);
    const retried = await call("POST", `/api/runs/${id}/retry`, { body: { sameKey: true } });
    expect([retried.status, retried.json.state]).toEqual([202, "queued"]);
    expect(retried.json.id).not.toBe(id);
    expect((await call("POST", `/api/runs/${id}/retry`, { body: { samekey: true } })).status).toBe(400);
  });

  test("L6: only an unknown run is resolved, and only with a word that is known", async () => {
    const { call } = await serve();
    await call("POST", "/api/jobs", { body: BY_HAND });
    const { id } = (await call("POST", "/api/jobs/hello/run")).json;
    const resolved = await call("POST", `/api/runs/${id}/resolve`, {
      body: { as: "succeeded", note: "seen" },
    });
    expect([resolved.status, resolved.json.error.message]).toEqual([409, `run ${id} is queued, not unknown`]);
    const bad = await call("POST", `/api/runs/${id}/resolve`, { body: { as: "done" } });
    expect([bad.status, bad.json.error.code]).toEqual([400, "input.invalid"]);
    expect(bad.json.error.message).toContain("as must be one of succeeded, failed, rerun");
    expect((await call("POST", `/api/runs/${id}/resolve`)).status).toBe(400);
  });

  test("L1: an unknown run is resolved once; the row itself stays unknown, a rerun queues another", async () => {
    const { call, context } = await serve();
    await call("POST", "/api/jobs", { body: BY_HAND });
    const [first, second] = [await leaveUnknown(context, call), await leaveUnknown(context, call)];
    const body = { as: "succeeded", note: "seen in the bank" };
    expect((await call("POST", `/api/runs/${first}/resolve`, { body })).json).toMatchObject({
      state: "unknown",
      outcome: { state: "unknown", why: "its node died" },
      resolutions: [{ as: "succeeded", by: "http", note: "seen in the bank" }],
    });
    const again = await call("POST", `/api/runs/${first}/resolve`, { body: { as: "failed" } });
    expect([again.status, again.json.error.code]).toEqual([409, "input.conflict"]);
    await call("POST", `/api/runs/${second}/resolve`, { body: { as: "rerun" } });
    expect((await call("GET", "/api/runs?limit=1")).json).toMatchObject([
      { trigger: "rerun", state: "queued" },
    ]);
  });

  test.each(["", "/tree", "/events", "/explain"])("an unknown run is 404: GET /runs/{id}%s", async (tail) => {
    const { call } = await serve();
    const reply = await call("GET", `/api/runs/01nobody${tail}`);
    expect([reply.status, reply.json.error.message]).toEqual([404, 'there is no run "01nobody"']);
  });

  test("L9: the audit accounts for every slot of a job that ran on its schedule", async () => {
    const served = await serve({ withNode: true });
    const { call, context } = served;
    const after = await context.ledger.lastSequence();
    const body = { id: "tick", schedule: "every 1s", run: "hello.sh" };
    expect((await call("POST", "/api/jobs", { body })).status).toBe(201);
    const reader = await readEvents(served, `/api/events?job=tick&after=${after}`);
    for (let event = await reader.next(); event; event = await reader.next())
      if (event.data.kind === "run-finished") break;
    await reader.hangUp();
    const audit = await call("GET", "/api/audit?job=tick&since=1h");
    expect(audit.json).toMatchObject({ isClean: true, missing: [], doubled: [], early: [] });
    expect(audit.json.accounted).toBeGreaterThanOrEqual(1);
    expect((await call("GET", "/api/audit?job=nobody")).status).toBe(404);
  });
});

describe("deliveries", () => {
  test("O2: a dead one is shown with its error and sent again on a person's word", async () => {
    let status = 404;
    const peer = createServer((request, response) => {
      request.resume().on("end", () => response.writeHead(status).end());
    });
    await new Promise<void>((resolve) => peer.listen(0, "127.0.0.1", resolve));
    onTestFinished(
      () =>
        new Promise<void>((resolve) => {
          peer.close(() => resolve());
          peer.closeAllConnections();
        }),
    );
    const address = peer.address();
    const port = typeof address === "object" && address ? address.port : 0;
    const config = `deliver: {webhooks: {peer: {url: "http://127.0.0.1:${port}/"}}, allowPrivate: ["127.0.0.1"]}\n`;
    const served = await serve({ withNode: true, config });
    const { call } = served;
    await call("POST", "/api/jobs", { body: { ...BY_HAND, deliver: "webhook:peer" } });
    await runToEnd(served, "hello");
    const first = await untilDelivery(served, (state) => state === "dead");
    expect((await call("GET", `/api/deliveries/${first.id}`)).json).toMatchObject({
      state: "dead",
      attempts: 1,
    });
    status = 204;
    expect((await call("POST", `/api/deliveries/${first.id}/retry`)).json.state).toBe("queued");
    const second = await untilDelivery(served, (state) => state === "delivered");
    expect(second.receipt).toMatchObject({ status: 204 });
    const again = await call("POST", `/api/deliveries/${first.id}/retry`);
    expect([again.status, again.json.error.code]).toEqual([409, "input.conflict"]);
    expect((await call("GET", "/api/deliveries?state=dead&job=hello")).json).toEqual([]);
    expect((await call("GET", "/api/deliveries?limit=1")).json).toHaveLength(1);
  });

  test("an unknown one is 404, an unknown state is refused by name", async () => {
    const { call } = await serve();
    expect((await call("GET", "/api/deliveries/01nobody")).status).toBe(404);
    expect((await call("POST", "/api/deliveries/01nobody/retry")).status).toBe(404);
    const bad = await call("GET", "/api/deliveries?state=lost");
    expect([bad.status, bad.json.error.message]).toEqual([
      400,
      'state "lost" is not one of queued, sending, delivered, unknown, dead, suppressed.',
    ]);
  });
});

/** Looks again at each change of the ledger. */
async function untilDelivery(
  { call, context }: Served,
  isWanted: (state: string) => boolean,
  // biome-ignore lint/suspicious/noExplicitAny: a document as it came
): Promise<any> {
  const { signal } = new AbortController();
  for (;;) {
    const [delivery] = (await call("GET", "/api/deliveries")).json;
    if (delivery && isWanted(delivery.state)) return delivery;
    await waitForChange(context, { signal });
  }
}

/** A run whose node began it and never told how it ended. */
async function leaveUnknown(context: Context, call: Served["call"]): Promise<string> {
  const { id } = (await call("POST", "/api/jobs/hello/run")).json;
  const { ledger, decide, digest } = context;
  const now = await ledger.now();
  const { claimed } = await ledger.pass({
    nodeId: "dead",
    now,
    capacity: 1,
    liveRuns: 0,
    leaseMs: 60_000,
    decide,
    digest,
    cannotPrepare: () => undefined,
  });
  const claim = claimed[0]!.claim;
  await ledger.startRuns([{ claim, startedAt: now }]);
  const outcome = { state: "unknown", why: "its node died" } as const;
  await ledger.closeRuns([{ claim, state: "unknown", reason: undefined, outcome, finishedAt: now }]);
  return id;
}
