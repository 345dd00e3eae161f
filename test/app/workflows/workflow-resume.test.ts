// Going on: after a stop, in another node, from a task of an earlier run, and one after the other in a group.

import { describe, expect, test } from "vitest";
import { explain } from "../../../src/app/explain-run.ts";
import { addJob, queueRun } from "../../../src/app/jobs.ts";
import { resolveRun } from "../../../src/app/resolve-run.ts";
import { findRun, runTree } from "../../../src/app/runs.ts";
import { retryFromTask } from "../../../src/app/workflows/retry-run.ts";
import { defineExecutor } from "../../../src/orchestrate/executors/define-executor.ts";
import { gated, WorkflowBench } from "./bench.ts";

describe("a workflow goes on", () => {
  test("L13: a stopping node gives it back at once; the next one goes on from its journal and repeats nothing that ended", async () => {
    const calls: string[] = [];
    const count = defineExecutor({
      ...{ name: "count", effects: "none" },
      run: ({ name }) => {
        calls.push(String(name));
        return name;
      },
    });
    const gate = gated("gate", "idempotent");
    const bench = await WorkflowBench.open([count, gate.executor]);
    const first = await bench.node();
    const { id } = await bench.submit(`
tasks:
  - {id: a, executor: count, params: {name: a}}
  - {id: b, executor: gate, dependsOn: [a], timeout: 0}
  - {id: c, executor: count, params: {name: c}, dependsOn: [b]}
outputs: {a: "{{ a.result }}", b: "{{ b.result }}"}
`);
    await gate.whenCalled(1);
    await first.stop({ graceMs: 0 });
    expect(await findRun(bench.context, id)).toMatchObject({ state: "queued", owner: undefined });

    await bench.node();
    const again = await gate.whenCalled(2);
    const lost = (await bench.context.ledger.tasksOf(id)).find(({ reason }) => reason === "nodeStopped");
    const late = resolveRun(bench.context, lost?.id ?? "", { as: "rerun" });
    await expect(late, "what was repeated is no question").rejects.toMatchObject({ code: "input.conflict" });
    again.end("second");
    const run = await bench.ended(id);

    expect(run).toMatchObject({ state: "succeeded", outcome: { result: { a: "a", b: "second" } } });
    expect(calls).toEqual(["a", "c"]);
    expect(again).toMatchObject({ attempt: 2, key: gate.calls[0]?.key });
    expect(await bench.tasks(id)).toEqual({
      a: "succeeded",
      b: "cancelled: nodeStopped, succeeded",
      c: "succeeded",
    });
  });

  test("G10: an external task that its node took along waits for a person's word, and goes on with it", async () => {
    const gate = gated("gate", "external");
    const bench = await WorkflowBench.open([gate.executor]);
    const first = await bench.node();
    const { id } = await bench.submit(
      "tasks: [{id: a, executor: gate, timeout: 0}, {id: b, executor: echo, dependsOn: [a]}]",
    );
    await gate.whenCalled(1);
    await first.stop({ graceMs: 0 });

    await bench.node();
    await bench.until(id, (run) => run.deliveries.length > 0);
    const [asked] = await bench.context.ledger.deliveries({ runId: id });
    const [task] = (await runTree(bench.context, id)).children;
    expect(asked?.body).toContain(`waits for your word on a`);
    expect(asked?.body).toContain(`nightshift run resolve ${task?.id} --as rerun`);
    expect(gate.calls).toHaveLength(1);
    for (const run of [id, task?.id ?? ""])
      expect(await explain(bench.context, run)).toMatchObject({
        because: "question",
        sentence: expect.stringContaining(`\`nightshift run resolve ${task?.id}\`, where \`--as rerun\``),
      });

    await resolveRun(bench.context, id, { as: "rerun" });
    const again = await gate.whenCalled(2);
    again.end("done");
    expect(await bench.ended(id)).toMatchObject({ state: "succeeded" });
    expect(again).toMatchObject({ attempt: 2, key: gate.calls[0]?.key });
    expect(await bench.tasks(id)).toEqual({ a: "cancelled: nodeStopped, succeeded", b: "succeeded" });
  });

  test("a question of a job that tells nobody lies in local: it would wait for ever", async () => {
    const bench = await WorkflowBench.open([]);
    await bench.node();
    const inline = { name: "asks", tasks: [{ id: "ask", approval: { message: "Ship it?" } }] };
    await addJob(bench.context, { id: "asks", run: { workflow: { inline } }, deliver: [] });
    const { id } = await queueRun(bench.context, "asks");

    const { deliveries } = await bench.until(id, (run) => run.deliveries.length > 0);
    expect(deliveries).toMatchObject([{ kind: "alert", target: "local" }]);
    await resolveRun(bench.context, id, { as: "failed" });
    expect(await bench.ended(id)).toMatchObject({ state: "failed" });
  });

  test("run retry --from: what succeeded is taken over with its results, the task and what it spoiled run again", async () => {
    let isBroken = true;
    const calls: string[] = [];
    const step = defineExecutor({
      ...{ name: "step", effects: "none" },
      run: ({ name }) => {
        calls.push(String(name));
        if (name === "b" && isBroken) throw new Error("broken");
        return `${name}!`;
      },
    });
    const bench = await WorkflowBench.open([step]);
    await bench.node();
    const { id } = await bench.submit(`
tasks:
  - {id: a, executor: step, params: {name: a}}
  - {id: b, executor: step, params: {name: b}, dependsOn: [a], retry: 0}
  - {id: c, executor: step, params: {name: "{a.result}{b.result}"}, dependsOn: [b]}
  - {id: d, executor: step, params: {name: d}, dependsOn: [a]}
outputs: {c: "{{ c.result }}"}
`);
    expect(await bench.ended(id)).toMatchObject({ state: "failed" });
    isBroken = false;
    calls.length = 0;

    const retry = await retryFromTask(bench.context, await findRun(bench.context, id), {
      task: "b",
      isDownstream: false,
    });
    const run = await bench.ended(retry.id);

    expect(run).toMatchObject({ state: "succeeded", outcome: { result: { c: "a!b!!" } } });
    expect(calls).toEqual(["b", "a!b!"]);
    const refused = retryFromTask(bench.context, await findRun(bench.context, id), {
      task: "bb",
      isDownstream: false,
    });
    await expect(refused).rejects.toThrow('chain has no task "bb"'.replace("chain", "w"));
  });

  test("W4: runs of one group go one after the other, in order; `skip` skips the newcomer, `cancel` ends the old one", async () => {
    const gate = gated("gate", "external");
    const bench = await WorkflowBench.open([gate.executor]);
    await bench.node();
    const yaml = (onConflict: string) => `
params: {line: {type: string}}
concurrency: {group: "${onConflict}-{params.line}", max: 1, onConflict: ${onConflict}}
tasks: [{id: a, executor: gate, timeout: 0, retry: 0}]
`;
    const first = await bench.submit(yaml("queue"), { line: "A" });
    const call = await gate.whenCalled(1);
    const second = await bench.submit(yaml("queue"), { line: "A" });
    const other = await bench.submit(yaml("queue"), { line: "B" });
    const beside = await gate.whenCalled(2);
    expect((await findRun(bench.context, second.id)).state).toBe("queued");
    beside.end("b");
    expect(await bench.ended(other.id)).toMatchObject({ state: "succeeded" });
    call.end("a");
    (await gate.whenCalled(3)).end("c");
    expect(await bench.ended(first.id)).toMatchObject({ state: "succeeded" });
    expect(await bench.ended(second.id)).toMatchObject({ state: "succeeded" });

    const held = await bench.submit(yaml("skip"), { line: "A" });
    const holds = await gate.whenCalled(4);
    const skipped = await bench.submit(yaml("skip"), { line: "A" });
    expect(await bench.ended(skipped.id)).toMatchObject({ state: "skipped", reason: "concurrency" });
    holds.end("d");
    await bench.ended(held.id);

    const old = await bench.submit(yaml("cancel"), { line: "A" });
    await gate.whenCalled(5);
    const young = await bench.submit(yaml("cancel"), { line: "A" });
    expect(await bench.ended(old.id)).toMatchObject({ state: "cancelled" });
    (await gate.whenCalled(6)).end("e");
    expect(await bench.ended(young.id)).toMatchObject({ state: "succeeded" });
  });
});

test("G10: a file that changes under a run changes nothing of it; the next run is of the new one", async () => {
  const gate = gated("gate", "idempotent");
  const bench = await WorkflowBench.open([gate.executor]);
  await bench.node();
  const write = (word: string) =>
    bench.write(
      "line",
      `tasks: [{id: a, executor: gate}, {id: b, executor: echo, params: {word: ${word}}, dependsOn: [a]}]
outputs: {word: "{{ b.result.word }}"}
`,
    );
  await write("old");
  // Surfaces know what the node knows.
  const context = { ...bench.context, executors: { ...bench.context.executors, ...bench.executors } };
  await addJob(context, { id: "line", run: { workflow: { file: "line" } } });

  const first = await queueRun(context, "line");
  const call = await gate.whenCalled(1);
  await write("new");
  call.end("done");
  const before = await bench.ended(first.id);
  const second = await queueRun(context, "line");
  (await gate.whenCalled(2)).end("done");

  expect(before.outcome).toMatchObject({ result: { word: "old" } });
  expect((await bench.ended(second.id)).outcome).toMatchObject({ result: { word: "new" } });
});
