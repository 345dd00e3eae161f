// Jobs whose work is a task: they wait in their queue as any task does (W4), by schedule and by hand.

import { expect, test } from "vitest";
import { explain } from "../../../src/app/explain-run.ts";
import { addJob, queueRun } from "../../../src/app/jobs.ts";
import { findRun } from "../../../src/app/runs.ts";
import { gated, WorkflowBench } from "./bench.ts";

test("W4: jobs share the width of their queue; explain says so", async () => {
  const gate = gated("gate", "external");
  const bench = await WorkflowBench.open([gate.executor], {
    config: "queues: {line: {priority: 5, concurrency: 1}, other: {priority: 1, concurrency: 2}}\n",
  });
  await bench.node();
  const { context } = bench;
  const task = (id: string, queue: string) =>
    addJob(context, { id, run: { task: { executor: "shell_exec", params: { command: "echo hi" }, queue } } });
  await task("one", "line");
  await task("two", "line");
  const hold = await bench.submit("queue: line\ntasks: [{id: a, executor: gate, timeout: 0}]");
  const call = await gate.whenCalled(1);

  const first = await queueRun(context, "one");
  const second = await queueRun(context, "two");
  expect(await findRun(context, first.id)).toMatchObject({ queue: "line", state: "queued" });
  expect((await explain(context, second.id)).sentence).toBe("All 1 places of the queue line are taken.");
  call.end("done");
  expect(await bench.ended(first.id)).toMatchObject({ state: "succeeded" });
  expect(await bench.ended(second.id)).toMatchObject({ state: "succeeded" });
  expect(await bench.ended(hold.id)).toMatchObject({ state: "succeeded" });
});
