// A PostgreSQL for the benchmarks: the one that the tests use, with fsync on.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { hasPostgres, startServer } from "../test/support/postgres.ts";
import { until } from "./measure.ts";

/** Gives `work` a way to make fresh databases; undefined where no PostgreSQL runs. */
export async function withPostgres<T>(
  work: (newDatabase: () => Promise<string>) => Promise<T>,
): Promise<T | undefined> {
  if (!hasPostgres) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "nightshift-postgres-"));
  const { port } = await startServer(folder, { fsync: true });
  let count = 0;
  const newDatabase = async () => {
    count += 1;
    const client = new pg.Client(`postgres://postgres@127.0.0.1:${port}/postgres`);
    await client.connect();
    await client.query(`CREATE DATABASE bench${count}`);
    await client.end();
    return `postgres://postgres@127.0.0.1:${port}/bench${count}`;
  };
  try {
    return await work(newDatabase);
  } finally {
    await endServer(folder);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A fast shutdown; returns when the server is gone. */
async function endServer(folder: string): Promise<void> {
  const pid = Number(readFileSync(join(folder, "server", "data", "postmaster.pid"), "utf8").split("\n")[0]);
  process.kill(pid, "SIGINT");
  const isGone = () => {
    try {
      process.kill(pid, 0);
      return false;
    } catch {
      return true;
    }
  };
  await until("PostgreSQL's end", isGone, 30_000);
}
