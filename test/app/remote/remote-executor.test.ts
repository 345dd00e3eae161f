import { chmod, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { showExecutor } from "../../../src/app/executors/executor-documents.ts";
import { homeExecutorsOf } from "../../../src/app/executors/lazy-executors.ts";
import { cancelRun } from "../../../src/app/runs.ts";
import { systemClock } from "../../../src/app/system.ts";
import { waitForChange } from "../../../src/app/wait-for-change.ts";
import { defineExecutor } from "../../../src/orchestrate/executors/define-executor.ts";
import { tempFolder } from "../../support/temp.ts";
import { calling, serve, served, side } from "./bench.ts";
import { manualGate } from "./gate.ts";
import { tcpProxy } from "./tcp-proxy.ts";

const inspect = defineExecutor({
  ...{ name: "cv_inspect", effects: "idempotent" },
  run: ({ image_path: path }, { attempt, idempotencyKey }) => ({
    path,
    attempt,
    key: idempotencyKey,
    by: "gpu",
  }),
});

const onCpu = defineExecutor({ name: "cv_inspect_cpu", effects: "none", run: () => ({ by: "cpu" }) });

/** Nobody listens there. */
const NOWHERE = "http://127.0.0.1:9";

const LINE = `
tasks:
  - {id: t3, executor: cv_inspect, params: {image_path: "/tmp/{uuid}.jpg"}, retry: 0}
outputs: {by: "{{ t3.result.by }}", used: "{{ t3.executorUsed }}"}
`;

const FALLBACK = "fallbackExecutors: {cv_inspect: cv_inspect_cpu}\n";

describe("a remote executor (W5): the task does not know that another machine does it", () => {
  test("params go there, the result comes back with its types, and the run there names its caller", async () => {
    const there = await served({ cv_inspect: inspect });
    const here = await calling([{ name: "cv_inspect", url: there.url, token: there.context.home.token }]);

    const { id } = await here.submit(LINE);
    const run = await here.ended(id);

    expect(run.outcome).toMatchObject({ result: { by: "gpu", used: "cv_inspect" } });
    const [task] = await there.context.ledger.runs({ limit: 5 });
    expect(task).toMatchObject({
      idempotencyKey: `${id}/t3`,
      admission: { caller: { run: id, task: `parent/${id}/t3`, attempt: 1 } },
      outcome: { result: { path: expect.stringMatching(/^\/tmp\/.*\.jpg$/), key: `${id}/t3` } },
    });
  });

  test("peers §5.2, 6: a machine that nobody answers for is passed over: the fallback takes over, no attempt is charged", async () => {
    const here = await calling([{ name: "cv_inspect", url: NOWHERE }], {
      ...{ executors: { cv_inspect_cpu: onCpu }, more: FALLBACK },
    });

    const began = Date.now();
    const { id } = await here.submit(LINE);
    const run = await here.ended(id);

    expect(run.outcome).toMatchObject({ result: { by: "cpu", used: "cv_inspect_cpu" } });
    expect(Date.now() - began).toBeLessThan(5_000);
  });

  test("W3: with nobody else to do it, a machine that is down is asked again three times, 1 s apart", async () => {
    const gate = manualGate("cv_inspect");
    const there = await served({ cv_inspect: gate.executor });
    const { port } = new URL(there.url);
    await there.server.stop();
    const here = await calling([{ name: "cv_inspect", url: there.url, token: there.context.home.token }]);

    const { id } = await here.submit(LINE);
    await here.until(id, ({ state }) => state === "running");
    await serve(there, Number(port));
    (await gate.whenCalled(1)).end({ by: "gpu" });

    expect(await here.ended(id)).toMatchObject({ state: "succeeded", outcome: { result: { by: "gpu" } } });
    expect(await here.tasks(id)).toEqual({ t3: "succeeded" });
  });

  test("a machine that dies under a task: its call ends at once, and the fallback does it", async () => {
    const gate = manualGate("cv_inspect");
    const there = await served({ cv_inspect: gate.executor });
    const here = await calling([{ name: "cv_inspect", url: there.url, token: there.context.home.token }], {
      ...{ executors: { cv_inspect_cpu: onCpu }, more: FALLBACK },
    });

    const { id } = await here.submit(LINE);
    await gate.whenCalled(1);
    const died = Date.now();
    await there.server.stop();
    const run = await here.ended(id);

    expect(run.outcome).toMatchObject({ result: { by: "cpu" } });
    expect(await here.tasks(id)).toEqual({ t3: "failed: offline, succeeded" });
    expect(Date.now() - died).toBeLessThan(5_000);
  });

  test("law 4: what a machine had taken when it vanished is unknown, unless it may be repeated or has a fallback", async () => {
    const gate = manualGate("cv_inspect");
    const there = await served({ cv_inspect: gate.executor });
    const here = await calling([{ name: "cv_inspect", url: there.url, token: there.context.home.token }]);

    const { id } = await here.submit(LINE);
    await gate.whenCalled(1);
    await there.server.stop();
    const signal = AbortSignal.timeout(15_000);
    while ((await here.tasks(id)).t3?.startsWith("running")) await waitForChange(here.context, { signal });

    expect((await here.tasks(id)).t3).toMatch(/^unknown: .* took it and cannot be asked any more/);
    expect((await here.until(id, () => true)).finishedAt).toBeNull();
  });

  test("a network that is cut in the middle: the same key joins what runs, which is done once", async () => {
    const gate = manualGate("cv_inspect");
    const there = await served({ cv_inspect: gate.executor });
    const proxy = await tcpProxy(Number(new URL(there.url).port));
    const here = await calling([{ name: "cv_inspect", url: proxy.url, token: there.context.home.token }]);

    const { id } = await here.submit(LINE);
    const call = await gate.whenCalled(1);
    for (let cut = 0; cut < 3; cut++) {
      await proxy.whenBusy();
      proxy.cut();
    }
    call.end({ by: "gpu" });
    const run = await here.ended(id);

    expect(run).toMatchObject({ state: "succeeded", outcome: { result: { by: "gpu" } } });
    expect(gate.calls).toHaveLength(1);
    expect(await here.tasks(id)).toEqual({ t3: "succeeded" });
  });

  test("peers §5.2, 7: a cancel here is a cancel there", async () => {
    const gate = manualGate("cv_inspect");
    const there = await served({ cv_inspect: gate.executor });
    const here = await calling([{ name: "cv_inspect", url: there.url, token: there.context.home.token }]);

    const { id } = await here.submit(LINE);
    await gate.whenCalled(1);
    await cancelRun(here.context, id);
    const run = await here.ended(id);
    const [task] = await there.context.ledger.runs({ limit: 1 });

    expect(run.state).toBe("cancelled");
    await there.call("GET", `/execute/${task?.id}?wait=10s`);
    expect(await there.context.ledger.run(task?.id ?? "")).toMatchObject({
      state: "cancelled",
      reason: "caller",
    });
  });

  test("a task's timeout holds on both sides", async () => {
    const gate = manualGate("cv_inspect");
    const there = await served({ cv_inspect: gate.executor });
    const here = await calling([{ name: "cv_inspect", url: there.url, token: there.context.home.token }]);

    const { id } = await here.submit(LINE.replace("retry: 0", "retry: 0, timeout: 500ms"));
    const run = await here.ended(id);
    const [task] = await there.context.ledger.runs({ limit: 1 });
    await there.call("GET", `/execute/${task?.id}?wait=10s`);

    expect(await here.tasks(id)).toEqual({ t3: expect.stringMatching(/^(timedOut|cancelled: timeout)/) });
    expect(run.state).toBe("failed");
    expect(await there.context.ledger.run(task?.id ?? "")).toMatchObject({
      state: expect.stringMatching(/timedOut|cancelled/),
    });
  });

  test("what the other side refuses is a mistake, said in its words, and is not retried", async () => {
    const strict = defineExecutor({
      name: "cv_inspect",
      input: { type: "object", properties: { path: { type: "string" } }, additionalProperties: false },
      run: () => 1,
    });
    const there = await served({ cv_inspect: strict });
    const here = await calling([{ name: "cv_inspect", url: there.url, token: there.context.home.token }]);

    const { id } = await here.submit(LINE.replace("retry: 0", "retry: 3"));
    const run = await here.ended(id);

    expect(await here.tasks(id)).toEqual({ t3: "failed: preflight" });
    expect(run.outcome).toMatchObject({
      error: { message: expect.stringContaining('answers 422: cv_inspect: unknown parameter "image_path"') },
    });
  });

  test("several machines of one name share its tasks, and one that is down is left out", async () => {
    const [one, two] = [manualGate("cv_inspect"), manualGate("cv_inspect")];
    const [a, b] = [await served({ cv_inspect: one.executor }), await served({ cv_inspect: two.executor })];
    const here = await calling([
      { name: "cv_inspect", url: a.url, token: a.context.home.token },
      { name: "cv_inspect", url: b.url, token: b.context.home.token },
      { name: "cv_inspect", url: NOWHERE },
    ]);

    const { id } = await here.submit(`
tasks:
  - {id: a, executor: cv_inspect, retry: 0}
  - {id: b, executor: cv_inspect, retry: 0}
`);
    (await one.whenCalled(1)).end(1);
    (await two.whenCalled(1)).end(2);

    expect(await here.ended(id)).toMatchObject({ state: "succeeded" });
  });
});

describe("health (W5)", () => {
  test("seed 003 §4.4: a GPU that is lost is a 503, its executor goes offline with the reason, and comes back by itself", async () => {
    const folder = await tempFolder();
    const smi = join(folder, "nvidia-smi");
    await writeFile(
      smi,
      `#!/bin/sh\n[ -e ${folder}/lost ] && { echo "GPU is lost" >&2; exit 15; }\necho "16384, 16000"\n`,
    );
    await chmod(smi, 0o700);
    const env = { PATH: `${folder}:${process.env.PATH}`, HOME: folder, TZ: "UTC" };
    const onGpu = defineExecutor({
      ...{ name: "cv_inspect", resources: { gpu: true, gpuMemoryMb: 8_192 } },
      run: () => ({ by: "gpu" }),
    });
    const there = await served({ cv_inspect: onGpu }, { env });
    const remote = { name: "cv_inspect", url: there.url, token: there.context.home.token };
    const here = await calling([{ ...remote, more: ", healthInterval: 200ms" }], {
      ...{ executors: { cv_inspect_cpu: onCpu }, more: FALLBACK },
    });
    const by = async () => {
      const { id } = await here.submit(LINE);
      return ((await here.ended(id)).outcome as { result?: { by?: string } } | null)?.result?.by;
    };
    const machines = await homeExecutorsOf(here.context).remotes();
    const standing = async (state: string) => {
      for (;;) {
        const [found] = machines.standings();
        if (found?.state === state) return found;
        await new Promise<void>((resolve) => {
          const off = machines.onChange(() => {
            off();
            resolve();
          });
        });
      }
    };

    await standing("online");
    const before = await by();
    await writeFile(join(folder, "lost"), "");
    const down = await standing("offline");
    const during = await by();
    await rm(join(folder, "lost"));
    await standing("online");

    expect(down.reason).toContain("answers 503: gpuUnavailable, nvidia-smi ended with 15: GPU is lost");
    expect([before, during, await by()]).toEqual(["gpu", "cpu", "gpu"]);
  });

  test("seed 003 §5.3: how far the other clock is off is measured, and no deadline depends on it", async () => {
    const ahead = { ...systemClock, now: () => Date.now() + 12_000 };
    const there = await served({ cv_inspect: inspect }, { clock: ahead });
    const here = await calling([{ name: "cv_inspect", url: there.url, token: there.context.home.token }]);

    const { id } = await here.submit(LINE.replace("retry: 0", "retry: 0, timeout: 5"));
    await here.ended(id);
    const [standing] = (await homeExecutorsOf(here.context).remotes()).standings();

    expect(await here.tasks(id)).toEqual({ t3: "succeeded" });
    expect(Math.abs((standing?.skewMs ?? 0) - 12_000)).toBeLessThan(1_000);
    const told = async () => (await showExecutor(here.context, "cv_inspect"))[0]?.machines[0];
    while ((await told())?.state !== "online")
      await waitForChange(here.context, { atMostMs: 50, signal: AbortSignal.timeout(10_000) });
    expect(await told()).toMatchObject({ url: `${there.url}/execute`, reason: null });
    expect(Math.abs(((await told())?.skewMs ?? 0) - 12_000)).toBeLessThan(1_000);
  });

  test("an executor that the other side does not have is offline, and says so", async () => {
    const there = await served({});
    const here = await side(
      `remoteExecutors: [{name: cv_inspect, url: "${there.url}/execute", token: "\${env:T}"}]\n`,
      { env: { PATH: process.env.PATH, HOME: "/tmp", T: there.context.home.token } },
    );
    const machines = await homeExecutorsOf(here.context).remotes();
    while (machines.standings()[0]?.state === "unknown")
      await new Promise<void>((resolve) => machines.onChange(() => resolve()));

    expect(machines.standings()).toMatchObject([
      {
        state: "offline",
        reason: expect.stringContaining('503: unknownExecutor, no executor "cv_inspect" is served here'),
      },
    ]);
  });
});
