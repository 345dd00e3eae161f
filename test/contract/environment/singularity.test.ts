// The environment contract in an Apptainer instance: on the real program where it is installed, and always on a stand-in
// that refuses every word that is not in its contract (test/support/apptainer-stand-in.sh); then what is Apptainer's own.
//
// Not covered anywhere: SingularityCE, and a registry of real images.

import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkEnvironment, openEnvironment } from "../../../src/execute/environments/index.ts";
import { instanceName, parseInstanceName } from "../../../src/execute/environments/instance-names.ts";
import {
  listInstances,
  reapInstances,
  stopInstancesOf,
} from "../../../src/execute/environments/instances.ts";
import type { EnvironmentDeps } from "../../../src/execute/environments/place.ts";
import { makePipePool, type PipePool } from "../../../src/execute/pipe-pool.ts";
import type { SingularitySpec } from "../../../src/records/environment-spec.ts";
import {
  type Apptainer,
  startApptainer,
  startStandIn,
  whyNoApptainer,
  whyNoStandIn,
} from "../../support/apptainer.ts";
import { exec, said } from "./asking.ts";
import { environmentContract, type Harness } from "./contract.ts";
import { contractDeps, contractFolder } from "./local-harness.ts";

interface Bench {
  harness: Harness;
  deps(): EnvironmentDeps;
  program(): Apptainer;
}

function benchOf(
  name: string,
  { whyNot, start }: { whyNot: string | undefined; start(): Promise<Apptainer> },
): Bench {
  let program: Apptainer | undefined;
  let folder: ReturnType<typeof contractFolder> | undefined;
  let pipes: PipePool | undefined;
  let shared: string[] = [];
  const get = () => {
    if (!program) throw new Error("it was not started");
    return program;
  };
  const deps = () => {
    const made = contractDeps(folder?.path ?? "", pipes);
    made.nodeEnv = { ...made.nodeEnv, ...get().env };
    return made;
  };
  const outside = async () => [
    ...((await listInstances(deps(), "apptainer")) ?? []),
    ...readdirSync(join(folder?.path ?? "", "run")),
    ...logsOf(get()),
  ];
  return {
    program: get,
    deps,
    harness: {
      name,
      whyNot,
      has: { bash: false, sharedProcesses: true, boundary: true, codeOfSignal15: 143, terminal: true },
      async start() {
        folder = contractFolder();
        pipes = makePipePool(join(folder.path, "pipes"));
        program = await start();
      },
      async stop() {
        await pipes?.close();
        folder?.remove();
        await program?.stop();
      },
      async open() {
        const own = deps();
        const spec = { backend: "singularity", image: get().image, network: "none" } as const;
        const environment = await openEnvironment(own, spec);
        if (shared.length === 0) shared = await outside();
        return { deps: own, environment };
      },
      leftovers: async () => (await outside()).filter((name) => !shared.includes(name)),
    },
  };
}

function logsOf({ env }: Apptainer): string[] {
  const folder = join(env.HOME ?? "", ".apptainer/instances/logs");
  return existsSync(folder)
    ? readdirSync(folder, { recursive: true })
        .map(String)
        .filter((name) => /\.(err|out)$/.test(name))
    : [];
}

const standIn = benchOf("a stand-in for Apptainer", { whyNot: whyNoStandIn(), start: startStandIn });
const real = benchOf("Apptainer", { whyNot: whyNoApptainer(), start: startApptainer });

for (const { harness, deps: freshDeps, program } of [standIn, real]) {
  environmentContract(harness);

  describe.skipIf(harness.whyNot !== undefined)(
    `an instance's own (${harness.whyNot ?? harness.name})`,
    () => {
      let deps: EnvironmentDeps;
      const open = (changes: Partial<SingularitySpec> = {}) =>
        openEnvironment(deps, {
          backend: "singularity",
          image: program().image,
          network: "none",
          ...changes,
        });
      const names = async () => (await listInstances(deps, "apptainer")) ?? [];

      beforeAll(async () => {
        await harness.start?.();
        deps = freshDeps();
      });
      afterAll(() => harness.stop?.());

      test("walls: no network, nothing of the person's home, the run's folder at /workspace, a home of its own", async () => {
        await writeFile(join(deps.workdir, "given"), "from outside");
        await writeFile(join(deps.nodeEnv.HOME ?? "", "secret"), "not for inside");
        const environment = await open();
        const text = await said(
          environment,
          `tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; cat given; echo inside >made; echo x >"$HOME/own" && echo; ls /root; ls ${deps.nodeEnv.HOME} 2>/dev/null; touch /written && echo written`,
        );
        await environment.dispose();
        expect(text).toBe("lo\nfrom outside\nwritten\n");
        expect(await readFile(join(deps.workdir, "made"), "utf8")).toBe("inside\n");
      });

      test("an instance that dies in a call is a lost place, not a failed command; what was written is kept", async () => {
        const environment = await open();
        const lost = exec(environment, "echo before; sleep 60", {
          onOutput: () => void names().then(([name = ""]) => end(deps, name)),
        });
        await expect(lost).rejects.toMatchObject({
          code: "environment.broken",
          retry: "later",
          details: { stdout: "before\n" },
        });
        await expect(exec(environment, "true")).rejects.toMatchObject({ code: "environment.broken" });
        expect(await environment.dispose()).toEqual({ survivors: 0 });
        expect([await names(), readdirSync(deps.tempFolder)]).toEqual([[], []]);
      });

      test("a shell that is killed is its command's end, and exit 255 no more than that", async () => {
        const environment = await open();
        expect(await exec(environment, "kill -9 $$")).toMatchObject({ exitCode: 137 });
        expect(await exec(environment, "exit 255")).toMatchObject({ exitCode: 255 });
        expect(await exec(environment, "exec sh -c 'exit 255'")).toMatchObject({ exitCode: 255 });
        await environment.dispose();
      });

      test("limits are set where they can be: memory and processes", async () => {
        const environment = await open({ limits: { pids: 40, memoryMb: 256 } });
        const many = await exec(
          environment,
          "i=0; while [ $i -lt 60 ]; do sleep 5 & i=$((i + 1)); done 2>/dev/null; jobs | wc -l",
        );
        expect(Number(Buffer.from(many.stdout).toString()) < 40 || many.exitCode !== 0).toBe(true);
        await environment.dispose();
      });

      test("an image that is not here, or is none, is refused and leaves no instance and no folder", async () => {
        await writeFile(join(deps.workdir, "junk.sif"), "no image");
        const junk = join(deps.workdir, "junk.sif");
        const refused = { code: "environment.unusable" };
        await expect(open({ image: "/no/such.sif" })).rejects.toMatchObject(refused);
        await expect(open({ image: "images/relative.sif" })).rejects.toMatchObject(refused);
        await expect(open({ image: junk })).rejects.toMatchObject(refused);
        expect([await names(), readdirSync(deps.tempFolder)]).toEqual([[], []]);
        const check = (image: string) => checkEnvironment(deps, { backend: "singularity", image });
        expect(await check(program().image)).toMatchObject({ usable: true });
        expect(await check("/no/such.sif")).toMatchObject({
          usable: false,
          hint: "Correct the image's path.",
        });
        expect(await check(junk)).toMatchObject({
          usable: false,
          why: expect.stringContaining("is no image"),
        });
        expect(
          await checkEnvironment(
            { ...deps, nodeEnv: { PATH: "/nowhere" } },
            { backend: "singularity", image: "x" },
          ),
        ).toEqual({
          usable: false,
          why: "apptainer or singularity is not installed",
          hint: "Install Apptainer, or use another environment.",
        });
      });

      test("what is written to the image is kept for the scope that asked for it, and nobody else", async () => {
        const kept = { ...deps, keptFolder: join(deps.workdir, "..", "kept") };
        const spec = {
          backend: "singularity",
          image: program().image,
          persist: true,
          scope: "builds",
        } as const;
        const first = await openEnvironment(kept, spec);
        await said(first, "mkdir -p /usr/lib && echo kept >/usr/lib/installed");
        await first.dispose();
        const second = await openEnvironment(kept, spec);
        expect(await said(second, "cat /usr/lib/installed")).toBe("kept\n");
        await second.dispose();
        const other = await open({ persist: true });
        expect((await exec(other, "cat /usr/lib/installed")).exitCode).toBe(1);
        await other.dispose();
      });

      test("hermes#75467: an instance is stopped when its owner is dead, and only then; of taken-over runs always", async () => {
        const mine = await open();
        const [own = ""] = await names();
        const parsed = parseInstanceName(own);
        expect(parsed).toMatchObject({
          owner: expect.stringContaining(`.${process.pid}.`),
          runId: deps.env.NIGHTSHIFT_RUN_ID,
        });
        const orphan = own.replace(`.${process.pid}.`, `.${await deadPid()}.`).replace(/\.[^.]+$/, ".orphan");
        const elsewhere = own
          .replace(/^nightshift\.\w+/, "nightshift.00000000")
          .replace(/\.[^.]+$/, ".elsewhere");
        for (const name of [orphan, elsewhere, "somebody-else"]) await startNamed(deps, program(), name);

        expect(await reapInstances(deps, "apptainer")).toEqual([orphan]);
        expect((await names()).sort()).toEqual([own, elsewhere, "somebody-else"].sort());
        expect(await said(mine, "echo alive")).toBe("alive\n");
        expect(await stopInstancesOf(deps, "apptainer", new Set(["another-run"]))).toEqual([]);
        const runId = deps.env.NIGHTSHIFT_RUN_ID ?? "";
        expect(
          (await stopInstancesOf(deps, "apptainer", new Set([runId]))).map(({ name }) => name).sort(),
        ).toEqual([own, elsewhere].sort());
        await end(deps, "somebody-else");
        await mine.dispose();
        expect([await names(), logsOf(program()).filter((name) => name.includes("nightshift."))]).toEqual([
          [],
          [],
        ]);
        expect(await reapInstances({ ...deps, nodeEnv: { PATH: "/nowhere" } }, "apptainer")).toEqual([]);
      });
    },
  );
}

/** Ends an instance behind the backend's back. */
async function end(deps: EnvironmentDeps, name: string): Promise<void> {
  await command(deps, ["--silent", "instance", "stop", "--signal", "KILL", name]);
}

/** Starts one under any name, as a node that is no more has. */
async function startNamed(deps: EnvironmentDeps, { image }: Apptainer, name: string): Promise<void> {
  const scratch = join(deps.workdir, "..", `scratch-${name.slice(-9)}`);
  await mkdir(scratch, { recursive: true });
  const mount = `type=bind,source=${deps.workdir},destination=/workspace`;
  const words = [
    "--silent",
    "instance",
    "start",
    "--containall",
    "--no-home",
    "--no-privs",
    "--writable-tmpfs",
  ];
  await command(deps, [...words, "--workdir", scratch, "--mount", mount, image, name]);
}

function command(deps: EnvironmentDeps, words: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn("apptainer", words, {
      env: deps.nodeEnv as Record<string, string>,
      stdio: ["ignore", "ignore", "pipe"],
    });
    let text = "";
    child.stderr.on("data", (chunk) => {
      text += String(chunk);
    });
    child.once("exit", (code) =>
      code === 0 ? resolve() : reject(new Error(`apptainer ${words.join(" ")}: ${code} ${text}`)),
    );
  });
}

/** Of a process that has ended and is nobody's by now. */
function deadPid(): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn("true");
    child.once("exit", () => resolve(child.pid ?? 0));
  });
}

describe.skipIf(whyNoStandIn() !== undefined)("images that are fetched", () => {
  let program: Apptainer;
  let folder: ReturnType<typeof contractFolder>;
  let deps: EnvironmentDeps;
  beforeAll(async () => {
    program = await startStandIn();
    folder = contractFolder();
    deps = contractDeps(folder.path);
    deps.nodeEnv = {
      ...deps.nodeEnv,
      ...program.env,
      APPTAINER_BIND: "/root",
      XDG_CACHE_HOME: join(folder.path, "cache"),
    };
  });
  afterAll(async () => {
    folder.remove();
    await program.stop();
  });
  const cached = () => readdirSync(join(folder.path, "cache/nightshift/images"));
  const pulls = async () => (await program.calls()).filter((line) => line.includes(" pull "));
  const spec = (image: string, changes: Partial<SingularitySpec> = {}) =>
    ({ backend: "singularity", image, ...changes }) as const;

  test("two that want the same image at once: one fetches, both run; a third finds it there", async () => {
    await program.offer("docker://python:3.12-slim", { isSlow: true });
    expect(await checkEnvironment(deps, spec("python:3.12-slim"))).toMatchObject({
      usable: true,
      notes: ["apptainer version 1.4.5", "the image will be fetched at the first use"],
    });
    const both = await Promise.all([1, 2].map(() => openEnvironment(deps, spec("python:3.12-slim"))));
    for (const environment of both) {
      expect(await said(environment, "echo there")).toBe("there\n");
      await environment.dispose();
    }
    await (await openEnvironment(deps, spec("docker://python:3.12-slim", { pull: "never" }))).dispose();
    expect(await pulls()).toHaveLength(1);
    expect(cached()).toEqual([expect.stringMatching(/^[0-9a-f]{24}\.sif$/)]);
  });

  test("a lock that a dead process left is broken; a fetch that fails or is called off leaves nothing", async () => {
    await program.offer("oras://registry.example/tool:1");
    const [name = ""] = cached();
    const { imageSource } = await import("../../../src/execute/environments/singularity-image.ts");
    const { file } = imageSource(deps.nodeEnv, spec("oras://registry.example/tool:1"));
    const { ownerOf } = await import("../../../src/execute/environments/owner.ts");
    await writeFile(`${file}.lock`, JSON.stringify({ ...ownerOf(), pid: await deadPid() }));
    await (await openEnvironment(deps, spec("oras://registry.example/tool:1"))).dispose();

    await expect(openEnvironment(deps, spec("docker://absent:1"))).rejects.toMatchObject({
      code: "environment.unusable",
      retry: "later",
      message: expect.stringContaining("docker://absent:1 was not found"),
    });
    await expect(openEnvironment(deps, spec("docker://never:1", { pull: "never" }))).rejects.toMatchObject({
      code: "environment.unusable",
      hint: expect.stringContaining("apptainer pull "),
    });
    await program.offer("docker://slow:1", { isSlow: true });
    const reason = new Error("called off");
    const calledOff = openEnvironment(
      { ...deps, signal: AbortSignal.timeout(100) },
      spec("docker://slow:1"),
    ).catch(() => reason);
    expect(await calledOff).toBe(reason);
    expect(cached().sort()).toEqual([name, file.split("/").at(-1)].sort());
  });

  test("a network where none was asked for: the instance is refused and stopped", async () => {
    // A program that takes the words and gives a network all the same.
    const path = join(folder.path, "bin");
    await mkdir(path);
    await writeFile(
      join(path, "apptainer"),
      `#!/bin/bash\nwords=()\nfor word; do case $word in --net | --network | none) ;; *) words+=("$word") ;; esac; done\nexec ${program.env.PATH?.split(":")[0]}/apptainer "\${words[@]}"\n`,
      { mode: 0o755 },
    );
    const liar = { ...deps, nodeEnv: { ...deps.nodeEnv, PATH: `${path}:${program.env.PATH}` } };
    await expect(openEnvironment(liar, spec(program.image, { network: "none" }))).rejects.toMatchObject({
      code: "environment.unusable",
      message: expect.stringContaining("has a network"),
    });
    expect(await listInstances(deps, "apptainer")).toEqual([]);
  });

  test("an instance's name says whose it is and parses back; other names are nobody's", () => {
    const name = instanceName({ runId: "run_1", environmentId: "env-1" });
    expect(name).toMatch(/^[\w.-]+$/);
    expect(parseInstanceName(name)).toMatchObject({
      runId: "run_1",
      environmentId: "env-1",
      owner: expect.stringContaining(`.${process.pid}.`),
    });
    expect(["", "nightshift", "nightshift.a.b.c.x.1.r.e", "web"].map(parseInstanceName)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});
