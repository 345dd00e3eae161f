// The world of the core's property: a home with its files, a clock in the test's hands, up to two nodes, and zombies.

import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import type { Context } from "../../../src/app/context.ts";
import { type SyncReport, syncDefinitions } from "../../../src/app/definition-sync.ts";
import { applyJobs } from "../../../src/app/job-transfer.ts";
import { removeJob } from "../../../src/app/jobs.ts";
import { openContext } from "../../../src/app/open-context.ts";
import { isFault } from "../../../src/kernel/errors.ts";
import type { Connection } from "../../../src/store/sql/connection.ts";
import { openSqlite } from "../../../src/store/sql/sqlite-connection.ts";
import { manualClock } from "../../support/clock.ts";
import { seededRandom } from "../../support/random.ts";
import { type Deed, Driver } from "./driver.ts";

/** The evening before the clocks go forward in New York. */
export const START = Date.parse("2026-03-07T22:00:00Z");

/** Memory rather than disk: the property asks for the order of writes, not for their price. */
const SCRATCH = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

export interface World {
  readonly context: Context;
  readonly deeds: readonly Deed[];
  readonly zombies: readonly Driver[];
  now(): number;
  advance(ms: number): Promise<void>;
  /** Wall clock only. */
  step(ms: number): Promise<void>;
  /** The node at this place, started when there is none. */
  node(place: number): Promise<Driver>;
  /** kill -9: its process is gone. */
  crash(place: number): void;
  /** SIGSTOP: its process is there and does nothing. */
  freeze(place: number): void;
  writeFile(name: string, text: string): Promise<void>;
  renameFile(from: string, to: string): Promise<void>;
  deleteFile(name: string): Promise<void>;
  files(): Promise<string[]>;
  sync(): Promise<void>;
  sql(text: string): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}

export interface WorldOptions {
  /** A migrated PostgreSQL whose clock reads the table testClock (`handDrivenPostgres`). */
  postgresUrl?: string | undefined;
}

export async function openWorld({ postgresUrl }: WorldOptions = {}): Promise<World> {
  const root = await mkdtemp(join(SCRATCH, `nightshift-core-${process.pid}-`));
  const jobs = join(root, "jobs");
  await mkdir(jobs, { mode: 0o700 });
  await writeFile(join(root, "config.yaml"), "timezone: UTC\nlimits: {quarantine: false}\n");
  const clock = manualClock(START);
  const random = seededRandom(7);
  const alive = new Set<number>();
  const contexts: Context[] = [];
  const deeds: Deed[] = [];
  const places = new Map<number, Driver>();
  const zombies: Driver[] = [];
  const session = postgresUrl === undefined ? undefined : new pg.Client(postgresUrl);
  await session?.connect();
  const setDatabaseClock = async () => {
    await session?.query(`UPDATE "testClock" SET "now" = $1`, [clock.now()]);
  };
  await setDatabaseClock();

  async function open(): Promise<Context> {
    const options = {
      path: root,
      storeUrl: postgresUrl,
      actor: "test",
      isDebug: false,
      env: {},
      version: "0",
    };
    // A node's own work replaces this one; the table only says that tasks can be done here.
    const work = { task: () => Promise.reject(new Error("not here")) };
    const opened = await openContext({ ...options, clock, random, work });
    contexts.push(opened);
    return { ...opened, isAlive: ({ pid }) => alive.has(pid) };
  }

  const context = await open();
  const nodeContexts = [context, await open()];
  let pids = 100;
  let syncState: SyncReport["state"];
  const applied = new Map<string, string>();
  let reader: Connection | undefined;

  return {
    context,
    deeds,
    zombies,
    now: () => clock.now(),
    async advance(ms) {
      await clock.advance(ms);
      await setDatabaseClock();
    },
    async step(ms) {
      clock.step(ms);
      await setDatabaseClock();
    },
    async node(place) {
      const known = places.get(place);
      if (known) return known;
      pids += 1;
      const driver = new Driver(nodeContexts[place % 2]!, { pid: pids, deeds });
      alive.add(driver.pid);
      await driver.register();
      places.set(place, driver);
      return driver;
    },
    crash(place) {
      const driver = places.get(place);
      if (driver) alive.delete(driver.pid);
      places.delete(place);
    },
    freeze(place) {
      const driver = places.get(place);
      if (driver) zombies.push(driver);
      places.delete(place);
    },
    async writeFile(name, text) {
      const path = join(jobs, name);
      await writeFile(path, text);
      await utimes(path, clock.now() / 1_000, clock.now() / 1_000);
    },
    renameFile: (from, to) => rename(join(jobs, from), join(jobs, to)),
    deleteFile: (name) => rm(join(jobs, name), { force: true }),
    files: async () => (await readdir(jobs)).filter((name) => name.endsWith(".yaml")).sort(),
    async sync() {
      if (session) return applyFiles(context, jobs, applied);
      syncState = (await syncDefinitions(context, syncState)).state;
    },
    sql: async (text) => {
      if (session) return (await session.query(text)).rows as Record<string, unknown>[];
      reader ??= await openSqlite(context.home.paths.ledgerFile);
      return reader.all(text);
    },
    async close() {
      for (const opened of contexts) await opened.close();
      await reader?.close();
      await session?.end();
      await rm(root, { recursive: true, force: true });
    },
  };
}

/** Where jobs live in a table, files come in through `job apply`, and a removal is a removal. */
async function applyFiles(context: Context, jobs: string, applied: Map<string, string>): Promise<void> {
  const present = new Set<string>();
  for (const name of (await readdir(jobs)).filter((file) => file.endsWith(".yaml"))) {
    present.add(name);
    const text = await readFile(join(jobs, name), "utf8");
    if (applied.get(name) === text) continue;
    applied.set(name, text);
    await applyJobs(context, { text, file: name, isDryRun: false }).catch((error) => {
      if (!isFault(error)) throw error;
    });
  }
  for (const name of applied.keys()) {
    if (present.has(name)) continue;
    applied.delete(name);
    await removeJob(context, name.replace(/(-moved)?\.yaml$/, ""), { isCancelling: false }).catch((error) => {
      if (!isFault(error)) throw error;
    });
  }
}
