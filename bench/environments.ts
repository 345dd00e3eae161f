// What a command costs in each environment, against the bare program that carries it: spawn, docker exec, ssh over a master.

import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { openEnvironment } from "../src/execute/environments/index.ts";
import { makePipePool } from "../src/execute/pipe-pool.ts";
import { makeId } from "../src/kernel/ids.ts";
import { silentLog } from "../src/kernel/log.ts";
import type { EnvironmentSpec } from "../src/records/environment-spec.ts";
import { startEngine, TEST_IMAGE, whyNoEngine } from "../test/support/docker-engine.ts";
import { startServer, whyNoServer } from "../test/support/ssh-server.ts";
import { type Benchmark, median, type Result, type Setup } from "./measure.ts";

const run = promisify(execFile);
const CALLS = 15;
/** @source issue 4: local at most 1.5 × of a bare spawn */
const LOCAL_GOAL = 1.5;

interface Side {
  name: string;
  spec: EnvironmentSpec;
  nodeEnv: Record<string, string | undefined>;
  /** The bare program doing the same. */
  bare(): Promise<unknown>;
}

/** Bare and ours in turn, so that a busy machine harms both alike. */
async function compare(side: Side, { repeats }: Setup): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "nightshift-bench-"));
  const [workdir, tempFolder] = [join(folder, "work"), join(folder, "temp")];
  for (const path of [workdir, tempFolder]) mkdirSync(path, { mode: 0o700 });
  const pipes = makePipePool(join(folder, "pipes"));
  const newId = () => makeId(Date.now(), randomBytes);
  const environment = await openEnvironment(
    {
      clock: {
        now: () => Date.now(),
        monotonicMs: () => Math.floor(performance.now()),
        uptimeMs: () => Math.floor(performance.now()),
        sleep: (ms, signal) => sleep(ms, undefined, { signal }),
      },
      ...{ log: silentLog, newId, jobEnvNames: [], nodeEnv: side.nodeEnv, workdir, tempFolder, pipes },
      env: { PATH: process.env.PATH ?? "", HOME: folder, NIGHTSHIFT_RUN_ID: newId() },
    },
    side.spec,
  );
  const signal = new AbortController().signal;
  const [bare, ours]: [number[], number[]] = [[], []];
  const timed = async (into: number[], work: () => Promise<unknown>) => {
    const began = performance.now();
    await work();
    into.push(performance.now() - began);
  };
  try {
    for (let turn = 0; turn < CALLS * repeats + 2; turn++) {
      await timed(turn < 2 ? [] : bare, side.bare);
      await timed(turn < 2 ? [] : ours, () => environment.exec("echo hi", { signal }));
    }
  } finally {
    await environment.dispose();
    await pipes.close();
    rmSync(folder, { recursive: true, force: true });
  }
  const [before, after] = [median(bare), median(ours)];
  const factor = after / before;
  return {
    what: `one command in ${side.name}`,
    value: `${after.toFixed(1)} ms, ${factor.toFixed(2)} × of bare`,
    note: `bare: ${before.toFixed(1)} ms`,
    ...(side.name === "local" && { goal: `≤ ${LOCAL_GOAL} ×`, ok: factor <= LOCAL_GOAL }),
  };
}

async function runAll(setup: Setup): Promise<Result[]> {
  const shell = () => run("bash", ["-c", "echo hi"]);
  const local: Side = { name: "local", spec: { backend: "local" }, nodeEnv: process.env, bare: shell };
  return [await compare(local, setup), ...(await inDocker(setup)), ...(await overSsh(setup))];
}

async function inDocker(setup: Setup): Promise<Result[]> {
  const why = whyNoEngine();
  if (why) return [{ what: "one command in docker", value: "not measured", note: why }];
  const engine = await startEngine();
  try {
    await engine.docker("run", "-d", "--name=bare", "--network=none", TEST_IMAGE, "sleep", "3600");
    return [
      await compare(
        {
          name: "docker",
          spec: { backend: "docker", image: TEST_IMAGE, network: "none" },
          nodeEnv: { ...process.env, ...engine.env },
          bare: () => engine.docker("exec", "bare", "sh", "-c", "echo hi"),
        },
        setup,
      ),
    ];
  } finally {
    await engine.docker("rm", "-f", "bare").catch(() => {});
    await engine.stop();
  }
}

async function overSsh(setup: Setup): Promise<Result[]> {
  const why = whyNoServer();
  if (why) return [{ what: "one command over ssh", value: "not measured", note: why }];
  const server = await startServer();
  const socket = join(tmpdir(), `nightshift-bench-${process.pid}`);
  const words = [
    ...["-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=accept-new", "-S", socket],
    ...[
      "-o",
      `UserKnownHostsFile=${server.knownHosts}`,
      "-i",
      server.identityFile,
      "-p",
      String(server.port),
    ],
    `${server.user}@127.0.0.1`,
  ];
  try {
    await run("ssh", ["-fNM", ...words]);
    const { user, port, identityFile, knownHosts } = server;
    return [
      await compare(
        {
          name: "ssh, connected",
          spec: { backend: "ssh", host: "127.0.0.1", user, port, identityFile, knownHosts },
          nodeEnv: process.env,
          bare: () => run("ssh", [...words, "echo hi"]),
        },
        setup,
      ),
    ];
  } finally {
    await run("ssh", ["-O", "exit", ...words]).catch(() => {});
    await server.stop();
  }
}

export const environments: Benchmark = { name: "environments", run: runAll };
