// kill -9 of a node in the middle of each operation of each backend that lives outside of it: opening, files in, a command,
// files back, closing. After the next start nothing is left: no container, volume, instance or remote process, and no folder.

import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { startStandIn, whyNoStandIn } from "../support/apptainer.ts";
import { startEngine, TEST_IMAGE, whyNoEngine } from "../support/docker-engine.ts";
import { type Hold, holdClient } from "../support/held-client.ts";
import { startServer, whyNoServer } from "../support/ssh-server.ts";
import { tempFolder } from "../support/temp.ts";
import { faultHome, rowsOf, untilTrue } from "./fault-home.ts";
import { startNode } from "./node-process.ts";

interface Backend {
  program: string;
  /** The `environment` of the jobs. */
  environment: Record<string, unknown>;
  env: Record<string, string>;
  holds: Record<string, Hold>;
  /** What is there of ours outside of the home, by name. */
  outside(home: string): Promise<string[]>;
}

/** One job is caught in each hold and one in its own script: then the node dies. */
async function dieEverywhere(backend: Backend): Promise<void> {
  const folder = await tempFolder();
  const client = await holdClient(folder, backend.program, backend.holds);
  onTestFinished(() => client.release());
  const env = { ...backend.env, PATH: `${client.bin}:${backend.env.PATH ?? process.env.PATH}` };
  const home = await faultHome({ env });
  const workdir = async (id: string) => {
    await mkdir(join(folder, id));
    await writeFile(join(folder, id, "given"), id);
    return join(folder, id);
  };
  await home.script("long.sh", "echo changed >given; touch began; sleep 71236");
  await home.script("quick.sh", "echo changed >given; touch made");
  const ids = ["long", ...Object.keys(backend.holds)];
  const { environment } = backend;
  await home.jobFiles(
    await Promise.all(
      ids.map(async (id) => ({
        ...{ id, repeat: 1, environment, env: {}, workdir: await workdir(id) },
        run: { script: id === "long" ? "long.sh" : "quick.sh" },
      })),
    ),
  );
  const first = await startNode({ home: home.path, env });
  await untilTrue("every hold has caught one", () => client.open().length === 0, 60_000).catch(
    async (error) => {
      const states = (await rowsOf(home)).map(
        ({ jobId, state, reason }) => `${jobId} ${state} ${reason ?? ""}`,
      );
      throw new Error(`not caught: ${client.open()}; ${states.join(", ")}; ${first.stderr()}`, {
        cause: error,
      });
    },
  );
  await untilTrue(
    "five run",
    async () => (await rowsOf(home)).filter(({ state }) => state === "running").length === ids.length,
  );
  first.signal("SIGKILL");
  await first.exited;
  expect((await backend.outside(home.path)).length, "there was something to clean up").toBeGreaterThan(0);

  const second = await startNode({ home: home.path, env });
  await untilTrue(
    "every run is unknown",
    async () => (await rowsOf(home)).every(({ state }) => state !== "running"),
    30_000,
  );
  await untilTrue(
    "nothing is left outside",
    async () => (await backend.outside(home.path)).length === 0,
    30_000,
  );
  second.signal("SIGTERM");
  await second.exited;

  const began = (await rowsOf(home)).filter(({ state }) => state !== "skipped");
  expect(began.map(({ state }) => state)).toEqual(ids.map(() => "unknown"));
  const temp = join(home.path, "run/agents");
  expect(existsSync(temp) ? readdirSync(temp) : []).toEqual([]);
  const halfWritten = ids.flatMap((id) =>
    readdirSync(join(folder, id)).filter((name) => name.endsWith(".new")),
  );
  expect(halfWritten).toEqual([]);
  client.release();
}

describe.skipIf(whyNoEngine())(
  `a node killed in each operation of docker (${whyNoEngine() ?? "a real dockerd"})`,
  () => {
    test("hermes#75467: no container and no volume is left after the next start", {
      timeout: 120_000,
    }, async () => {
      const engine = await startEngine();
      onTestFinished(() => engine.stop());
      const lines = async (...args: string[]) => (await engine.docker(...args)).split("\n").filter(Boolean);
      await dieEverywhere({
        program: "docker",
        environment: { backend: "docker", image: TEST_IMAGE, network: "none", workdir: "own" },
        env: { DOCKER_HOST: engine.env.DOCKER_HOST ?? "" },
        holds: {
          open: { when: "run *", isDone: true },
          in: { when: "exec *tar -xpf -*" },
          back: { when: "exec *xargs -0 tar -cf -*" },
          close: { when: "rm --force --volumes *" },
        },
        outside: async () => [
          ...(await lines("ps", "--all", "--quiet")),
          ...(await lines("volume", "ls", "--quiet")),
        ],
      });
    });
  },
);

describe.skipIf(whyNoServer())(
  `a node killed in each operation of ssh (${whyNoServer() ?? "a real sshd"})`,
  () => {
    test("no process and no folder is left there, and no socket here", { timeout: 120_000 }, async () => {
      const server = await startServer();
      onTestFinished(() => server.stop());
      const { user, port, identityFile, knownHosts } = server;
      const before = readdirSync("/tmp");
      await dieEverywhere({
        program: "ssh",
        environment: { backend: "ssh", host: "127.0.0.1", user, port, identityFile, knownHosts },
        env: {},
        holds: {
          open: { when: "*ControlMaster=no*command -v bash || echo sh*", isDone: true },
          in: { when: "*ControlMaster=no*tar -xpf -*" },
          back: { when: "*ControlMaster=no*xargs -0 tar -cf -*" },
          close: { when: "*ControlMaster=no*again || { echo 0; exit 0; }*" },
        },
        async outside() {
          const folders = readdirSync("/tmp").filter(
            (name) => /^(\.nightshift-[0-9a-z]{26}|nightshift-ssh-.*)$/.test(name) && !before.includes(name),
          );
          return [...folders, ...processesOf(user)];
        },
      });
    });
  },
);

/** What runs as that user, but the server's own. */
function processesOf(user: string): string[] {
  const listed = execFileSync("ps", ["-eo", "user:32,pid,args"], { encoding: "utf8" });
  return listed.split("\n").filter((line) => line.startsWith(`${user} `) && !line.includes("sshd"));
}

describe.skipIf(whyNoStandIn())(
  `a node killed in each operation of singularity (${whyNoStandIn() ?? "a stand-in"})`,
  () => {
    test("no instance and no log of one is left after the next start", { timeout: 120_000 }, async () => {
      const program = await startStandIn();
      onTestFinished(() => program.stop());
      const { PATH = "", HOME = "" } = program.env;
      const real = process.env.PATH;
      // The holding client looks its program up where this process does.
      process.env.PATH = PATH;
      onTestFinished(() => {
        process.env.PATH = real;
      });
      await dieEverywhere({
        program: "apptainer",
        environment: { backend: "singularity", image: program.image, network: "none" },
        env: { PATH, XDG_CACHE_HOME: HOME },
        holds: {
          open: { when: "*instance start *", isDone: true },
          enter: { when: "*exec *command -v bash || command -v sh*" },
          close: { when: "*instance stop *" },
        },
        async outside() {
          const state = join(HOME, "..", "state");
          return [...readdirSync(state)];
        },
      });
    });
  },
);
