import { describe, expect, test } from "vitest";
import { defineExecutor } from "../../../src/orchestrate/executors/define-executor.ts";
import { served } from "./bench.ts";
import { manualGate } from "./gate.ts";

const double = defineExecutor({
  name: "double",
  effects: "none",
  input: {
    type: "object",
    properties: { n: { type: "number" } },
    required: ["n"],
    additionalProperties: false,
  },
  run: ({ n }) => ({ twice: 2 * Number(n) }),
});

const task = (parts: object = {}) => ({
  executor: "double",
  params: { n: 4 },
  idempotencyKey: "k1",
  ...parts,
});

describe("POST /execute (W5; peers §5.2, 11)", () => {
  test("answers at once with where the task stands, and the poll waits for its end", async () => {
    const there = await served({ double });

    const first = await there.call("POST", "/execute", { body: task() });
    const polled = await there.call("GET", `/execute/${first.json.id}?wait=10s`);

    expect([200, 202]).toContain(first.status);
    expect(polled).toMatchObject({
      status: 200,
      json: { id: first.json.id, state: "succeeded", isOver: true, outcome: { result: { twice: 8 } } },
    });
    expect(await there.context.ledger.run(first.json.id)).toMatchObject({
      ...{ kind: "task", dedupeKey: "event/remote/double/k1", idempotencyKey: "k1", parentId: undefined },
    });
  });

  test("a repeated key is answered with the stored result and done once, also by a node that was restarted meanwhile", async () => {
    let calls = 0;
    const count = defineExecutor({ name: "count", run: () => ({ calls: ++calls }) });
    const there = await served({ count });
    const body = { executor: "count", params: {}, idempotencyKey: "once" };

    const first = await there.call("POST", "/execute?wait=10s", { body });
    await there.server.stop();
    await there.node.stop({ graceMs: 0 });
    await there.context.close();
    const again = await served({ count }, { path: there.context.home.paths.root });
    const second = await again.call("POST", "/execute?wait=10s", { body: { ...body, attempt: 2 } });

    expect(first.json).toMatchObject({ state: "succeeded", outcome: { result: { calls: 1 } } });
    expect(second).toMatchObject({
      status: 200,
      json: { id: first.json.id, outcome: { result: { calls: 1 } } },
    });
  });

  test("two callers with one key at once: one run, both are told its end", async () => {
    const gate = manualGate("slow");
    const there = await served({ slow: gate.executor });
    const body = { executor: "slow", params: {}, idempotencyKey: "k" };

    const both = [1, 2].map(() => there.call("POST", "/execute?wait=20s", { body }));
    (await gate.whenCalled(1)).end({ done: true });
    const [a, b] = await Promise.all(both);

    expect(gate.calls).toHaveLength(1);
    expect(a?.json).toMatchObject({ id: b?.json.id, isOver: true, outcome: { result: { done: true } } });
  });

  test("what failed is run again only for a higher attempt, with the same key", async () => {
    let calls = 0;
    const flaky = defineExecutor({
      name: "flaky",
      run: () => {
        calls += 1;
        if (calls < 2) throw new Error("not yet");
        return { calls };
      },
    });
    const there = await served({ flaky });
    const ask = (attempt: number) =>
      there.call("POST", "/execute?wait=10s", {
        body: { executor: "flaky", params: {}, idempotencyKey: "k", attempt },
      });

    const [first, same, next] = [await ask(1), await ask(1), await ask(2)];

    expect(first.json).toMatchObject({ state: "failed", outcome: { error: { message: "not yet" } } });
    expect(same.json.id).toBe(first.json.id);
    expect(next.json).toMatchObject({ state: "succeeded", outcome: { result: { calls: 2 } } });
    expect(calls).toBe(2);
  });

  test("its deadline counts from its arrival, is enforced here, and clocks that differ do not matter", async () => {
    const gate = manualGate("slow");
    const there = await served({ slow: gate.executor });

    const end = await there.call("POST", "/execute?wait=10s", {
      body: { executor: "slow", params: {}, idempotencyKey: "k", timeoutMs: 300 },
    });

    expect(end.json).toMatchObject({ isOver: true, state: "timedOut" });
  });

  test("peers §5.2, 7: a task whose caller has vanished is cancelled when its lease lapses; one that is asked for is not", async () => {
    const gate = manualGate("slow");
    const there = await served({ slow: gate.executor });
    const put = (key: string) =>
      there.call("POST", "/execute", {
        body: { executor: "slow", params: {}, idempotencyKey: key, leaseMs: 1_000, timeoutMs: 60_000 },
      });
    const [left, kept] = [await put("left"), await put("kept")];
    await gate.whenCalled(2);

    const state = async (id: string) => {
      const run = await there.context.ledger.run(id);
      return run && "state" in run ? `${run.state} ${run.reason}` : "";
    };
    while (!(await state(left.json.id)).startsWith("cancelled"))
      await there.call("GET", `/execute/${kept.json.id}?wait=100ms`);

    expect(await state(left.json.id)).toBe("cancelled callerGone");
    expect(await state(kept.json.id)).toMatch(/^running/);
    const cancelled = await there.call("DELETE", `/execute/${kept.json.id}`);
    expect(cancelled.status === 202 || cancelled.json.isOver).toBe(true);
    expect((await there.call("GET", `/execute/${kept.json.id}?wait=10s`)).json).toMatchObject({
      ...{ isOver: true, state: "cancelled" },
    });
  });

  test.each([
    [{ executor: "doubel" }, 422, "executor.unknown"],
    [{ params: { n: "x" } }, 422, "executor.params"],
    [{ version: "9" }, 422, "executor.unknown"],
    [{ resources: { cpu: 4_000 } }, 422, "input.refused"],
    [{ attempt: 0 }, 400, "input.invalid"],
    [{ params: { n: 5 } }, 409, "input.conflict"],
  ])("%o is refused with %i %s, and nothing is queued", async (parts, status, code) => {
    const there = await served({ double });
    await there.call("POST", "/execute?wait=10s", { body: task() });
    const before = (await there.context.ledger.runs({ limit: 10 })).length;

    const reply = await there.call("POST", "/execute", { body: task(parts) });

    expect({ status: reply.status, code: reply.json.error?.code }).toEqual({ status, code });
    expect(await there.context.ledger.runs({ limit: 10 })).toHaveLength(before);
  });

  test("S5: another machine's token opens this door alone, for the executors it names; without one nothing is told", async () => {
    const config = 'http: {nodes: {line-a: {token: "${env:LINE_A}", executors: [double]}}}';
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, LINE_A: "secret-of-line-a" };
    const other = defineExecutor({ name: "other", run: () => 1 });
    const there = await served({ double, other }, { config, env });
    const token = "secret-of-line-a";

    expect((await there.call("POST", "/execute?wait=10s", { body: task(), token })).json.state).toBe(
      "succeeded",
    );
    const forbidden = { executor: "other", params: {}, idempotencyKey: "o" };
    expect((await there.call("POST", "/execute", { body: forbidden, token })).status).toBe(403);
    expect((await there.call("POST", "/execute", { body: task(), token: "wrong" })).status).toBe(401);
    expect((await there.call("POST", "/execute", { body: task(), token: null })).status).toBe(401);
    expect((await there.call("GET", "/api/jobs", { token })).status).toBe(401);
    expect((await there.call("GET", "/health", { token })).json.executors).toMatchObject([
      { name: "double" },
    ]);
    expect((await there.call("GET", "/health", { token: null })).json).toEqual({
      status: "ok",
      now: expect.any(String),
    });
  });

  test("an id of any other run is unknown here: a node's token must not read jobs", async () => {
    const there = await served({ double });
    const first = await there.call("POST", "/execute?wait=10s", { body: task() });

    expect((await there.call("GET", `/execute/${first.json.id.slice(0, 10)}`)).status).toBe(404);
    expect((await there.call("GET", "/execute/01ARZ3NDEKTSV4RRFFQ69G5FAV")).status).toBe(404);
    expect((await there.call("PUT", `/execute/${first.json.id}`)).status).toBe(405);
  });
});
