// claimed → running, committed before the first side effect (L3), grouped.

import type { StartAnswer, StartRun } from "../../records/ledger/claims.ts";
import type { ProcessRecord } from "../../records/process.ts";
import type { Run } from "../../records/run.ts";
import { decodeRun, PROCESS } from "./codecs.ts";
import type { Columns } from "./columns.ts";
import type { Row, Statements } from "./connection.ts";
import type { Dialect } from "./dialect.ts";
import { type Store, type Transaction, write } from "./store.ts";

const START: Columns = {
  runId: "text",
  owner: "text",
  token: "int",
  startedAt: "int",
  scriptSha256: "text",
};
const STARTED_SLOTS: Columns = { jobId: "text", count: "int" };

/** Starts runs. A start repeated with the same claim answers `started` again and changes nothing. */
export async function startRuns(store: Store, starts: readonly StartRun[]): Promise<readonly StartAnswer[]> {
  if (starts.length === 0) return [];
  return write(store, async (tx) => {
    const rows = starts.map(({ claim, startedAt, scriptSha256 }) => ({ ...claim, startedAt, scriptSha256 }));
    const json = tx.dialect.encodeRows(START, rows);
    await lockJobsOf(tx, json);
    const started = await tx.all(
      `UPDATE "runs" SET "state" = 'running', "startedAt" = x."startedAt", "lastActivityAt" = x."startedAt", "scriptSha256" = x."scriptSha256"
       FROM ${tx.dialect.rows("x", START)}
       WHERE "runs"."id" = x."runId" AND "runs"."token" = x."token" AND "runs"."owner" = x."owner" AND "runs"."state" = 'claimed'
       RETURNING "runs"."id", "runs"."jobId", "runs"."attempt", "runs"."trigger", "runs"."startedAt", "runs"."owner"`,
      [json],
    );
    const isStarted = new Map(started.map((row) => [String(row.id), row]));
    await insertProcesses(
      tx,
      starts.filter(({ claim }) => isStarted.has(claim.runId)).flatMap(({ process }) => process ?? []),
    );
    await noteStarts(tx, started.map(startedRun));
    const others =
      started.length < starts.length ? await readOthers(tx, json) : new Map<string, StartAnswer>();
    return starts.map(({ claim }) =>
      isStarted.has(claim.runId) ? "started" : (others.get(claim.runId) ?? "lost"),
    );
  });
}

type StartedRun = Pick<Run, "id" | "jobId" | "attempt" | "trigger" | "startedAt" | "owner">;

function startedRun(row: Row): StartedRun {
  const { id, jobId, attempt, trigger, startedAt, owner } = decodeRun(row);
  return { id, jobId, attempt, trigger, startedAt, owner };
}

/** What goes with every start: its event, and its part in the job's `repeat`. */
export async function noteStarts(tx: Transaction, started: readonly StartedRun[]): Promise<void> {
  await countStartedSlots(tx, started);
  for (const { id: runId, jobId, startedAt = 0, owner } of started) {
    tx.emit({ runId, jobId, at: startedAt, kind: "run-started", data: { owner } });
  }
}

/** Cursors before runs, by job id: the order in which every transaction of several nodes takes its locks. */
async function lockJobsOf(tx: Transaction, json: string): Promise<void> {
  if (tx.dialect.engine === "sqlite") return;
  await tx.all(
    `SELECT 1 FROM "cursors" AS c WHERE c."jobId" IN (SELECT r."jobId" FROM "runs" AS r JOIN ${tx.dialect.rows("x", START)} ON r."id" = x."runId" WHERE r."slot" IS NOT NULL) ORDER BY c."jobId"${tx.dialect.forUpdate("c")}`,
    [json],
  );
}

/** T9: `repeat` counts slots whose first attempt started. */
async function countStartedSlots(tx: Transaction, started: readonly StartedRun[]): Promise<void> {
  const counts = new Map<string, number>();
  for (const { jobId, attempt, trigger } of started) {
    if (jobId === undefined || attempt !== 1 || trigger !== "schedule") continue;
    counts.set(jobId, (counts.get(jobId) ?? 0) + 1);
  }
  if (counts.size === 0) return;
  const rows = [...counts].map(([jobId, count]) => ({ jobId, count }));
  await tx.run(
    `UPDATE "cursors" SET "startedSlots" = "startedSlots" + x."count" FROM ${tx.dialect.rows("x", STARTED_SLOTS)} WHERE "cursors"."jobId" = x."jobId"`,
    [tx.dialect.encodeRows(STARTED_SLOTS, rows)],
  );
}

/** Why a run did not start: a cancel came first, or it runs already with this very claim. */
async function readOthers(tx: Transaction, json: string): Promise<Map<string, StartAnswer>> {
  const rows = await tx.all(
    `SELECT r."id", r."state", r."startedAt" FROM "runs" AS r JOIN ${tx.dialect.rows("x", START)} ON r."id" = x."runId"
     WHERE r."token" = x."token" AND r."owner" = x."owner" AND r."state" IN ('running','cancelling')`,
    [json],
  );
  return new Map(rows.map((row) => [String(row.id), row.state === "running" ? "started" : "cancelled"]));
}

/** Records processes; one that is known stays as it is. */
export async function insertProcesses(
  tx: Statements & { dialect: Dialect },
  processes: readonly ProcessRecord[],
): Promise<void> {
  if (processes.length === 0) return;
  const names = Object.keys(PROCESS);
  await tx.run(
    `INSERT INTO "processes" (${names.map((name) => `"${name}"`).join(", ")}) SELECT ${names.map((name) => `x."${name}"`).join(", ")} FROM ${tx.dialect.rows("x", PROCESS)} WHERE true ON CONFLICT DO NOTHING`,
    [tx.dialect.encodeRows(PROCESS, processes)],
  );
}
