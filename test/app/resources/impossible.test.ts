// What no machine can ever do is refused where it is asked for; what one can do later waits, and says for what (W5).

import { describe, expect, test } from "vitest";
import { explain } from "../../../src/app/explain-run.ts";
import { addJob } from "../../../src/app/jobs.ts";
import { readResources } from "../../../src/app/resources/resource-documents.ts";
import { showRun } from "../../../src/app/runs.ts";
import { submitTask } from "../../../src/app/workflows/submit.ts";
import { defineExecutor } from "../../../src/orchestrate/executors/define-executor.ts";
import { BARE_ENV } from "../../support/home.ts";
import { executorHome } from "../executors/home.ts";
import { gated, WorkflowBench } from "../workflows/bench.ts";
import { pathWithCards } from "./gpu.ts";

const CONFIG = `executors:
  huge: {shell: "true", resources: {gpu: 1, gpuMemoryMb: 65536}}
  fits: {shell: "true", resources: {gpu: 1, gpuMemoryMb: 16384}}
  labelled: {shell: "true", resources: {labels: [camera]}}
  either:
    - {shell: "true", resources: {gpu: 4}}
    - {shell: "true"}
`;

describe("a request that no machine can ever meet", () => {
  const home = async () =>
    executorHome({ config: CONFIG, env: { PATH: await pathWithCards("16384, 16000") } });

  test("is refused when a task is submitted, when a job is made of one, and when a job is made of a workflow with one", async () => {
    const { context } = await home();
    const { executors } = context;
    const submit = (executor: string) => submitTask({ context, executors }, { executor, params: {} });
    const refusal = {
      code: "input.refused",
      message:
        "huge needs 65536 MB of GPU memory, no machine has more than 16384, so it would wait for ever.",
      hint: "Ask for less, or add a machine. See `nightshift executor resources`.",
    };

    await expect(submit("huge")).rejects.toMatchObject(refusal);
    await expect(
      addJob(context, { id: "a", run: { task: { executor: "huge", params: {} } } }),
    ).rejects.toMatchObject(refusal);
    await expect(submit("labelled")).rejects.toMatchObject({
      message: expect.stringContaining('labelled needs the label "camera", no machine has it'),
    });
    const inline = { tasks: [{ id: "t", executor: "huge" }] };
    await expect(addJob(context, { id: "a", run: { workflow: { inline } } })).rejects.toMatchObject({
      code: "workflow.invalid",
      message: expect.stringContaining(
        'task "t" needs 65536 MB of GPU memory, no machine has more than 16384',
      ),
    });
    expect(await context.ledger.runs({})).toEqual([]);
    expect(await context.ledger.jobs()).toEqual([]);
  });

  test("is none where the whole of a machine is asked for, where another registration can do it, or a fallback", async () => {
    const { context } = await home();
    const task = (executor: string) => ({ run: { task: { executor, params: {} } } });

    await expect(addJob(context, { id: "fits", ...task("fits") })).resolves.toBeDefined();
    await expect(addJob(context, { id: "either", ...task("either") })).resolves.toBeDefined();
    const inline = { tasks: [{ id: "t", executor: "huge", fallback: ["fits"] }] };
    await expect(addJob(context, { id: "f", run: { workflow: { inline } } })).resolves.toBeDefined();
  });
});

test("a task that waits for a GPU: run explain and executor resources name what it needs, what is free, and who holds the rest", async () => {
  const gate = gated("big", "none");
  const big = { ...gate.executor, resources: { gpu: 1, gpuMemoryMb: 7_900 } };
  const next = defineExecutor({ name: "next", resources: { gpu: 1, gpuMemoryMb: 8_192 }, run: () => "done" });
  const bench = await WorkflowBench.open([big, next], {
    env: { ...BARE_ENV, PATH: await pathWithCards("16000, 16000") },
  });
  const { executors } = bench;
  // Surfaces know what the node knows.
  const context = { ...bench.context, executors: { ...bench.context.executors, ...executors } };
  await bench.node();
  const submit = (executor: string) => submitTask({ context, executors }, { executor, params: {} });
  const holder = await submit("big");
  const call = await gate.whenCalled(1);
  const waiting = await submit("next");
  await bench.until(waiting.id, (run) => run.state === "waiting");

  const lacks = `needs 8,192 MB of GPU memory, 8,100 free, 7,900 held by run ${holder.id}`;
  expect(await explain(context, waiting.id)).toMatchObject({
    because: "resources",
    sentence: `It ${lacks}.`,
  });
  const { machines, waiting: lacking } = await readResources(context);
  expect(lacking).toEqual([{ runId: waiting.id, unit: null, executor: "next", lacks }]);
  expect(machines[0]).toMatchObject({
    gpus: [{ total: 16_000, held: 7_900, free: 8_100, isExclusive: false }],
    held: [{ runId: holder.id, executor: "big", gpus: [0], gpuMemoryMb: 7_900 }],
  });

  call.end("done");
  expect(await bench.ended(waiting.id)).toMatchObject({ state: "succeeded" });
  const { times, createdAt, startedAt, finishedAt } = await showRun(context, waiting.id);
  expect(times.waitedForResourcesMs).toBeGreaterThan(0);
  const parts = [times.delayedMs, times.queuedMs, times.waitedForResourcesMs, times.claimedMs, times.ranMs];
  expect(parts.every((ms) => ms !== null && ms >= 0)).toBe(true);
  const sum = parts.reduce<number>((total, ms) => total + (ms ?? 0), 0);
  expect(sum).toBe(Date.parse(finishedAt ?? "") - Date.parse(createdAt));
  expect(Date.parse(times.claimedAt ?? "")).toBeLessThanOrEqual(Date.parse(startedAt ?? ""));
  expect((await readResources(context)).machines[0]?.held).toEqual([]);
});
