// A home to break: jobs that write down every fire, and the proof of what the ledger says about them afterwards.
//
// I1. A script's first act is one append of one line (O_APPEND, one write): what it did is on record whatever comes next.
// I2. `expectWhole` is asked after every fault: it holds the ledger, the file of deeds and the process table together.

import { readdirSync, readFileSync } from "node:fs";
import { chmod, mkdir, readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { AuditDocument } from "../../src/app/audit.ts";
import { formatInstant } from "../../src/kernel/time.ts";
import type { JobDocument } from "../../src/records/job.ts";
import { openPostgres } from "../../src/store/sql/postgres-connection.ts";
import { openSqlite } from "../../src/store/sql/sqlite-connection.ts";
import { tempFolder } from "../support/temp.ts";
import { cli } from "./node-process.ts";

/** `work.sh SECONDS`: says so, works, is done. */
const WORK = `#!/bin/sh
printf '%s %s %s\\n' "$NIGHTSHIFT_JOB_ID" "$NIGHTSHIFT_SLOT" "$NIGHTSHIFT_ATTEMPT" >> "$DEEDS"
[ "$1" = 0 ] || sleep "$1"
echo done
`;

export type FaultJob = Partial<JobDocument> & { id: string; seconds?: number };

export interface FaultHome {
  path: string;
  env: Record<string, string>;
  /** `sqlite:…` or `postgres://…`. */
  store: string;
  /** One line `jobId slot attempt` for every fire that began. */
  deeds(): Promise<string[]>;
  deedsFile: string;
  script(name: string, text: string): Promise<void>;
  /** The file's text for a job that runs `work.sh`. */
  document(job: FaultJob): JobDocument;
  /** Writes job files that count at first sight: they look five seconds old (D2). */
  jobFiles(jobs: readonly FaultJob[]): Promise<void>;
  /** The same jobs through `job apply`: the way in where jobs live in a table. */
  apply(jobs: readonly FaultJob[]): Promise<void>;
  cli(...args: string[]): ReturnType<typeof cli>;
}

export interface HomeOptions {
  config?: string;
  /** `NIGHTSHIFT_STORE`. */
  store?: string | undefined;
  env?: Record<string, string>;
}

/** A fresh home in UTC without quarantine (L7 has tests of its own). */
export async function faultHome(options: HomeOptions = {}): Promise<FaultHome> {
  const path = await tempFolder();
  const deedsFile = join(path, "deeds.txt");
  const env = { ...options.env, ...(options.store !== undefined && { NIGHTSHIFT_STORE: options.store }) };
  for (const folder of ["jobs", "scripts"]) await mkdir(join(path, folder), { mode: 0o700 });
  await writeFile(
    join(path, "config.yaml"),
    options.config ?? "timezone: UTC\nlimits: {quarantine: false, maxParallelRuns: 64}\n",
  );
  await writeFile(deedsFile, "");
  const home: FaultHome = {
    path,
    env,
    store: options.store ?? `sqlite:${join(path, "ledger.db")}`,
    deedsFile,
    deeds: async () => (await readFile(deedsFile, "utf8")).split("\n").slice(0, -1),
    async script(name, text) {
      await writeFile(join(path, "scripts", name), text);
      await chmod(join(path, "scripts", name), 0o755);
    },
    document: ({ seconds = 0, ...job }) =>
      ({
        schedule: "every 1s",
        run: { script: "work.sh", args: [String(seconds)] },
        deliver: [],
        env: { DEEDS: deedsFile },
        ...(job as object),
      }) as unknown as JobDocument,
    async jobFiles(jobs) {
      const settled = new Date(Date.now() - 5_000);
      for (const job of jobs) {
        const file = join(path, "jobs", `${job.id}.yaml`);
        await writeFile(file, `${JSON.stringify(home.document(job), null, 2)}\n`);
        await utimes(file, settled, settled);
      }
    },
    async apply(jobs) {
      const input = JSON.stringify(jobs.map((job) => home.document(job)));
      const answer = await cli({ home: path, env, input }, "job", "apply", "-f", "-");
      expect(answer, answer.stderr).toMatchObject({ code: 0 });
    },
    cli: (...args) => cli({ home: path, env }, ...args),
  };
  await home.script("work.sh", WORK);
  onTestFinished(() => endMarked(deedsFile));
  return home;
}

export interface LedgerRow {
  id: string;
  jobId: string;
  slot: number | null;
  attempt: number;
  state: string;
  reason: string | null;
  owner: string | null;
  trigger: string;
}

/** SQL past every layer of ours. */
export async function query(home: Pick<FaultHome, "store">, sql: string): Promise<Record<string, unknown>[]> {
  const connection = home.store.startsWith("sqlite:")
    ? await openSqlite(home.store.slice("sqlite:".length))
    : await openPostgres(home.store);
  try {
    return await connection.all(sql);
  } finally {
    await connection.close();
  }
}

/** Every run row as it stands in the database, by birth. */
export async function rowsOf(home: Pick<FaultHome, "store">): Promise<LedgerRow[]> {
  const rows = await query(
    home,
    `SELECT "id", "jobId", "slot", "attempt", "state", "reason", "owner", "trigger" FROM "runs" ORDER BY "id"`,
  );
  return rows.map((row) => ({
    ...(row as unknown as LedgerRow),
    slot: row.slot === null ? null : Number(row.slot),
    attempt: Number(row.attempt),
  }));
}

const LIVE = ["claimed", "running", "cancelling"];
/** States in which nothing may have begun. */
const NEVER_BEGAN = ["queued", "waiting", "skipped", "missed", "blocked"];

export interface Whole {
  rows: LedgerRow[];
  deeds: string[];
  audit: AuditDocument;
}

/**
 * The proof after a fault, asked once no node is up: the audit is clean, no slot was done twice, what succeeded was done
 * once, nothing is live, and no process of a run is left.
 */
export async function expectWhole(home: FaultHome, hint = ""): Promise<Whole> {
  const answer = await home.cli("run", "audit");
  expect(answer, `audit ${hint}`).toMatchObject({ code: 0 });
  const audit = JSON.parse(answer.stdout) as AuditDocument;
  const rows = await rowsOf(home);
  const deeds = await home.deeds();
  expect(
    rows.filter(({ state }) => LIVE.includes(state)),
    `live without a node ${hint}`,
  ).toEqual([]);
  expectDeeds(rows, deeds, hint);
  expect(marked(home.deedsFile), `processes left ${hint}`).toEqual([]);
  return { rows, deeds, audit };
}

/** L3, law 2: the rows and the deeds tell the same story. */
export function expectDeeds(rows: readonly LedgerRow[], deeds: readonly string[], hint: string): void {
  const done = new Set(deeds);
  const twice = deeds.filter((deed, index) => deeds.indexOf(deed) !== index);
  expect(twice, `done twice ${hint}`).toEqual([]);
  const byKey = new Map(rows.filter(({ slot }) => slot !== null).map((row) => [deedOf(row), row]));
  const unaccounted = deeds.filter((deed) => !byKey.has(deed));
  expect(unaccounted, `done without a row ${hint}`).toEqual([]);
  const wrong = [...byKey].filter(
    ([deed, { state }]) =>
      (state === "succeeded" && !done.has(deed)) || (NEVER_BEGAN.includes(state) && done.has(deed)),
  );
  expect(wrong, `rows that the deeds contradict ${hint}`).toEqual([]);
}

function deedOf({ jobId, slot, attempt }: LedgerRow): string {
  return `${jobId} ${formatInstant(slot ?? 0)} ${attempt}`;
}

/** Pids of living processes that carry a run's mark and belong to this home. */
export function marked(deedsFile: string): number[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const environment = readFileSync(`/proc/${name}/environ`, "latin1");
      const isOurs =
        environment.includes("NIGHTSHIFT_RUN_ID=") && environment.includes(`DEEDS=${deedsFile}\0`);
      return isOurs ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}

function endMarked(deedsFile: string): void {
  for (const pid of marked(deedsFile)) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has just ended.
    }
  }
}

/** Polls the database where no event tells: rejects after `ms`. */
export async function untilTrue(
  what: string,
  isTrue: () => Promise<boolean> | boolean,
  ms = 15_000,
): Promise<void> {
  const end = performance.now() + ms;
  while (!(await isTrue())) {
    if (performance.now() > end) throw new Error(`not within ${ms} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
