// The part of a pass that starts queued tasks (W4): reads who waits and who runs, asks which start, and claims those.
//
// I1. One node at a time asks: SQLite's write transaction holds the file, PostgreSQL takes a lock of its own. So two nodes
//     never fill the same place of a queue (W4).
// I2. A view is bounded: the first of each queue by rank, and where one run fills that, the first of other runs.

import type { ClaimedRun, PassRequest } from "../../records/ledger/slots.ts";
import type { TaskAdmission, TaskView } from "../../records/ledger/workflows.ts";
import type { Run } from "../../records/run.ts";
import { claimRuns, NO_LIVE_RUN } from "./claim-ready.ts";
import { columnList, decodeRun, RUN } from "./codecs.ts";
import type { Columns } from "./columns.ts";
import { endOpenRuns, isLive, isPending, requestCancels } from "./endings.ts";
import type { Transaction } from "./store.ts";
import { definitionOf, readDefinitions } from "./views.ts";

/** Rows of one queue that a decision looks at. */
const WINDOW = 100;
/** With fewer runs than this among them, others get a window of their own. */
const FEW_RUNS = 4;
const RATE_WINDOW_MS = 3_600_000;
/** Any number, the same in every node. */
const ADMISSION_LOCK = 4_747_001;

export interface TaskClaims {
  claimed: ClaimedRun[];
  cancelled: string[];
  isFull: boolean;
}

const NOTHING: TaskClaims = { claimed: [], cancelled: [], isFull: false };

/** Starts what `request.tasks.admit` allows. Reads one row, and nothing more, where no task waits. */
export async function claimTasks(tx: Transaction, request: PassRequest): Promise<TaskClaims> {
  const { tasks, now } = request;
  if (!tasks) return NOTHING;
  const queues = await queuesWithWaiting(tx, request);
  if (queues.length === 0) return NOTHING;
  if (tx.dialect.engine === "postgres") await tx.get(`SELECT pg_advisory_xact_lock(?)`, [ADMISSION_LOCK]);
  const waiting = (await Promise.all(queues.map((queue) => readWaiting(tx, queue, request)))).flat();
  if (waiting.length === 0) return NOTHING;
  const rated = queues.filter((queue) => tasks.rated.includes(queue));
  const view: TaskView = {
    now,
    waiting,
    running: await readRunning(tx),
    starts: await readStarts(tx, rated, now),
  };
  const answer = tasks.admit(view);
  return apply(tx, { request, waiting, answer });
}

async function apply(
  tx: Transaction,
  { request, waiting, answer }: { request: PassRequest; waiting: readonly Run[]; answer: TaskAdmission },
): Promise<TaskClaims> {
  const { now } = request;
  const byId = new Map(waiting.map((run) => [run.id, run]));
  await endOpenRuns(
    tx,
    answer.skip.map((runId) => ({ runId, state: "skipped" as const, reason: "concurrency" })),
    now,
  );
  await markBlocked(tx, { request, blocked: answer.blocked, byId });
  const { admissions } = answer;
  const starting = answer.start.flatMap((id) => {
    const run = byId.get(id);
    return run ? [{ ...run, admission: admissions?.get(id) ?? run.admission }] : [];
  });
  await writeAdmissions(tx, admissions);
  const definitions = await readDefinitions(tx, starting);
  const candidates = starting.map((run) => ({
    run,
    isSuspect: false,
    definition: definitionOf(definitions, run),
  }));
  return {
    claimed: await claimRuns(tx, candidates, request),
    cancelled: await requestCancels(tx, answer.cancel, now),
    // Waiting tasks are looked at again when one ends, not in a circle.
    isFull: false,
  };
}

const ADMISSION: Columns = { runId: "text", admission: "json" };

async function writeAdmissions(tx: Transaction, admissions: TaskAdmission["admissions"]): Promise<void> {
  if (!admissions || admissions.size === 0) return;
  const rows = [...admissions].map(([runId, admission]) => ({ runId, admission }));
  await tx.run(
    `UPDATE "runs" SET "admission" = x."admission" FROM ${tx.dialect.rows("x", ADMISSION)} WHERE "runs"."id" = x."runId" AND ${isPending(`"runs"`)}`,
    [tx.dialect.encodeRows(ADMISSION, rows)],
  );
}

const ready = (of: string) =>
  `${of}."queue" IS NOT NULL AND ${isPending(of)} AND (${of}."state" = 'queued' OR ${of}."reason" IN ('retry','node','resources'))`;

/** A run that its job holds back (overlap, a pause) must not stand before others in the queue. */
const MAY_START = `${NO_LIVE_RUN("r")} AND (r."slot" IS NULL OR NOT EXISTS (SELECT 1 FROM "cursors" AS c WHERE c."jobId" = r."jobId" AND c."isHalted" = 1))`;

/** Each queue by one step through the index. */
async function queuesWithWaiting(tx: Transaction, { onlyRun }: PassRequest): Promise<string[]> {
  if (onlyRun !== undefined) {
    const rows = await tx.all(
      `SELECT DISTINCT r."queue" FROM "runs" AS r WHERE ${ready("r")} AND (r."id" = ? OR r."rootId" = ?)`,
      [onlyRun, onlyRun],
    );
    return rows.map((row) => String(row.queue));
  }
  const queues: string[] = [];
  for (let after = ""; ; ) {
    const row = await tx.get(
      `SELECT min(r."queue") AS "queue" FROM "runs" AS r WHERE r."queue" > ? AND r."queue" IS NOT NULL AND ${isPending("r")}`,
      [after],
    );
    if (typeof row?.queue !== "string") return queues;
    queues.push(row.queue);
    after = row.queue;
  }
}

async function readWaiting(tx: Transaction, queue: string, request: PassRequest): Promise<Run[]> {
  const { onlyRun, now } = request;
  const own = onlyRun === undefined ? "" : ` AND (r."id" = ? OR r."rootId" = ?)`;
  const params = onlyRun === undefined ? [] : [onlyRun, onlyRun];
  const select = (more: string) =>
    `SELECT ${columnList(RUN, "r")} FROM "runs" AS r WHERE r."queue" = ? AND ${ready("r")} AND ${MAY_START} AND r."readyAt" <= ?${own}${more}
     ORDER BY r."rank" DESC, r."id" LIMIT ${WINDOW}`;
  const readyBy = onlyRun === undefined ? now : Number.MAX_SAFE_INTEGER;
  const first = (await tx.all(select(""), [queue, readyBy, ...params])).map(decodeRun);
  const roots = new Set(first.map(({ rootId }) => rootId));
  if (first.length < WINDOW || roots.size >= FEW_RUNS) return first;
  const others = await tx.all(
    select(` AND r."rootId" NOT IN (SELECT x."runId" FROM ${tx.dialect.rows("x", RUN_ID)})`),
    [
      ...[queue, readyBy, ...params],
      tx.dialect.encodeRows(
        RUN_ID,
        [...roots].map((runId) => ({ runId })),
      ),
    ],
  );
  return [...first, ...others.map(decodeRun)];
}

async function readRunning(tx: Transaction): Promise<Run[]> {
  const rows = await tx.all(
    `SELECT ${columnList(RUN, "r")} FROM "runs" AS r WHERE r."queue" IS NOT NULL AND ${isLive("r")}`,
    [],
  );
  return rows.map(decodeRun);
}

/** Of tasks that have ended; the live ones are in the view anyway. */
async function readStarts(
  tx: Transaction,
  queues: readonly string[],
  now: number,
): Promise<TaskView["starts"]> {
  if (queues.length === 0) return [];
  const rows = await tx.all(
    `SELECT r."queue", r."startedAt" FROM ${tx.dialect.rows("x", QUEUE)} JOIN "runs" AS r ON r."queue" = x."queue"
     WHERE r."finishedAt" > ? AND r."startedAt" > ?`,
    [
      tx.dialect.encodeRows(
        QUEUE,
        queues.map((queue) => ({ queue })),
      ),
      ...[now - RATE_WINDOW_MS, now - RATE_WINDOW_MS],
    ],
  );
  return rows.map((row) => ({ queue: String(row.queue), at: Number(row.startedAt) }));
}

const QUEUE: Columns = { queue: "text" };
const RUN_ID: Columns = { runId: "text" };

/** `waiting: resources`, said once for each sentence. */
async function markBlocked(
  tx: Transaction,
  {
    request: { now, nodeId },
    blocked,
    byId,
  }: { request: PassRequest; blocked: TaskAdmission["blocked"]; byId: ReadonlyMap<string, Run> },
): Promise<void> {
  const news = blocked.filter(({ runId }) => byId.get(runId)?.reason !== "resources");
  if (news.length === 0) return;
  await tx.run(
    `UPDATE "runs" SET "state" = 'waiting', "reason" = 'resources' FROM ${tx.dialect.rows("x", RUN_ID)} WHERE "runs"."id" = x."runId" AND ${isPending(`"runs"`)}`,
    [tx.dialect.encodeRows(RUN_ID, news)],
  );
  for (const { runId, lacks } of news)
    tx.emit({ runId, jobId: byId.get(runId)?.jobId, at: now, kind: "run-waiting", data: { nodeId, lacks } });
}
