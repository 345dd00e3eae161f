// W5: what no machine can ever do is done by a fallback, and the record says why.

import { describe, expect, test } from "vitest";
import { runTree } from "../../../src/app/runs.ts";
import { defineExecutor } from "../../../src/orchestrate/executors/define-executor.ts";
import { BARE_ENV } from "../../support/home.ts";
import { pathWithCards } from "../resources/gpu.ts";
import { WorkflowBench } from "./bench.ts";

const onGpu = defineExecutor({ name: "cv", resources: { gpu: 1, gpuMemoryMb: 7_500 }, run: () => "gpu" });
const onCpu = defineExecutor({ name: "cv_cpu", run: () => "cpu" });

const LINE = `
tasks:
  - {id: look, executor: cv, fallback: [cv_cpu]}
outputs: {by: "{{ look.result }}", degraded: "{{ look.degraded }}"}
`;

async function outcomeOf(yaml: string, ...cards: string[]) {
  const PATH = cards.length > 0 ? await pathWithCards(...cards) : "/nowhere";
  const bench = await WorkflowBench.open([onGpu, onCpu], { env: { ...BARE_ENV, PATH } });
  await bench.node();
  const { id } = await bench.submit(yaml);
  const { outcome } = await bench.ended(id);
  const { children } = await runTree(bench.context, id);
  const works = children.map(({ work }) => work);
  return { outcome, tasks: await bench.tasks(id), first: children[0]?.outcome, works };
}

describe("an executor that no machine can meet", () => {
  test("is passed over for its fallback, with the reason in the run's tree", async () => {
    expect(await outcomeOf(LINE)).toMatchObject({
      outcome: { result: { by: "cpu", degraded: true } },
      tasks: { look: "failed: offline, succeeded" },
      works: [null, "cv_cpu"],
      first: { error: { code: "offline", message: "cv needs 1 GPU, no machine has more than 0" } },
    });
  });

  test("is what does the task where a machine can", async () => {
    expect(await outcomeOf(LINE, "16384, 16000")).toMatchObject({
      outcome: { result: { by: "gpu", degraded: false } },
      tasks: { look: "succeeded" },
    });
  });

  test("a task's own wishes are its executor's: a fallback is held to its own contract", async () => {
    const wish = "tasks: [{id: look, executor: cv_cpu, resources: {labels: [camera]}, fallback: [echo]}]";
    expect(await outcomeOf(wish)).toMatchObject({
      outcome: { state: "succeeded" },
      tasks: { look: "failed: offline, succeeded" },
      first: { error: { message: 'cv_cpu needs the label "camera", no machine has it' } },
    });
  });
});
