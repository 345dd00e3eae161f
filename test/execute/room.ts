// What the tests of this room share: a real clock, a recording run context, scripts in a temp folder.

import { randomBytes } from "node:crypto";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { makeMarkIndex } from "../../src/execute/mark-index.ts";
import { makePipePool } from "../../src/execute/pipe-pool.ts";
import type { ScriptWork } from "../../src/execute/prepare-script.ts";
import { listProcesses } from "../../src/execute/process-table.ts";
import type { ScriptDeps } from "../../src/execute/run-script.ts";
import { makeId } from "../../src/kernel/ids.ts";
import { silentLog } from "../../src/kernel/log.ts";
import type { Clock } from "../../src/kernel/time.ts";
import type { ProcessRecord } from "../../src/records/process.ts";
import type { Run } from "../../src/records/run.ts";
import type { AbortReason, RunContext } from "../../src/records/run-context.ts";
import { tempFolder } from "../support/temp.ts";

export const realClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => Math.floor(performance.now()),
  uptimeMs: () => Math.floor(performance.now()),
  sleep: (ms, signal) => sleep(ms, undefined, { signal }),
};

export const newId = () => makeId(Date.now(), randomBytes);

export interface Room {
  deps: ScriptDeps;
  /** Writes an executable script; returns its name. */
  script(name: string, text: string | Uint8Array): Promise<string>;
}

export async function openRoom(changes: Partial<ScriptDeps> = {}): Promise<Room> {
  const home = await tempFolder();
  const scriptsFolder = join(home, "scripts");
  await mkdir(scriptsFolder);
  const pipes = makePipePool(join(home, "run"));
  onTestFinished(() => pipes.close());
  const deps: ScriptDeps = {
    clock: realClock,
    redact: (text) => text,
    hostId: "host",
    scriptsFolder,
    workspacesFolder: join(home, "workspaces"),
    nodeEnv: process.env,
    node: { path: process.execPath, version: process.versions.node },
    newId,
    marks: makeMarkIndex(realClock),
    pipes,
    graceMs: 2_000,
    ...changes,
  };
  return {
    deps,
    async script(name, text) {
      await writeFile(join(scriptsFolder, name), text);
      await chmod(join(scriptsFolder, name), 0o755);
      return name;
    },
  };
}

export function workOf(script: string, changes: Partial<ScriptWork> = {}): ScriptWork {
  return { script, args: [], workdir: undefined, env: {}, timezone: "Europe/Berlin", ...changes };
}

export interface TestContext extends RunContext {
  abort(reason: AbortReason): void;
  events: { kind: string; data: Record<string, unknown> }[];
  touched: string[];
  begun: ProcessRecord[];
  sha256: string | undefined;
  /** Resolves with the first event for which `wanted` holds. */
  next(wanted: (event: { kind: string; data: Record<string, unknown> }) => boolean): Promise<void>;
}

/** A run context that commits at once (or as `begin` says) and remembers everything. */
export function makeContext(begin: () => boolean | Promise<boolean> = () => true): TestContext {
  const controller = new AbortController();
  const id = newId();
  const events: TestContext["events"] = [];
  let watchers: { wanted: (event: TestContext["events"][number]) => boolean; resolve: () => void }[] = [];
  const context: TestContext = {
    run: { ...BLANK_RUN, id, rootId: id, dedupeKey: `manual/${id}`, idempotencyKey: `manual/${id}` },
    lineage: { rootId: id, parentId: undefined, depth: 0 },
    signal: controller.signal,
    abortReason: () => controller.signal.reason as AbortReason | undefined,
    log: silentLog,
    events,
    touched: [],
    begun: [],
    sha256: undefined,
    abort: (reason) => controller.abort(reason),
    async begin(process, sha256) {
      if (process) context.begun.push(process);
      context.sha256 = sha256;
      return begin();
    },
    async addProcess(process) {
      context.begun.push(process);
      return !controller.signal.aborted;
    },
    touch: (activity) => void context.touched.push(activity),
    emit(kind, data) {
      events.push({ kind, data });
      for (const watcher of watchers.filter(({ wanted }) => wanted({ kind, data }))) watcher.resolve();
      watchers = watchers.filter(({ wanted }) => !wanted({ kind, data }));
    },
    next: (wanted) =>
      events.some(wanted)
        ? Promise.resolve()
        : new Promise((resolve) => {
            watchers.push({ wanted, resolve });
          }),
  };
  return context;
}

/** The script has printed this text (a whole line of the live log). */
export function printed(text: string) {
  return (event: { kind: string; data: Record<string, unknown> }) => String(event.data.text).includes(text);
}

/** Pids that carry the run's mark or sit in its group and still run. */
export function leftOf(context: TestContext): number[] {
  const groups = context.begun.map((process) => process.processGroup);
  return listProcesses()
    .filter((entry) => !entry.isZombie && groups.includes(entry.processGroup))
    .map((entry) => entry.pid);
}

/** Waits until a fact of the outside world holds: the kernel sends no event for it. */
export async function until(holds: () => boolean, what: string): Promise<void> {
  for (let turn = 0; turn < 500; turn++) {
    if (holds()) return;
    await sleep(10);
  }
  throw new Error(`never happened: ${what}`);
}

export const BLANK_RUN: Omit<Run, "id" | "rootId" | "dedupeKey" | "idempotencyKey"> = {
  attempt: 1,
  kind: "job",
  jobId: "disk-watch",
  version: 1,
  parentId: undefined,
  slot: 1_795_939_200_000,
  slotTo: undefined,
  slotCount: 1,
  isCountAtLeast: false,
  trigger: "schedule",
  state: "claimed",
  reason: undefined,
  effects: "external",
  isExclusive: true,
  readyAt: 0,
  startBy: undefined,
  owner: "node",
  token: 1,
  leaseUntil: undefined,
  createdAt: 0,
  startedAt: undefined,
  finishedAt: undefined,
  lastActivityAt: undefined,
  cancelRequestedAt: undefined,
  cancelledBy: undefined,
  outcome: undefined,
  usage: undefined,
  outputFile: undefined,
  scriptSha256: undefined,
  isSuspect: false,
  input: undefined,
};
