import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { availableParallelism, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { readGroupLimits } from "../../../src/app/resources/cgroups.ts";
import { openCardProbe } from "../../../src/app/resources/graphics-cards.ts";
import { openProbe } from "../../../src/app/resources/probe.ts";
import { systemClock } from "../../../src/app/system.ts";
import { testContext } from "../../support/home.ts";
import { tempFolder } from "../../support/temp.ts";

const MB = 1_048_576;

/** Files as the kernel shows them, below a folder of our own. */
async function kernel(files: Record<string, string>): Promise<{ proc: string; cgroup: string }> {
  const root = await tempFolder();
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text);
  }
  return { proc: join(root, "proc"), cgroup: join(root, "sys") };
}

describe("control groups: what a container or service may use, not what the machine has", () => {
  test("v2: the tightest of all levels counts, and caches that are given back are not used", async () => {
    const limits = await readGroupLimits(
      await kernel({
        "proc/self/cgroup": "0::/system.slice/nightshift.service\n",
        "sys/system.slice/cpu.max": "150000 100000\n",
        "sys/system.slice/memory.max": "max\n",
        "sys/system.slice/nightshift.service/cpu.max": "max 100000\n",
        "sys/system.slice/nightshift.service/memory.max": `${900 * MB}\n`,
        "sys/system.slice/nightshift.service/memory.current": `${700 * MB}\n`,
        "sys/system.slice/nightshift.service/memory.stat": `anon 1\ninactive_file ${200 * MB}\nactive_file 7\n`,
      }),
    );

    expect(limits).toEqual({ cpu: 1.5, memory: { limitBytes: 900 * MB, leftBytes: 400 * MB } });
  });

  test("v2: a level above with less left is what counts, although its limit is larger", async () => {
    const limits = await readGroupLimits(
      await kernel({
        "proc/self/cgroup": "0::/a/b\n",
        "sys/a/memory.max": `${1_000 * MB}`,
        "sys/a/memory.current": `${990 * MB}`,
        "sys/a/b/memory.max": `${500 * MB}`,
        "sys/a/b/memory.current": `${100 * MB}`,
      }),
    );

    expect(limits.memory).toEqual({ limitBytes: 500 * MB, leftBytes: 10 * MB });
  });

  test("v1 in a container: the host's path is not there, so the root of each controller is read", async () => {
    const limits = await readGroupLimits(
      await kernel({
        "proc/self/cgroup": "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/docker/abc\n",
        "sys/cpu,cpuacct/cpu.cfs_quota_us": "250000\n",
        "sys/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
        "sys/memory/memory.limit_in_bytes": `${300 * MB}\n`,
        "sys/memory/memory.usage_in_bytes": `${120 * MB}\n`,
        "sys/memory/memory.stat": `cache 1\ntotal_inactive_file ${20 * MB}\n`,
      }),
    );

    expect(limits).toEqual({ cpu: 2.5, memory: { limitBytes: 300 * MB, leftBytes: 200 * MB } });
  });

  test("no limits: v1's quota of -1 and its number beyond any machine, v2's max, or no control groups at all", async () => {
    const none = { cpu: undefined, memory: undefined };

    expect(
      await readGroupLimits(
        await kernel({
          "proc/self/cgroup": "2:memory:/\n3:cpu,cpuacct:/\n",
          "sys/cpu,cpuacct/cpu.cfs_quota_us": "-1",
          "sys/cpu,cpuacct/cpu.cfs_period_us": "100000",
          "sys/memory/memory.limit_in_bytes": "9223372036854771712",
        }),
      ),
    ).toEqual(none);
    expect(
      await readGroupLimits(await kernel({ "proc/self/cgroup": "0::/\n", "sys/cpu.max": "max 100000" })),
    ).toEqual(none);
    expect(await readGroupLimits(await kernel({}))).toEqual(none);
  });
});

/** A stand-in for `nvidia-smi` on a PATH of its own. */
async function smi(script: string): Promise<string> {
  const folder = await tempFolder();
  await writeFile(join(folder, "nvidia-smi"), `#!/bin/sh\n${script}\n`);
  await chmod(join(folder, "nvidia-smi"), 0o700);
  return `${folder}:${process.env.PATH}`;
}

function cardsOn(path: string, patienceMs = 5_000) {
  const probe = openCardProbe({ clock: systemClock, path, patienceMs });
  onTestFinished(() => probe.close());
  return probe;
}

describe("GPUs, as nvidia-smi tells of them (seed 003 §3.2)", () => {
  test("each line is a card, and the question is the seed's", async () => {
    const path =
      await smi(`[ "$*" = "--query-gpu=memory.total,memory.free --format=csv,noheader,nounits" ] || exit 9
echo "16384, 15109"
echo "8192, 8000"`);

    expect(await cardsOn(path).read()).toEqual({
      cards: [
        { totalMb: 16_384, freeMb: 15_109 },
        { totalMb: 8_192, freeMb: 8_000 },
      ],
    });
  });

  test("a machine without nvidia-smi has no cards; that is no problem", async () => {
    expect(await cardsOn(await tempFolder()).read()).toEqual({ cards: [] });
  });

  test("a card that is lost: what nvidia-smi says is the problem, and the cards are still known", async () => {
    const folder = await tempFolder();
    const path =
      await smi(`[ -e ${folder}/lost ] && { echo "Unable to determine the device handle: GPU is lost" >&2; exit 15; }
echo "16384, 16000"`);
    const probe = cardsOn(path);

    await probe.read();
    await writeFile(join(folder, "lost"), "");

    expect(await probe.read()).toEqual({
      cards: [{ totalMb: 16_384, freeMb: 16_000 }],
      problem: "nvidia-smi ended with 15: Unable to determine the device handle: GPU is lost",
    });
    await rm(join(folder, "lost"));
    expect(await probe.read()).toEqual({ cards: [{ totalMb: 16_384, freeMb: 16_000 }] });
  });

  test("seed 003 §4.4: a card that hangs does not hang the probe, and no second program is started beside the first", async () => {
    const folder = await tempFolder();
    const path = await smi(`echo x >> ${folder}/started; exec sleep 60`);
    const probe = cardsOn(path, 150);

    const [first, second] = [await probe.read(), probe.read()];

    const late = { cards: [], problem: "nvidia-smi does not answer within 150ms" };
    expect(first).toEqual(late);
    expect(await second).toEqual(late);
    expect(await readFile(join(folder, "started"), "utf8")).toBe("x\n");
  });

  test("what is no number is a problem, not a card", async () => {
    expect(await cardsOn(await smi('echo "[N/A], [N/A]"')).read()).toEqual({
      cards: [],
      problem: 'nvidia-smi says "[N/A], [N/A]"',
    });
  });
});

test("a measurement is of this machine, or of its control group where that is smaller, with labels of config and environment", async () => {
  const path = await smi('echo "100, 90"');
  const folder = await tempFolder();
  await writeFile(
    join(folder, "config.yaml"),
    "orchestrator: {labels: [line-a], reserve: {memoryMb: 64}}\n",
    {
      mode: 0o600,
    },
  );
  const context = await testContext({
    path: folder,
    env: { PATH: path, HOME: folder, NIGHTSHIFT_LABELS: "camera, line-a" },
  });
  const folders = await kernel({
    "proc/self/cgroup": "0::/a\n",
    "sys/a/cpu.max": "50000 100000",
    "sys/a/memory.max": `${64 * MB}`,
    "sys/a/memory.current": `${60 * MB}`,
  });
  const [bare, inGroup] = [openProbe(context), openProbe(context, { folders })];
  onTestFinished(() => bare.close());

  const [whole, part] = await Promise.all([bare.measure(), inGroup.measure()]);

  expect(whole.cpu).toBeLessThanOrEqual(availableParallelism());
  expect(whole.memoryMb).toBeLessThanOrEqual(Math.floor(totalmem() / MB));
  expect(whole.memoryFreeMb).toBeLessThanOrEqual(whole.memoryMb);
  expect(part).toMatchObject({
    ...{ cpu: 0.5, memoryMb: 64, memoryFreeMb: 4, labels: ["line-a", "camera"] },
    cards: [{ totalMb: 100, freeMb: 90 }],
    reserve: { cpu: 0, memoryMb: 64, gpuMemoryMb: 0 },
  });
});
