import { describe, expect, test } from "vitest";
import { resolveRun } from "../../../src/app/resolve-run.ts";
import { cancelRun, runTree } from "../../../src/app/runs.ts";
import { defineExecutor } from "../../../src/orchestrate/executors/define-executor.ts";
import { gated, unitOf, WorkflowBench } from "./bench.ts";

const CHAIN = `
name: chain
params: {line: {type: string, default: A}}
tasks:
  - {id: a, executor: echo, params: {line: "{params.line}", n: 1}}
  - {id: b, executor: echo, params: {before: "{{ a.result }}"}, dependsOn: [a]}
  - {id: c, executor: echo, params: {n: "{{ b.result.before.n + 1 }}"}, dependsOn: [b]}
outputs: {n: "{{ c.result.n }}", line: "{{ b.result.before.line }}"}
`;

describe("a workflow", () => {
  test("runs its tasks in order, hands values on with their types, and each is a run of its tree", async () => {
    const bench = await WorkflowBench.open();
    await bench.node();

    const { id } = await bench.submit(CHAIN, { line: "B" });
    const run = await bench.ended(id);

    expect(run).toMatchObject({ state: "succeeded", kind: "workflow" });
    expect(run.outcome).toMatchObject({ result: { n: 2, line: "B" }, output: "n: 2\nline: B" });
    expect(await bench.tasks(id)).toEqual({ a: "succeeded", b: "succeeded", c: "succeeded" });
  });

  test("G3: a handled failure is partiallySucceeded, what nobody activated is skipped, finally runs", async () => {
    const bench = await WorkflowBench.open();
    await bench.node();

    const { id } = await bench.submit(`
tasks:
  - {id: a, executor: echo, params: {fail: "no paper"}, retry: 0, onFailure: [alert], onSuccess: [next]}
  - {id: alert, executor: echo, params: {body: "{error}"}}
  - {id: next, executor: echo}
  - {id: after, executor: echo, dependsOn: [next]}
  - {id: clean, executor: echo}
finally: [clean]
outputs: {body: "{{ alert.result.body }}"}
`);
    const run = await bench.ended(id);

    expect(run).toMatchObject({ state: "partiallySucceeded", reason: "the failure of task a was handled" });
    expect(await bench.tasks(id)).toEqual({
      a: "failed: exception",
      alert: "succeeded",
      next: "skipped: notActivated",
      after: "skipped: upstreamSkipped",
      clean: "succeeded",
    });
    expect(run.outcome).toMatchObject({ result: { body: expect.stringContaining("no paper") } });
  });

  test("G6: a task is retried with its key, then its fallback has attempts of its own; each is a row", async () => {
    const keys: string[] = [];
    const flaky = defineExecutor({
      ...{ name: "flaky", effects: "external" },
      run: (_params, { idempotencyKey }) => {
        keys.push(idempotencyKey);
        throw new Error("down");
      },
    });
    const bench = await WorkflowBench.open([flaky]);
    await bench.node();

    const { id } = await bench.submit(`
params: {n: {type: integer, default: 4}}
tasks:
  - {id: a, executor: flaky, retry: {max: 1, delay: 10ms}, fallback: [echo], params: {x: 7}, idempotencyKey: "order-{params.n}"}
outputs: {x: "{{ a.result.x }}", used: "{{ a.executorUsed }}", attempts: "{{ a.attempts }}"}
`);
    const run = await bench.ended(id);

    expect(run).toMatchObject({ state: "succeeded" });
    expect(run.outcome).toMatchObject({ result: { x: 7, used: "echo", attempts: 3 } });
    expect(await bench.tasks(id)).toEqual({ a: "failed: exception, failed: exception, succeeded" });
    expect(keys).toEqual(["order-4", "order-4"]);
  });

  test("a foreach runs each item, at most so many at once, and hands their results on in order", async () => {
    let most = 0;
    let running = 0;
    const slow = defineExecutor({
      ...{ name: "slow", effects: "none" },
      run: async ({ item }) => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        return `${item}!`;
      },
    });
    const bench = await WorkflowBench.open([slow]);
    await bench.node();

    const { id } = await bench.submit(`
params: {files: {type: list, default: [x, y, z, u, v]}}
tasks:
  - {id: each, executor: slow, foreach: {items: "{{ params.files }}", as: file, max: 2}, params: {item: "{file}"}}
outputs: {all: "{{ each.result }}"}
`);
    const run = await bench.ended(id);

    expect(run.outcome).toMatchObject({ result: { all: ["x!", "y!", "z!", "u!", "v!"] } });
    expect(most).toBe(2);
    expect(Object.keys(await bench.tasks(id)).sort()).toEqual([
      "each[0]",
      "each[1]",
      "each[2]",
      "each[3]",
      "each[4]",
    ]);
  });

  test("G9: a cancel stops what runs, then handlers and finally run, and only then the run has ended", async () => {
    const gate = gated("gate", "external");
    const bench = await WorkflowBench.open([gate.executor]);
    await bench.node();
    const { id } = await bench.submit(`
tasks:
  - {id: a, executor: gate, timeout: 0}
  - {id: b, executor: echo, dependsOn: [a]}
  - {id: sorry, executor: echo}
  - {id: clean, executor: echo}
handlers: {cancelled: [sorry]}
finally: [clean]
`);
    await gate.whenCalled(1);

    await cancelRun(bench.context, id);
    const run = await bench.ended(id);

    expect(run).toMatchObject({ state: "cancelled" });
    expect(await bench.tasks(id)).toEqual({
      a: expect.stringMatching(/^cancelled/),
      b: "cancelled: cancelled",
      sorry: "succeeded",
      clean: "succeeded",
    });
  });

  test("the timeout of an attempt, of a whole workflow, and of a wait in the queue", async () => {
    const gate = gated("gate", "none");
    const bench = await WorkflowBench.open([gate.executor]);
    await bench.node();

    const attempt = await bench.submit("tasks: [{id: a, executor: gate, timeout: 100ms, retry: 0}]");
    expect(await bench.ended(attempt.id)).toMatchObject({ state: "failed" });
    expect(await bench.tasks(attempt.id)).toEqual({ a: "timedOut: total" });

    const whole = await bench.submit("timeout: 100ms\ntasks: [{id: a, executor: gate, timeout: 0}]");
    expect(await bench.ended(whole.id)).toMatchObject({ state: "timedOut" });
  });

  test("a queueTimeout counts the time in the queue alone", async () => {
    const gate = gated("gate", "external");
    const bench = await WorkflowBench.open([gate.executor], {
      config: "orchestrator: {maxConcurrentTasks: 1}\n",
    });
    await bench.node();
    const first = await bench.submit("tasks: [{id: a, executor: gate, timeout: 0, queueTimeout: 100ms}]");
    const call = await gate.whenCalled(1);

    const second = await bench.submit("tasks: [{id: a, executor: gate, queueTimeout: 100ms, retry: 0}]");
    expect(await bench.ended(second.id)).toMatchObject({ state: "failed" });
    expect(await bench.tasks(second.id)).toEqual({ a: "cancelled: queueTimeout" });
    call.end("done");
    expect(await bench.ended(first.id)).toMatchObject({ state: "succeeded" });
  });

  test("an approval waits for a person, is asked for where results go, and may be refused", async () => {
    const bench = await WorkflowBench.open();
    await bench.node();
    const yaml = `
tasks:
  - {id: ask, approval: {message: "Ship it?"}}
  - {id: ship, executor: echo, params: {by: "{ask.result.by}"}, dependsOn: [ask]}
outputs: {by: "{{ ship.result.by ?? 'nobody' }}"}
`;
    const approve = await bench.submit(yaml);
    const waiting = await bench.until(approve.id, (run) => run.deliveries.length > 0);
    const [row] = (await runTree(bench.context, approve.id)).children;
    expect(row).toMatchObject({ state: "waiting", reason: "approval" });
    const [asked] = await bench.context.ledger.deliveries({ runId: waiting.id });
    expect(asked?.body).toContain(`nightshift run resolve ${row?.id} --as succeeded`);

    await resolveRun(bench.context, row?.id ?? "", { as: "succeeded" });
    expect(await bench.ended(approve.id)).toMatchObject({
      state: "succeeded",
      outcome: { result: { by: "test" } },
    });

    const refuse = await bench.submit(yaml);
    await bench.until(refuse.id, (run) => run.deliveries.length > 0);
    const [again] = (await runTree(bench.context, refuse.id)).children;
    await resolveRun(bench.context, again?.id ?? "", { as: "failed" });
    expect(await bench.ended(refuse.id)).toMatchObject({ state: "failed" });
    expect(await bench.tasks(refuse.id)).toEqual({
      ask: "failed: rejected",
      ship: "skipped: upstreamFailed",
    });
  });

  test("a pause lets the run go on by itself", async () => {
    const bench = await WorkflowBench.open();
    await bench.node();
    const { id } = await bench.submit(
      "tasks: [{id: nap, wait: 50ms}, {id: b, executor: echo, dependsOn: [nap]}]",
    );

    expect(await bench.ended(id)).toMatchObject({ state: "succeeded" });
    expect(await bench.tasks(id)).toEqual({ nap: "succeeded", b: "succeeded" });
  });

  test("a workflow as a task: its params, its outputs, its own tree below", async () => {
    const bench = await WorkflowBench.open();
    await bench.node();
    await bench.write(
      "inner",
      `params: {n: {type: integer}}\ntasks: [{id: x, executor: echo, params: {n: "{{ params.n * 2 }}"}}]\noutputs: {n: "{{ x.result.n }}"}`,
    );

    const { id } = await bench.submit(
      'tasks: [{id: sub, workflow: inner, params: {n: 21}}]\noutputs: {n: "{{ sub.result.n }}"}',
    );
    const run = await bench.ended(id);

    expect(run).toMatchObject({ state: "succeeded", outcome: { result: { n: 42 } } });
    const [sub] = (await runTree(bench.context, id)).children;
    expect(sub).toMatchObject({ kind: "workflow", state: "succeeded" });
    expect(sub?.children.map((row) => unitOf(row))).toEqual(["x"]);
  });

  test("budget.spawns ends what would start too many tasks", async () => {
    const bench = await WorkflowBench.open();
    await bench.node();
    const { id } = await bench.submit(
      "budget: {spawns: 2}\ntasks: [{id: each, executor: echo, foreach: {items: [1, 2, 3], max: 1}, retry: 0}]",
    );

    expect(await bench.ended(id)).toMatchObject({ state: "failed" });
    expect(await bench.tasks(id)).toMatchObject({
      "each[0]": "succeeded",
      "each[1]": "succeeded",
      "each[2]": "failed: budget",
    });
  });
});

describe("a secret of a workflow", () => {
  test("is filled in by who runs the task, never stands in the ledger, and leaves redacted; other variables are none", async () => {
    const seen: unknown[] = [];
    const use = (name: string, effects: "none" | "external") =>
      defineExecutor({
        ...{ name, effects },
        run: (params) => {
          seen.push(params.token);
          return params;
        },
      });
    const bench = await WorkflowBench.open([use("inline", "none"), use("queued", "external")], {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, LINE_TOKEN: "s3cr3t-value-17", PLAIN: "x" },
    });
    await bench.node();

    const { id } = await bench.submit(`
tasks:
  - {id: a, executor: inline, params: {token: "{secrets.LINE_TOKEN}"}}
  - {id: b, executor: queued, params: {token: "Bearer {secrets.LINE_TOKEN}"}}
  - {id: c, executor: inline, params: {token: "{secrets.PLAIN}"}, retry: 0}
`);
    await bench.ended(id);

    expect(seen.sort()).toEqual(["Bearer s3cr3t-value-17", "s3cr3t-value-17"]);
    const tasks = await bench.context.ledger.tasksOf(id);
    const kept = JSON.stringify([tasks, await bench.context.ledger.journal(id)]);
    expect(kept).not.toContain("s3cr3t-value-17");
    expect(await bench.tasks(id)).toMatchObject({
      a: "succeeded",
      b: "succeeded",
      c: expect.stringContaining("failed"),
    });
  });
});
