import { describe, expect, test } from "vitest";
import { bindLogRing, LogRing } from "../../src/app/log-ring.ts";
import { BY_HAND, serve, YEARLY } from "./server.ts";

describe("nodes, status, doctor", () => {
  test("a node that is up is listed with the address it serves", async () => {
    const { call, node, server } = await serve({ withNode: true });
    await node?.announceUrl(server.url);
    expect((await call("GET", "/api/nodes")).json).toMatchObject([
      { id: node?.id, state: "up", url: server.url, pid: process.pid, version: "0.0.0-test" },
    ]);
    const doctor = (await call("GET", "/api/doctor")).json;
    expect(doctor.findings.map(({ code }: { code: string }) => code)).not.toContain("noNode");
  });

  test("with none up, status shows none and doctor says what to do", async () => {
    const { call, context } = await serve();
    await call("POST", "/api/jobs", { body: YEARLY });
    await call("POST", "/api/jobs?paused=later", { body: BY_HAND });
    const status = (await call("GET", "/api/status")).json;
    expect(status).toMatchObject({
      home: context.home.paths.root,
      nodes: [],
      jobs: { scheduled: 1, paused: 1 },
      upcoming: [{ jobId: "yearly" }],
      attention: [],
    });
    const doctor = (await call("GET", "/api/doctor")).json;
    expect(doctor.isHealthy).toBe(false);
    expect(doctor.findings).toContainEqual({
      code: "noNode",
      what: "No node is up, so nothing fires.",
      todo: "Start one: nightshift up.",
    });
  });
});

describe("schedule", () => {
  test("T4: says what a text means and when it fires, across a DST change of the zone asked for", async () => {
    const { call } = await serve();
    const query = new URLSearchParams({
      text: "30 2 * * *",
      timezone: "America/New_York",
      from: "2026-03-07T12:00:00Z",
      count: "2",
    });
    expect((await call("GET", `/api/schedule?${query}`)).json).toEqual({
      kind: "cron",
      display: expect.any(String),
      timezone: "America/New_York",
      next: ["2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"],
    });
  });

  test("without a zone the home's counts", async () => {
    const { call } = await serve({ config: "timezone: Asia/Tokyo\n" });
    const reply = await call("GET", "/api/schedule?text=daily+at+7am&from=2026-06-01T00:00:00Z&count=1");
    expect(reply.json).toMatchObject({ timezone: "Asia/Tokyo", next: ["2026-06-01T22:00:00Z"] });
  });

  test.each([
    ["", 400, "input.usage", "text is missing."],
    ["?text=now+and+then", 422, "schedule.unreadable", ""],
    ["?text=0+0+31+2+*", 422, "schedule.never-fires", ""],
    ["?text=noon&timezone=Mars/Base", 422, "schedule.zone", "Mars/Base"],
    ["?text=noon&count=-1", 400, "input.usage", 'count "-1" is not a whole number from 1 to 1000.'],
  ])("bad input is refused with its code: %s", async (query, status, code, message) => {
    const { call } = await serve();
    const reply = await call("GET", `/api/schedule${query}`);
    expect([reply.status, reply.json.error.code]).toEqual([status, code]);
    expect(reply.json.error.message).toContain(message);
  });
});

describe("plan", () => {
  test("T6: says what an outage does to each slot", async () => {
    const { call } = await serve();
    await call("POST", "/api/jobs", {
      body: { id: "hourly", schedule: "0 * * * *", timezone: "UTC", run: "hello.sh" },
    });
    await call("POST", "/api/jobs", { body: { ...YEARLY, schedule: "0 2 * * *" } });
    const query = "from=2030-01-01T00:00:00Z&down=2030-01-01T01:30:00Z..2030-01-01T04:30:00Z&job=hourly";
    const plan = (await call("GET", `/api/plan?${query}`)).json;
    expect(plan).toMatchObject({
      from: "2030-01-01T00:00:00Z",
      until: "2030-01-02T00:00:00Z",
      down: [{ from: "2030-01-01T01:30:00Z", to: "2030-01-01T04:30:00Z" }],
    });
    expect(plan.slots.every(({ jobId }: { jobId: string }) => jobId === "hourly")).toBe(true);
    const fateAt = (slot: string) => plan.slots.find(({ first }: { first: string }) => first === slot);
    expect(fateAt("2030-01-01T02:00:00Z")).toMatchObject({ fate: "missed", startsAt: null });
    expect(fateAt("2030-01-01T05:00:00Z").fate).not.toBe("missed");
  });

  test.each([
    ["?down=sometimes", 'down "sometimes" is no stretch of time.'],
    ["?days=32", 'days "32" is not a whole number from 1 to 31.'],
    ["?job=nobody", 'There is no job "nobody".'],
  ])("bad input is refused by name: %s", async (query, message) => {
    const { call } = await serve();
    const reply = await call("GET", `/api/plan${query}`);
    expect(reply.json.error.message.replace("--", "")).toContain(message);
    expect([400, 404]).toContain(reply.status);
  });
});

describe("/metrics", () => {
  test("law 7: counts runs, deliveries and model calls by bounded words, in Prometheus' form, behind the token", async () => {
    const served = await serve();
    await served.context.ledger.countModelCalls([
      {
        hour: 0,
        model: 'ma"in',
        provider: "openai",
        role: "primary",
        end: "failed",
        errorClass: "rateLimit",
        calls: 2,
        attempts: 5,
        inputTokens: 100,
        outputTokens: 20,
        cachedInputTokens: 0,
        microUsd: 1_500,
        unpricedCalls: 0,
        totalMs: 3_000,
        firstTokenMs: 0,
        firstTokens: 0,
      },
    ]);
    const token = { authorization: `Bearer ${served.context.home.token}` };

    const refused = await fetch(new URL("/metrics", served.server.url));
    const answer = await fetch(new URL("/metrics", served.server.url), { headers: token });
    const text = await answer.text();

    expect(refused.status).toBe(401);
    expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(text).toContain("# TYPE nightshift_live_runs gauge\nnightshift_live_runs 0\n");
    const labels = 'model="ma\\"in",provider="openai",role="primary",end="failed",error="rateLimit"';
    expect(text).toContain(`nightshift_model_attempts_total{${labels}} 5\n`);
    expect(text).toContain(`nightshift_model_tokens_total{${labels},direction="out"} 20\n`);
    expect(text).toContain(`nightshift_model_cost_usd_total{${labels}} 0.0015\n`);
    const { json } = await served.call("GET", "/api/metrics?since=1970-01-01T00:00:00Z");
    expect(json).toMatchObject({ queues: [], executors: [], models: [{ model: 'ma"in', attempts: 5 }] });
  });
});

describe("/api/logs", () => {
  test("the newest lines of this node's log, by level; none where the process keeps none", async () => {
    const { call, context } = await serve();
    expect((await call("GET", "/api/logs")).json).toEqual([]);
    const ring = new LogRing({ now: () => 0, redact: () => context.redact });
    bindLogRing(context.log, ring);
    ring.sink("info", "run-started", { runId: "r" });
    ring.sink("error", "store-lost", { error: "gone" });

    expect((await call("GET", "/api/logs?tail=1&level=info")).json).toEqual([
      { at: "1970-01-01T00:00:00Z", level: "error", event: "store-lost", error: "gone" },
    ]);
    expect((await call("GET", "/api/logs?level=info")).json).toHaveLength(2);
    expect((await call("GET", "/api/logs?level=loud")).status).toBe(400);
  });
});
