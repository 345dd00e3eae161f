// What is local's own: activity, limits, walls, and what it says where it can give none.

import { spawnSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { makeWallsProbe } from "../../../src/execute/environments/bubblewrap.ts";
import {
  checkEnvironment,
  describeEnvironment,
  openEnvironment,
} from "../../../src/execute/environments/index.ts";
import { applyLimits } from "../../../src/execute/environments/limits.ts";
import {
  type LocalEnvironment,
  type LocalOptions,
  openLocal,
} from "../../../src/execute/environments/local.ts";
import type { EnvironmentDeps } from "../../../src/execute/environments/place.ts";
import { sessionArgv } from "../../../src/execute/environments/session-script.ts";
import { type LocalSpec, parseEnvironmentSpec } from "../../../src/records/environment-spec.ts";
import { exec, said, textOf } from "../../contract/environment/asking.ts";
import { contractDeps, hasBubblewrap } from "../../contract/environment/local-harness.ts";
import { tempFolder } from "../../support/temp.ts";
import { realClock } from "../room.ts";

async function openHere(
  given: { spec?: Partial<LocalSpec>; options?: LocalOptions; deps?: Partial<EnvironmentDeps> } = {},
): Promise<{ environment: LocalEnvironment; deps: EnvironmentDeps; folder: string }> {
  const folder = await tempFolder();
  const deps = { ...contractDeps(folder), ...given.deps };
  const environment = await openLocal(deps, { backend: "local", ...given.spec }, given.options);
  onTestFinished(async () => void (await environment.dispose()));
  return { environment, deps, folder };
}

describe("activity of a silent command", () => {
  test("L14: CPU time without output is activity, sleeping is none, output is told as output", async () => {
    const { environment } = await openHere({ deps: { cpuSampleMs: 40 } });
    const activitiesOf = async (command: string) => {
      const seen = new Set<string>();
      await exec(environment, command, { timeoutMs: 400, onActivity: (activity) => void seen.add(activity) });
      return [...seen].sort();
    };
    expect(await activitiesOf("while :; do :; done")).toEqual(["cpu"]);
    expect(await activitiesOf("sleep 60")).not.toContain("output");
    expect(await activitiesOf("echo one; sleep 60")).toContain("output");
  });
});

describe("the session script", () => {
  const shells = [
    ["bash", ["bash"]],
    ["dash", ["dash"]],
    ["busybox", ["busybox", "sh"]],
  ] as const;
  test.each(shells.filter(([, [program]]) => canRun(program)))(
    "keeps a session in %s",
    async (_, [program, ...words]) => {
      const folder = await tempFolder();
      const call = (id: string, before: string, command: string) => {
        const shell = { path: program, isBash: program === "bash" };
        const [first = "", ...rest] = sessionArgv(shell, {
          stateFolder: folder,
          callId: id,
          candidates: [before],
          cwd: "",
          home: folder,
          nonce: "n",
          names: ["OWN"],
          stale: [],
          command: { text: command },
          isKept: true,
        });
        const ran = spawnSync(first, [...words, ...rest], { env: { PATH: process.env.PATH, OWN: "call's" } });
        return [ran.stdout.toString(), ran.stderr.toString()];
      };
      call(
        "a",
        "",
        `export A="it's
two"; export OWN=changed; cd /; exit 3`,
      );
      const [out, err] = call("b", "a", 'printf "%s|" "$A" "$OWN" "$PWD"; missing-command');
      expect(out).toBe("it's\ntwo|call's|/|\u001en:127:1:/\u001en\u001e");
      expect(err).toContain("missing-command");
      expect(err?.endsWith("\n\u001en:127:1:/\u001en\u001e")).toBe(true);
    },
  );
});

function canRun(program: string): boolean {
  return spawnSync("/bin/sh", ["-c", 'command -v "$1"', "sh", program]).status === 0;
}

describe("hard limits", () => {
  test("what is reported is what holds: processes beyond the limit cannot start", async () => {
    const { environment } = await openHere({ spec: { limits: { pids: 20, memoryMb: 64, cpu: 0.5 } } });
    const { enforced, notEnforced } = environment.limits;
    expect([...Object.keys(enforced), ...notEnforced].sort()).toEqual(["cpu", "memoryMb", "pids"]);
    if (enforced.pids?.startsWith("cgroup")) {
      const forks = await exec(environment, "for i in $(seq 1 40); do sleep 5 & done; wait", {
        timeoutMs: 3_000,
      });
      expect(textOf(forks.stderr)).toMatch(/fork|Resource temporarily unavailable/);
    }
    if (enforced.memoryMb) {
      const eats = `${process.execPath} -e 'const all = []; for (;;) all.push(Buffer.alloc(8e6, 1))'`;
      expect((await exec(environment, eats, { timeoutMs: 15_000 })).exitCode).not.toBe(0);
    }
  });

  test("where no control group can be made, ulimit stands in and CPU is named as not enforced", async () => {
    const root = await tempFolder();
    for (const controller of ["cpu", "memory", "pids"]) await mkdir(join(root, controller));
    const { report, join: text } = await applyLimits({ cpu: 1, memoryMb: 64, pids: 9 }, "id", root);
    expect(report).toEqual({
      enforced: { cpu: "cgroup v1", memoryMb: "cgroup v1", pids: "cgroup v1" },
      notEnforced: [],
    });
    expect(await readFile(join(root, "memory/nightshift-id/memory.limit_in_bytes"), "utf8")).toBe("67108864");
    const nowhere = await applyLimits({ cpu: 1, memoryMb: 64, pids: 9 }, "id", "/proc/none");
    expect(nowhere.report).toEqual({
      enforced: { memoryMb: "rlimit", pids: "rlimit" },
      notEnforced: ["cpu"],
    });
    expect(nowhere.join).toContain("ulimit -v 65536");
    expect(text).toContain("cgroup.procs");
  });
});

const needsWalls = hasBubblewrap() ? test : test.skip;

describe("walls", () => {
  needsWalls("S1: a hidden home cannot be read nor written, by no path; what is excepted can", async () => {
    const home = await tempFolder();
    await writeFile(join(home, "token"), "s3cret");
    const deps = contractDeps(home);
    const { environment } = await openHere({ deps, options: { hide: { folders: [home], except: [] } } });
    expect(environment).toMatchObject({ isHidden: true, whyNotHidden: undefined });

    const tries = await exec(
      environment,
      `cat ${home}/token; cat /proc/${process.pid}/root${home}/token; cat /proc/1/root${home}/token; umount ${home}; cat ${home}/token; echo x >${home}/made`,
    );
    expect(textOf(tries.stdout)).not.toContain("s3cret");
    await expect(readFile(join(home, "made"))).rejects.toMatchObject({ code: "ENOENT" });
    await expect(
      environment.readFile(join(home, "token"), { signal: new AbortController().signal }),
    ).rejects.toMatchObject({
      code: "environment.file-missing",
    });
    await said(environment, "pwd; echo kept >result");
    expect(await readFile(join(deps.workdir, "result"), "utf8")).toBe("kept\n");
  });

  needsWalls("a sandbox has no network and cannot write outside its folder and /tmp", async () => {
    const { environment, deps } = await openHere({ spec: { sandbox: "bubblewrap" } });
    const text = await said(
      environment,
      "ls /sys/class/net 2>/dev/null | wc -l; ip -o link 2>/dev/null | wc -l; touch /usr/x 2>/dev/null || echo read-only; touch /tmp/fine made && echo fine",
    );
    expect(text).toContain("read-only\nfine\n");
    const net = await exec(environment, "exec 3<>/dev/tcp/127.0.0.1/22");
    expect(net.exitCode).not.toBe(0);
    expect(await readFile(join(deps.workdir, "made"), "utf8")).toBe("");
  });

  needsWalls(
    "walls that could not stand are tried again; those that stood are not, but fail closed",
    async () => {
      const bin = await tempFolder();
      const path = `${bin}:${process.env.PATH}`;
      const calls = join(bin, "calls");
      await writeFile(join(bin, "bwrap"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
      const base = contractDeps(await tempFolder());
      const deps = { ...base, probeWalls: makeWallsProbe(), env: { ...base.env, PATH: path } };
      const open = () => openHere({ deps, options: { hide: { folders: [bin], except: [] } } });
      expect((await open()).environment.isHidden).toBe(false);

      await writeFile(
        join(bin, "bwrap"),
        `#!/bin/sh\necho >>${calls}\nPATH='${process.env.PATH}' exec bwrap "$@"\n`,
      );
      const [first, second] = [await open(), await open()];
      expect([first.environment.isHidden, second.environment.isHidden]).toEqual([true, true]);
      expect(await readFile(calls, "utf8"), "one look for two openings").toBe("\n");
      expect(await said(second.environment, "echo inside")).toBe("inside\n");

      await writeFile(join(bin, "bwrap"), "#!/bin/sh\nexit 1\n");
      expect(await exec(second.environment, `touch ${join(bin, "outside")}`)).toMatchObject({ exitCode: 1 });
      await expect(readFile(join(bin, "outside"))).rejects.toMatchObject({ code: "ENOENT" });
    },
  );

  test("S1: where bubblewrap is not, hiding is reported as not holding; a sandbox is refused", async () => {
    const folder = await tempFolder();
    const base = contractDeps(folder);
    const deps = { ...base, env: { ...base.env, PATH: "/nowhere" } };
    const environment = await openLocal(
      deps,
      { backend: "local" },
      { hide: { folders: [folder], except: [] } },
    );
    expect(environment).toMatchObject({
      isHidden: false,
      whyNotHidden: expect.stringContaining("not installed"),
    });
    await environment.dispose();
    await expect(openLocal(deps, { backend: "local", sandbox: "bubblewrap" })).rejects.toMatchObject({
      code: "environment.unusable",
      hint: expect.stringContaining("docker:IMAGE"),
    });
  });
});

describe("the table of backends", () => {
  test("a working folder that is not there is refused before anything is made", async () => {
    const deps = { ...contractDeps(await tempFolder()), workdir: "/no/such/folder" };
    await expect(openEnvironment(deps, { backend: "local" })).rejects.toMatchObject({
      code: "environment.unusable",
    });
  });

  test.each(["singularity:a.sif", "modal:alpine", "daytona:alpine", "vercel"])(
    "%s is not built yet: it is refused with a hint, and never run here instead",
    async (text) => {
      const deps = contractDeps(await tempFolder());
      await expect(openEnvironment(deps, parseEnvironmentSpec(text))).rejects.toMatchObject({
        code: "environment.unusable",
      });
      expect(await checkEnvironment(deps, parseEnvironmentSpec(text))).toMatchObject({ usable: false });
    },
  );

  test("local is always usable, and says that it is no boundary", async () => {
    const deps = { clock: realClock, nodeEnv: { PATH: process.env.PATH } };
    const answer = await checkEnvironment(deps, { backend: "local" });
    expect(answer).toMatchObject({ usable: true });
    expect(answer.usable && answer.notes.join()).toContain("local is no boundary");
    expect(
      await checkEnvironment({ ...deps, nodeEnv: {} }, { backend: "local", sandbox: "bubblewrap" }),
    ).toMatchObject({
      usable: false,
    });
  });

  test.each([
    ["local", "local: on this machine, as the node's user"],
    ["docker:alpine:3", "docker:alpine:3: in a container"],
    ["ssh:me@host:2222", "ssh:me@host:2222: on another machine, over OpenSSH"],
  ])("%s is described in a line", (text, line) => {
    expect(describeEnvironment(parseEnvironmentSpec(text))).toBe(line);
  });

  test("a description names walls, limits and scope", () => {
    const map = {
      backend: "docker",
      image: "alpine",
      network: "none",
      limits: { cpu: 2, memoryMb: 512, pids: 64 },
      scope: "job",
    };
    expect(describeEnvironment(parseEnvironmentSpec(map))).toBe(
      "docker:alpine: in a container, without a network, 2 cores, 512 MB, 64 processes, scope job",
    );
  });
});
