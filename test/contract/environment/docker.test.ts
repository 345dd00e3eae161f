// The environment contract in a container, and what is docker's own: its walls, its losses, its orphans.

import { readdirSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkEnvironment, openEnvironment } from "../../../src/execute/environments/index.ts";
import type { EnvironmentDeps } from "../../../src/execute/environments/place.ts";
import { ownerLabel, reapContainers } from "../../../src/execute/environments/reap-containers.ts";
import { makePipePool, type PipePool } from "../../../src/execute/pipe-pool.ts";
import type { DockerSpec } from "../../../src/records/environment-spec.ts";
import { type Engine, startEngine, TEST_IMAGE, whyNoEngine } from "../../support/docker-engine.ts";
import { exec, said } from "./asking.ts";
import { environmentContract, type Harness } from "./contract.ts";
import { contractDeps, contractFolder } from "./local-harness.ts";

let engine: Engine | undefined;
let folder: ReturnType<typeof contractFolder> | undefined;
let pipes: PipePool | undefined;
let sharedContainers = "";

const harness: Harness = {
  name: "docker",
  whyNot: whyNoEngine(),
  has: { bash: false, sharedProcesses: true, boundary: true, codeOfSignal15: 143, terminal: true },
  async start() {
    folder = contractFolder();
    pipes = makePipePool(join(folder.path, "pipes"));
    engine = await startEngine();
  },
  async stop() {
    await engine?.stop();
    await pipes?.close();
    folder?.remove();
  },
  async open() {
    const deps = contractDeps(folder?.path ?? "", pipes);
    deps.nodeEnv = { ...deps.nodeEnv, ...engine?.env };
    const environment = await openEnvironment(deps, {
      backend: "docker",
      image: TEST_IMAGE,
      network: "none",
    });
    sharedContainers ||= (await engine?.docker("ps", "--all", "--quiet")) ?? "";
    return { deps, environment };
  },
  async leftovers() {
    const containers = ((await engine?.docker("ps", "--all", "--quiet")) ?? "").split("\n");
    return [
      ...containers.filter((id) => id !== sharedContainers),
      ...readdirSync(join(folder?.path ?? "", "run")),
    ];
  },
};

environmentContract(harness);

describe.skipIf(whyNoEngine() !== undefined)(`a container's own (${whyNoEngine() ?? "docker"})`, () => {
  let deps: EnvironmentDeps;
  const open = (changes: Partial<DockerSpec> = {}) =>
    openEnvironment(deps, { backend: "docker", image: TEST_IMAGE, network: "none", ...changes });
  const containers = async () =>
    ((await engine?.docker("ps", "--all", "--quiet")) ?? "").split("\n").filter(Boolean);

  beforeAll(async () => {
    await harness.start?.();
    deps = contractDeps(folder?.path ?? "", pipes);
    deps.nodeEnv = { ...deps.nodeEnv, ...engine?.env };
  });
  afterAll(() => harness.stop?.());

  test("walls: no network, capabilities dropped, no new privileges, limits, the run's folder at /workspace", async () => {
    await writeFile(join(deps.workdir, "given"), "from outside");
    const environment = await open({ limits: { memoryMb: 64, pids: 32, cpu: 0.5 } });
    const command = `ls /sys/class/net; grep -E '^(CapEff|NoNewPrivs)' /proc/self/status; cat given; echo inside >made
cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null
cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null; true`;
    const text = await said(environment, command);
    await environment.dispose();

    expect(text.split("\n")).toEqual([
      "lo",
      "CapEff:\t00000000000000cb",
      "NoNewPrivs:\t1",
      "from outside32",
      "67108864",
      "",
    ]);
    expect(await readFile(join(deps.workdir, "made"), "utf8")).toBe("inside\n");
    expect(await containers()).toEqual([]);
  });

  test("a container that dies in a call is a lost place, not a failed command; what was written is kept", async () => {
    const environment = await open();
    const lost = exec(environment, "echo before; sleep 60", {
      onOutput: () => void containers().then(([name = ""]) => engine!.docker("kill", name)),
    });
    await expect(lost).rejects.toMatchObject({
      code: "environment.broken",
      retry: "later",
      details: { stdout: "before\n" },
    });
    await expect(exec(environment, "true")).rejects.toMatchObject({ code: "environment.broken" });
    expect(await environment.dispose()).toEqual({ survivors: 0 });
    expect(await containers()).toEqual([]);
  });

  test("a shell that is killed is its command's end, not its container's", async () => {
    const environment = await open();
    expect(await exec(environment, "echo before; kill -9 $$")).toMatchObject({ exitCode: 137 });
    expect(await said(environment, "echo alive")).toBe("alive\n");
    await environment.dispose();
  });

  test("hermes#36266: where repeating is declared safe a lost container is made anew, once for the call, and it says so", async () => {
    const spec = { backend: "docker", image: TEST_IMAGE, network: "none" } as const;
    const environment = await openEnvironment(deps, spec, { isRepeatable: true });
    expect((await exec(environment, "export A=1")).wasRecreated).toBeUndefined();
    await engine!.docker("rm", "-f", ...(await containers()));

    const both = await Promise.all([exec(environment, "echo ${A-new}"), exec(environment, "exit 3")]);

    expect(both.map(({ exitCode, wasRecreated }) => [exitCode, wasRecreated])).toEqual([
      [0, true],
      [3, true],
    ]);
    expect(Buffer.from(both[0].stdout).toString()).toBe("new\n");
    expect(await containers()).toHaveLength(1);
    expect(await environment.dispose()).toEqual({ survivors: 0 });
    expect(await containers()).toEqual([]);
  });

  test("a daemon that restarts under a command is a lost place; where repeating is safe the place comes back with it", {
    timeout: 120_000,
  }, async () => {
    const spec = { backend: "docker", image: TEST_IMAGE, network: "none" } as const;
    const plain = await open();
    const repeatable = await openEnvironment(deps, spec, { isRepeatable: true });
    let restarting: Promise<void> | undefined;
    const onOutput = () => {
      restarting ??= engine?.restart();
    };
    const [lost, again] = await Promise.allSettled([
      exec(plain, "echo before; sleep 60", { onOutput }),
      exec(
        repeatable,
        'test -e /tmp/seen || { touch /tmp/seen; hostname >name; }; [ "$(cat name)" = "$(hostname)" ] && sleep 2; echo done',
      ),
    ]);
    await restarting;
    expect(lost).toMatchObject({
      status: "rejected",
      reason: { code: "environment.broken", retry: "later" },
    });
    expect(again).toMatchObject({ status: "fulfilled", value: { exitCode: 0, wasRecreated: true } });
    expect(await plain.dispose()).toEqual({ survivors: 0 });
    expect(await repeatable.dispose()).toEqual({ survivors: 0 });
    expect(await containers()).toEqual([]);
  });

  test("hermes#7439: an image that is not here, or cannot start, is refused and leaves no container", async () => {
    await expect(open({ image: "nightshift-test/absent:1", pull: "never" })).rejects.toMatchObject({
      code: "environment.unusable",
      hint: expect.stringContaining("docker pull nightshift-test/absent:1"),
    });
    await expect(open({ user: "nobody-of-this-name" })).rejects.toMatchObject({
      code: "environment.unusable",
    });
    expect(await containers()).toEqual([]);
    const check = (spec: Partial<DockerSpec>) =>
      checkEnvironment(deps, { backend: "docker", image: TEST_IMAGE, ...spec });
    expect(await check({})).toMatchObject({ usable: true });
    expect(await check({ image: "nightshift-test/absent:1", pull: "never" })).toMatchObject({
      usable: false,
    });
    expect(
      await checkEnvironment({ ...deps, nodeEnv: { PATH: "/nowhere" } }, { backend: "docker", image: "x" }),
    ).toEqual({
      usable: false,
      why: "docker or podman is not installed",
      hint: "Install Docker or Podman, or use another environment.",
    });
  });

  test("hermes#75467: a running container is reaped when its owner is dead, and only then", async () => {
    const mine = await open();
    const [machine, boot, namespace] = ownerLabel().split("|");
    const start = (name: string, owner: string) =>
      engine!.docker(
        "run",
        "-d",
        `--name=${name}`,
        "--label=nightshift.environment=x",
        `--label=nightshift.owner=${owner}`,
        "--network=none",
        TEST_IMAGE,
        "sleep",
        "3600",
      );
    await start("orphan", [machine, boot, namespace, process.pid, "1"].join("|"));
    await start("of-an-earlier-boot", [machine, "another-boot", namespace, 1, "1"].join("|"));
    await start("of-another-machine", ["another-machine", boot, namespace, 1, "1"].join("|"));
    await start("of-another-namespace", [machine, boot, "pid:[1]", 1, "1"].join("|"));

    expect((await reapContainers(deps, "docker")).sort()).toEqual(["of-an-earlier-boot", "orphan"]);

    expect(await said(mine, "echo alive")).toBe("alive\n");
    await engine!.docker("rm", "-f", "of-another-machine", "of-another-namespace");
    await mine.dispose();
    expect(await reapContainers({ ...deps, nodeEnv: { PATH: "/nowhere" } }, "docker")).toEqual([]);
  });

  test("L14: CPU time inside that prints nothing is activity; sleeping is none", async () => {
    const quick = { ...deps, cpuSampleMs: 50 };
    const environment = await openEnvironment(quick, {
      backend: "docker",
      image: TEST_IMAGE,
      network: "none",
    });
    const activities: string[] = [];
    const onActivity = (activity: string) => void activities.push(activity);
    await exec(environment, "while :; do :; done", { timeoutMs: 1_500, onActivity });
    expect(new Set(activities)).toEqual(new Set(["cpu"]));
    await environment.dispose();
  });

  test("a workspace of its own is kept for the scope that asked for it, and nobody else", async () => {
    const kept = { workdir: "own", persist: true, scope: "builds" } as const;
    deps.scopeKey = "a home/docker/its spec/name/builds";
    const first = await open(kept);
    await said(first, "echo kept >file");
    await first.dispose();
    const second = await open(kept);
    expect(await said(second, "cat file")).toBe("kept\n");
    await second.dispose();
    deps.scopeKey = undefined;
    const other = await open({ workdir: "own" });
    expect(await said(other, "ls")).toBe("");
    await other.dispose();
    expect((await engine!.docker("volume", "ls", "--quiet")).split("\n")).toHaveLength(1);
  });
});
