// The local backend under the contract: plain, and behind bubblewrap's walls.

import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commandEnv } from "../../../src/execute/command-env.ts";
import { type LocalOptions, openLocal } from "../../../src/execute/environments/local.ts";
import type { EnvironmentDeps } from "../../../src/execute/environments/place.ts";
import { makePipePool, type PipePool } from "../../../src/execute/pipe-pool.ts";
import { hasVariable, listProcesses } from "../../../src/execute/process-table.ts";
import { makeId } from "../../../src/kernel/ids.ts";
import { silentLog } from "../../../src/kernel/log.ts";
import type { LocalSpec } from "../../../src/records/environment-spec.ts";
import { BLANK_RUN, realClock } from "../../execute/room.ts";
import type { Harness } from "./contract.ts";
import { CANARIES } from "./sessions.ts";

export const newId = () => makeId(Date.now(), randomBytes);

/** A folder for one run of the contract, which outlives single tests; `remove` it. */
export function contractFolder(): { path: string; remove(): void } {
  const path = join(tmpdir(), `nightshift-contract-${process.pid}-${randomBytes(4).toString("hex")}`);
  mkdirSync(path, { mode: 0o700 });
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** What a node would hand over: its own environment is full of keys that no command may see. */
export function contractDeps(folder: string, pipes?: PipePool): EnvironmentDeps {
  const runId = newId();
  const nodeEnv = { ...process.env, ...CANARIES };
  const [workdir, tempFolder] = [join(folder, "work"), join(folder, "run")];
  for (const path of [workdir, tempFolder]) mkdirSync(path, { recursive: true, mode: 0o700 });
  return {
    clock: realClock,
    log: silentLog,
    newId,
    env: commandEnv({
      nodeEnv,
      jobEnv: { NAMED: "by the job's env" },
      timezone: "Europe/Berlin",
      run: { ...BLANK_RUN, id: runId, idempotencyKey: `manual/${runId}` },
      lineage: { depth: 0 },
    }),
    jobEnvNames: ["NAMED"],
    nodeEnv,
    workdir,
    tempFolder,
    graceMs: 300,
    ...(pipes && { pipes }),
  };
}

export function localHarness(name: string, spec: LocalSpec, options: LocalOptions = {}): Harness {
  const isWalled = spec.sandbox !== undefined || options.hide !== undefined;
  let folder: ReturnType<typeof contractFolder> | undefined;
  let pipes: PipePool | undefined;
  return {
    name,
    whyNot: isWalled && !hasBubblewrap() ? "bubblewrap is not here, or may not make namespaces" : undefined,
    has: {
      bash: existsSync("/bin/bash"),
      sharedProcesses: !isWalled,
      boundary: false,
      codeOfSignal15: 143,
      terminal: true,
    },
    async start() {
      folder = contractFolder();
      pipes = makePipePool(join(folder.path, "pipes"));
    },
    async stop() {
      await pipes?.close();
      folder?.remove();
    },
    async open() {
      const deps = contractDeps(folder?.path ?? "", pipes);
      return { deps, environment: await openLocal(deps, spec, options) };
    },
    async leftovers() {
      // The shared environment of the suite still has its own folder.
      const folders = readdirSync(join(folder?.path ?? "", "run")).slice(1);
      const ids = listProcesses().filter((entry) => !entry.isZombie && hasVariable(entry.pid, "LEFT=1"));
      return [...folders, ...ids.map((entry) => String(entry.pid))];
    },
  };
}

/** Whether bubblewrap can make its namespaces here. */
export function hasBubblewrap(): boolean {
  try {
    const walls = ["--dev-bind", "/", "/", "--unshare-user", "--unshare-pid", "--proc", "/proc"];
    execFileSync("bwrap", [...walls, "true"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
