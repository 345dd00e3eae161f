// Journals of workflows and the rows of their tasks, in one transaction (DESIGN §12). The port is records/ledger/workflows.ts.

import type { ProgressRecord, TaskEnding, WorkflowLedger } from "../../records/ledger/workflows.ts";
import type { Claim, Resolution, Run } from "../../records/run.ts";
import { columnList, decode, decodeRun, RESOLUTION, RUN } from "./codecs.ts";
import type { Columns } from "./columns.ts";
import { isLive, isPending, requestCancels } from "./endings.ts";
import { insertDeliveries } from "./outbox-rows.ts";
import { insertRuns } from "./run-rows.ts";
import { type Store, type Transaction, write } from "./store.ts";

const RUN_ID: Columns = { runId: "text" };
const CANCEL: Columns = { runId: "text", by: "text" };
const ENTRY: Columns = { runId: "text", sequence: "int", entry: "text" };
const ENDING: Columns = { runId: "text", state: "text", reason: "text", outcome: "json" };

export function workflowPart(store: Store): WorkflowLedger {
  return {
    recordProgress: (record) => recordProgress(store, record),
    journal: async (runId) => {
      const rows = await store.connection.all(
        `SELECT "entry" FROM "journal" WHERE "runId" = ? ORDER BY "sequence"`,
        [runId],
      );
      return rows.map((row) => String(row.entry));
    },
    tasksOf: (runId, ids) => tasksOf(store, runId, ids),
    resolutionsOf: async (runId) => {
      const rows = await store.connection.all(
        `SELECT ${columnList(RESOLUTION, "s")} FROM "runs" AS r JOIN "resolutions" AS s ON s."runId" = r."id"
         WHERE r."rootId" = (SELECT "rootId" FROM "runs" WHERE "id" = ?) AND r."parentId" = ? ORDER BY s."at"`,
        [runId, runId],
      );
      return rows.map((row) => decode<Resolution>(RESOLUTION, row));
    },
    yieldRun: (claim, options) => yieldRun(store, claim, options),
    queueCounts: async () => {
      const rows = await store.connection.all(
        `SELECT "queue", sum(CASE WHEN "owner" IS NULL THEN 1 ELSE 0 END) AS "waiting", sum(CASE WHEN "owner" IS NULL THEN 0 ELSE 1 END) AS "running"
         FROM "runs" WHERE "queue" IS NOT NULL AND "finishedAt" IS NULL GROUP BY "queue" ORDER BY "queue"`,
        [],
      );
      return rows.map((row) => ({
        queue: String(row.queue),
        waiting: Number(row.waiting),
        running: Number(row.running),
      }));
    },
  };
}

async function recordProgress(store: Store, record: ProgressRecord): Promise<"recorded" | "lost"> {
  const answer = await write(store, async (tx) => {
    if (!(await holds(tx, record.claim))) return "lost";
    const appended = await appendEntries(tx, record);
    if (appended === "grown") return "lost";
    // Its answer was lost on the way: the claim is still ours, so it was we who wrote.
    if (appended === "known") return "recorded";
    await insertTasks(tx, record);
    await endWaiting(tx, record, record.endings ?? []);
    await cancelTasks(tx, record);
    await insertDeliveries(tx, record.deliveries ?? [], record.now);
    return "recorded";
  });
  const isSeen = (record.tasks ?? []).some(({ state }) => state === undefined) || record.cancels?.length;
  if (answer === "recorded" && isSeen) await store.wake();
  return answer;
}

async function holds(tx: Transaction, claim: Claim): Promise<boolean> {
  const row = await tx.get(
    `SELECT 1 AS "is" FROM "runs" AS r WHERE r."id" = ? AND r."token" = ? AND r."owner" = ? AND ${isLive("r")}${tx.dialect.forUpdate("r")}`,
    [claim.runId, claim.token, claim.owner],
  );
  return row !== undefined;
}

/** `known` = it holds just these already. `grown` = somebody else has written meanwhile: what we know of it is old. */
async function appendEntries(
  tx: Transaction,
  { claim, from, entries }: ProgressRecord,
): Promise<"appended" | "known" | "grown"> {
  if (entries.length === 0) return "appended";
  const { runId } = claim;
  const row = await tx.get(`SELECT count(*) AS "count" FROM "journal" WHERE "runId" = ?`, [runId]);
  const count = Number(row?.count ?? 0);
  if (count !== from) return (await hasEntries(tx, { runId, from, entries, count })) ? "known" : "grown";
  await tx.run(
    `INSERT INTO "journal" ("runId", "sequence", "entry") SELECT x."runId", x."sequence", x."entry" FROM ${tx.dialect.rows("x", ENTRY)} WHERE true`,
    [
      tx.dialect.encodeRows(
        ENTRY,
        entries.map((entry, index) => ({ runId, sequence: from + index, entry })),
      ),
    ],
  );
  return "appended";
}

async function hasEntries(
  tx: Transaction,
  { runId, from, entries, count }: { runId: string; from: number; entries: readonly string[]; count: number },
): Promise<boolean> {
  if (count !== from + entries.length) return false;
  const rows = await tx.all(
    `SELECT "entry" FROM "journal" WHERE "runId" = ? AND "sequence" >= ? ORDER BY "sequence"`,
    [runId, from],
  );
  return rows.every(({ entry }, index) => entry === entries[index]);
}

async function insertTasks(tx: Transaction, { tasks = [] }: ProgressRecord): Promise<void> {
  if (tasks.length === 0) return;
  const isNew = await insertRuns(
    tx,
    tasks.map((task) => ({ ...task, state: task.state ?? ("queued" as const) })),
  );
  for (const task of tasks) {
    if (!isNew.has(task.id)) continue;
    const about = { runId: task.id, jobId: task.jobId };
    tx.emit({
      ...about,
      at: task.createdAt,
      kind: "run-queued",
      data: { trigger: task.trigger, key: task.dedupeKey },
    });
    if (task.state === undefined) continue;
    const { state, reason } = task;
    const kind = state === "waiting" ? "run-waiting" : "run-finished";
    const at = "finishedAt" in task ? task.finishedAt : task.createdAt;
    tx.emit({ ...about, at, kind, data: { state, ...(reason !== undefined && { reason }) } });
  }
}

async function endWaiting(
  tx: Transaction,
  { now }: ProgressRecord,
  endings: readonly TaskEnding[],
): Promise<void> {
  if (endings.length === 0) return;
  const rows = await tx.all(
    `UPDATE "runs" SET "state" = x."state", "reason" = x."reason", "outcome" = x."outcome", "finishedAt" = ?
     FROM ${tx.dialect.rows("x", ENDING)} WHERE "runs"."id" = x."runId" AND ${isPending(`"runs"`)}
     RETURNING "runs"."id", "runs"."state", "runs"."reason"`,
    [now, tx.dialect.encodeRows(ENDING, endings)],
  );
  for (const { id, state, reason } of rows)
    tx.emit({ runId: String(id), jobId: undefined, at: now, kind: "run-finished", data: { state, reason } });
}

async function cancelTasks(tx: Transaction, { cancels = [], now }: ProgressRecord): Promise<void> {
  if (cancels.length === 0) return;
  const rows = await tx.all(
    `UPDATE "runs" SET "state" = 'cancelled', "reason" = x."by", "cancelRequestedAt" = ?, "cancelledBy" = x."by", "finishedAt" = ?
     FROM ${tx.dialect.rows("x", CANCEL)} WHERE "runs"."id" = x."runId" AND ${isPending(`"runs"`)} RETURNING "runs"."id", "runs"."reason"`,
    [now, now, tx.dialect.encodeRows(CANCEL, cancels)],
  );
  for (const { id, reason } of rows)
    tx.emit({
      ...{ runId: String(id), jobId: undefined, at: now, kind: "run-finished" },
      data: { state: "cancelled", reason },
    });
  await requestCancels(tx, cancels, now);
}

async function tasksOf(store: Store, runId: string, ids?: readonly string[]): Promise<Run[]> {
  if (ids?.length === 0) return [];
  const { connection, dialect } = store;
  const rows = ids
    ? await connection.all(
        `SELECT ${columnList(RUN, "r")} FROM ${dialect.rows("x", RUN_ID)} JOIN "runs" AS r ON r."id" = x."runId" WHERE r."parentId" = ? ORDER BY r."id"`,
        [
          dialect.encodeRows(
            RUN_ID,
            ids.map((id) => ({ runId: id })),
          ),
          runId,
        ],
      )
    : await connection.all(
        `SELECT ${columnList(RUN, "r")} FROM "runs" AS r WHERE r."rootId" = (SELECT "rootId" FROM "runs" WHERE "id" = ?) AND r."parentId" = ? ORDER BY r."id"`,
        [runId, runId],
      );
  return rows.map(decodeRun);
}

async function yieldRun(
  store: Store,
  claim: Claim,
  { now, queue, admission }: Parameters<WorkflowLedger["yieldRun"]>[1],
): Promise<boolean> {
  const done = await write(store, async (tx) => {
    const row = await tx.get(
      `UPDATE "runs" SET "state" = 'queued', "owner" = NULL, "token" = "token" + 1, "leaseUntil" = NULL, "leaseEnd" = NULL, "leaseBoot" = NULL,
         "queue" = COALESCE(?, "queue"), "admission" = COALESCE(?, "admission"), "rank" = COALESCE("rank", ?)
       WHERE "id" = ? AND "token" = ? AND "owner" = ? AND "kind" = 'workflow' AND ${isLive(`"runs"`)} RETURNING "jobId"`,
      [
        ...[
          queue ?? null,
          admission ? JSON.stringify(admission) : null,
          admission ? -admission.enqueuedAt : null,
        ],
        ...[claim.runId, claim.token, claim.owner],
      ],
    );
    if (!row) return false;
    const jobId = typeof row.jobId === "string" ? row.jobId : undefined;
    const data = { why: admission ? "concurrency" : "released" };
    tx.emit({ runId: claim.runId, jobId, at: now, kind: "run-requeued", data });
    return true;
  });
  if (done) await store.wake();
  return done;
}
