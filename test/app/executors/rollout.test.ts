// Versions of an executor side by side: who gets which, what a run keeps, and how a bad one goes by itself.

import { describe, expect, test } from "vitest";
import { diagnose } from "../../../src/app/doctor.ts";
import {
  endRollout,
  listRollouts,
  removeRollout,
  showRollout,
  startRollout,
} from "../../../src/app/executors/rollouts.ts";
import { tickOnce } from "../../../src/app/node.ts";
import { submitTask } from "../../../src/app/workflows/submit.ts";
import { defineExecutor } from "../../../src/orchestrate/executors/define-executor.ts";
import { gated, WorkflowBench } from "../workflows/bench.ts";
import { executorHome } from "./home.ts";

describe("versions from config.yaml and executors/", () => {
  const CONFIG = `executors:
  work:
    - {shell: "echo one", version: v1}
    - {shell: "echo two", version: v2}
`;

  test("each rollout says which does a task; without one the newest does it", async () => {
    const home = await executorHome({
      config: CONFIG,
      files: { "executors/work-3.sh": "#!/bin/sh\n# nightshift: name=work version=v0.9\necho old\n" },
    });
    const { context } = home;
    const done = async () => {
      const { outcome, admission } = await home.run("work");
      if (outcome.state !== "succeeded") throw new Error(outcome.state);
      return [outcome.output.trim(), admission?.version];
    };
    expect(await done()).toEqual(["two", undefined]);

    await startRollout(context, "work", { version: "v0.9", traffic: 100 });
    home.later();
    expect(await done()).toEqual(["old", "v0.9"]);
    const stopped = await endRollout(context, "work", "stopped");
    expect(stopped).toMatchObject({ state: "stopped", baseline: "v2", reason: "stopped by test" });
    home.later();
    expect(await done()).toEqual(["two", "v2"]);
    await startRollout(context, "work", { version: "v1", traffic: 0, baseline: "v0.9" });
    home.later();
    expect(await done()).toEqual(["old", "v0.9"]);
    await endRollout(context, "work", "finished");
    home.later();
    expect(await done()).toEqual(["one", "v1"]);
    await removeRollout(context, "work");
    home.later();
    expect(await done()).toEqual(["two", undefined]);
    expect(await listRollouts(context)).toEqual([]);
  });

  test("what cannot be meant is refused with one line", async () => {
    const { context } = await executorHome({ config: `${CONFIG}  alone: {shell: "echo one"}\n` });
    const start = (name: string, version: string, baseline?: string) =>
      startRollout(context, name, { version, traffic: 20, ...(baseline !== undefined && { baseline }) });

    await expect(start("wrok", "v1")).rejects.toMatchObject({ code: "executor.unknown" });
    await expect(start("work", "v3")).rejects.toMatchObject({
      code: "input.not-found",
      message: 'work has no version "v3"',
    });
    await expect(start("work", "v1", "v1")).rejects.toMatchObject({ code: "input.invalid" });
    await expect(start("alone", "1")).rejects.toMatchObject({
      code: "input.invalid",
      message: "alone has no version beside 1",
    });
    await expect(showRollout(context, "work")).rejects.toMatchObject({ code: "input.not-found" });
    await expect(endRollout(context, "work", "stopped")).rejects.toMatchObject({ code: "input.not-found" });
    await start("work", "v2");
    await expect(start("work", "v1")).rejects.toMatchObject({
      code: "input.conflict",
      message: "work v2 is being rolled out already",
    });
    expect(await start("work", "v2")).toMatchObject({ baseline: "v1", traffic: 20 });
    await endRollout(context, "work", "finished");
    await expect(endRollout(context, "work", "finished")).rejects.toMatchObject({ code: "input.conflict" });
  });
});

describe("a version that does worse", () => {
  const version = (name: string, isBad: boolean) =>
    defineExecutor({
      ...{ name: "work", version: name, effects: "none" },
      run() {
        if (isBad) throw new Error("broken");
        return name;
      },
    });

  test("goes by itself, once, with an event and a line in the log; what comes after it is done by the old one", async () => {
    const lines: { event: string; fields: Record<string, unknown> }[] = [];
    const bench = await WorkflowBench.open([version("2", true), version("1", false)], {
      logSink: (_, event, fields) => void lines.push({ event, fields }),
    });
    const { executors } = bench;
    const context = { ...bench.context, executors };
    await startRollout(context, "work", { version: "2", traffic: 50, bounds: { minSamples: 3 } });
    const submit = async () => {
      const { id } = await submitTask(
        { context: bench.context, executors },
        { executor: "work", params: {} },
      );
      return id;
    };
    await Promise.all(Array.from({ length: 24 }, submit));
    await tickOnce({ context: bench.context, executors });
    const before = await showRollout(context, "work");
    expect(before.state).toBe("running");
    expect(before.attempts[1]).toMatchObject({ version: "1", failures: 0 });
    const [bad] = before.attempts;
    expect(bad?.attempts).toBeGreaterThanOrEqual(3);
    expect(bad).toMatchObject({ version: "2", failures: bad?.attempts, failureRate: 100 });

    const later = await submit();
    await Promise.all([1, 2].map(() => tickOnce({ context: bench.context, executors })));

    const after = await showRollout(context, "work");
    expect(after).toMatchObject({ state: "rolledBack", baseline: "1" });
    expect(after.reason).toMatch(/^\d+ of \d+ attempts of 2 failed \(0 of \d+ of 1\)/);
    const told = (await bench.context.ledger.events({})).filter(({ kind }) => kind === "rollout-rolled-back");
    expect(told).toMatchObject([{ data: { executor: "work", version: "2", baseline: "1", by: "test" } }]);
    const said = lines.filter(({ event }) => event === "rollout-rolled-back");
    expect(said).toMatchObject([{ fields: { executor: "work", version: "2", reason: after.reason } }]);
    const finding = async () =>
      (await diagnose(bench.context)).findings.find(({ code }) => code === "rolledBack");
    expect((await finding())?.what).toMatch(
      /^work 2 was rolled back at .*attempts of 2 failed.* Every task goes to 1\.$/,
    );
    await endRollout(context, "work", "stopped");
    expect(await finding()).toBeUndefined();
    expect(await bench.context.ledger.run(later)).toMatchObject({
      state: "succeeded",
      admission: { version: "1" },
    });
  });
});

describe("a run of a workflow", () => {
  test("keeps a task's version over its retries and over another node's going on, whatever the rollout says by then", async () => {
    const bad = gated("work", "idempotent");
    const good = defineExecutor({ name: "work", version: "1", effects: "idempotent", run: () => "one" });
    const bench = await WorkflowBench.open([{ ...bad.executor, version: "2" }, good]);
    const context = { ...bench.context, executors: bench.executors };
    await startRollout(context, "work", { version: "2", traffic: 100 });
    const first = await bench.node();
    const { id } = await bench.submit(`
tasks:
  - {id: a, executor: work, timeout: 0, retry: {max: 2, delay: 1ms}}
  - {id: b, executor: work, dependsOn: [a]}
`);
    const one = await bad.whenCalled(1);
    await endRollout(context, "work", "stopped");
    one.fail("not yet");
    await bad.whenCalled(2);
    await first.stop({ graceMs: 0 });
    await bench.node();
    (await bad.whenCalled(3)).end("done");

    expect(await bench.ended(id)).toMatchObject({ state: "succeeded" });
    const rows = await bench.context.ledger.tasksOf(id);
    expect(rows.map((row) => [row.dedupeKey.split("/").at(-1), row.admission?.version])).toEqual([
      ["a", "2"],
      ["a", "2"],
      ["a", "2"],
      ["b", "1"],
    ]);
  });
});
