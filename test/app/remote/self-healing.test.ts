// Seed 003 §4.4: the GPU machine hangs in the middle of a task; it is marked, its work goes to the fallback, every line is
// completed, and when it is well again it gets tasks again. Measured by the wall clock, ten times in a row.

import { chmod, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { homeExecutorsOf } from "../../../src/app/executors/lazy-executors.ts";
import { SECOND } from "../../../src/kernel/time.ts";
import { defineExecutor } from "../../../src/orchestrate/executors/define-executor.ts";
import { tempFolder } from "../../support/temp.ts";
import { calling, served } from "./bench.ts";

/** @source seed 003 §4.4: "within five seconds". */
const HEALED_MS = 5 * SECOND;
const ROUNDS = 10;
/** At once, in each round. */
const LINES = 2;

const LINE = `
params: {part: {type: string}}
tasks:
  - {id: t2, executor: capture, params: {part: "{{ params.part }}"}}
  - {id: t3, executor: cv_inspect, params: {image: "{{ t2.result.image }}"}, dependsOn: [t2]}
  - {id: t6, executor: verdict, params: {by: "{{ t3.result.by }}", image: "{{ t3.result.image }}"}, dependsOn: [t3]}
outputs: {verdict: "{{ t6.result }}", used: "{{ t3.executorUsed }}"}
`;

const HERE = {
  capture: defineExecutor({
    name: "capture",
    effects: "none",
    run: ({ part }) => ({ image: `/tmp/${part}` }),
  }),
  cv_inspect_cpu: defineExecutor({
    ...{ name: "cv_inspect_cpu", effects: "none" },
    run: ({ image }) => ({ by: "cpu", image }),
  }),
  verdict: defineExecutor({ name: "verdict", effects: "none", run: ({ by, image }) => `${by} ${image}` }),
};

/** The GPU machine: what `nvidia-smi` does while the file `stuck` is there, and tasks that do not heed being ended. */
async function gpuMachine(whenStuck: (stuck: string) => string) {
  const folder = await tempFolder();
  const stuck = join(folder, "stuck");
  await writeFile(
    join(folder, "nvidia-smi"),
    `#!/bin/sh\n[ -e ${stuck} ] && { ${whenStuck(stuck)}; }\necho "16384, 16000"\n`,
  );
  await chmod(join(folder, "nvidia-smi"), 0o700);
  let isStuck = false;
  const hanging: (() => void)[] = [];
  let onHang = () => {};
  const executor = defineExecutor({
    ...{ name: "cv_inspect", resources: { gpu: true, gpuMemoryMb: 4_096 } },
    run: ({ image }) =>
      isStuck
        ? new Promise((resolve) => {
            hanging.push(() => resolve(null));
            onHang();
          })
        : { by: "gpu", image },
  });
  const there = await served(
    { cv_inspect: executor },
    { env: { PATH: `${folder}:/usr/bin:/bin`, HOME: folder, TZ: "UTC" } },
  );
  return {
    there,
    /** Tasks that begin from now on. */
    hangTasks() {
      isStuck = true;
    },
    /** And what `nvidia-smi` says. */
    stick: () => writeFile(stuck, ""),
    async whenHanging(count: number) {
      while (hanging.length < count)
        await new Promise<void>((resolve) => {
          onHang = resolve;
        });
    },
    async heal() {
      isStuck = false;
      await rm(stuck);
      for (const end of hanging.splice(0)) end();
    },
  };
}

async function line(machine: Awaited<ReturnType<typeof gpuMachine>>, more = "") {
  const { url, context } = machine.there;
  const here = await calling([{ name: "cv_inspect", url, token: context.home.token, more }], {
    executors: HERE,
    more: "fallbackExecutors: {cv_inspect: cv_inspect_cpu}\n",
  });
  const machines = await homeExecutorsOf(here.context).remotes();
  const standing = async (state: string): Promise<void> => {
    while (machines.standings()[0]?.state !== state)
      await new Promise<void>((resolve) => {
        const off = machines.onChange(() => {
          off();
          resolve();
        });
      });
  };
  const parts = async (round: string) => {
    const runs = await Promise.all(
      Array.from({ length: LINES }, (_, index) => here.submit(LINE, { part: `${round}-${index}` })),
    );
    return async () => {
      const ended = await Promise.all(runs.map(({ id }) => here.ended(id)));
      return ended.map(({ state, outcome }) => [state, (outcome as { result?: unknown } | null)?.result]);
    };
  };
  await standing("online");
  return { parts, standing };
}

const done = (round: string, by: "gpu" | "cpu") =>
  Array.from({ length: LINES }, (_, index) => [
    "succeeded",
    { verdict: `${by} /tmp/${round}-${index}`, used: by === "gpu" ? "cv_inspect" : "cv_inspect_cpu" },
  ]);

test(`a GPU machine whose health is 503 and whose tasks make no progress: ${ROUNDS} times in a row every line is completed by the fallback within 5 s, and by the GPU again after it`, async () => {
  const machine = await gpuMachine(() => 'echo "GPU is lost" >&2; exit 15');
  const { parts, standing } = await line(machine, ", healthInterval: 100ms");
  const healed: number[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    machine.hangTasks();
    const hungAt = performance.now();
    const lines = await parts(`hang-${round}`);
    await machine.whenHanging(LINES);
    await machine.stick();
    expect(await lines()).toEqual(done(`hang-${round}`, "cpu"));
    healed.push(performance.now() - hungAt);

    await machine.heal();
    await standing("online");
    const well = await parts(`well-${round}`);
    expect(await well()).toEqual(done(`well-${round}`, "gpu"));
  }
  expect(healed.filter((ms) => ms > HEALED_MS)).toEqual([]);
}, 30_000);

test("with the seed's own times (asked every 30 s, and nvidia-smi itself hangs): tasks in the middle are rerouted within 5 s", async () => {
  const machine = await gpuMachine((stuck) => `while [ -e ${stuck} ]; do sleep 0.1; done`);
  const { parts } = await line(machine);
  machine.hangTasks();
  const hungAt = performance.now();
  const lines = await parts("stuck");
  await machine.whenHanging(LINES);
  await machine.stick();

  expect(await lines()).toEqual(done("stuck", "cpu"));
  expect(performance.now() - hungAt).toBeLessThanOrEqual(HEALED_MS);
  await machine.heal();
}, 30_000);
