// The claiming half of a pass: ready rows become ours, as many as fit (L3, L7, L12).
//
// I1. An exclusive run is claimed only while its job has no live run, one per job; the database enforces it too. On
//     PostgreSQL the job's cursor is locked first, so that two nodes never race for one job.
// I2. A suspect (its job's node died twice) is claimed alone (L7).

import type { Instant } from "../../kernel/time.ts";
import type { Definition } from "../../records/definition.ts";
import { type ClaimedRun, HEAD_START_MS, type PassRequest } from "../../records/ledger/slots.ts";
import type { Run } from "../../records/run.ts";
import { columnList, decodeRun, RUN } from "./codecs.ts";
import type { Columns } from "./columns.ts";
import type { Row } from "./connection.ts";
import { isLive, isPending } from "./endings.ts";
import { noteStarts } from "./start-runs.ts";
import { newLease, type Transaction } from "./store.ts";
import { definitionOf, readDefinitions } from "./views.ts";

/** L7: after the second strike a job's runs are suspects. */
const SUSPECT_STRIKES = 2;
/** Rows beyond the capacity that are looked at, for those that another node must prepare. */
const SPARE_ROWS = 50;
/** Pages looked at in one pass before it gives up on rows that this node cannot prepare. */
const MAX_PAGES = 10;

/** SQL: an exclusive run whose job has no live one, or any other run. */
export const NO_LIVE_RUN = (run: string) =>
  `(${run}."isExclusive" = 0 OR NOT EXISTS (SELECT 1 FROM "runs" AS l WHERE l."jobId" = ${run}."jobId" AND ${isLive("l")}))`;

/** What a row that waits to be claimed may hold (a workflow may have begun); the rest is NULL. Reading less costs half. */
const PENDING_RUN: Columns = omit(RUN, [
  ...["slotTo", "owner", "leaseUntil", "finishedAt", "lastActivityAt"],
  ...["outcome", "usage", "outputFile", "scriptSha256"],
]);

function omit(columns: Columns, names: readonly string[]): Columns {
  return Object.fromEntries(Object.entries(columns).filter(([name]) => !names.includes(name)));
}

/** A run that was queued for one process may be claimed by it so long before others may. */
const ready = (due: string, only: string) => `SELECT ${columnList(PENDING_RUN, "r")}, c."strikes" AS "strikes"
  FROM "runs" AS r LEFT JOIN "cursors" AS c ON c."jobId" = r."jobId"
  WHERE ${isPending("r")} AND ${due} AND (r."readyAt", r."id") > (?, ?)
    AND r."queue" IS NULL AND (r."state" = 'queued' OR r."reason" IN ('retry','node'))
    AND (r."slot" IS NULL OR COALESCE(c."isHalted", 0) = 0)
    AND ${NO_LIVE_RUN("r")}${only}
  ORDER BY r."readyAt", r."id" LIMIT ?`;
const READY = ready(`r."readyAt" <= ?`, "");
const READY_ONLY = ready(`r."readyAt" - ${HEAD_START_MS} <= ?`, ` AND (r."id" = ? OR r."rootId" = ?)`);

export interface Candidate {
  run: Run;
  isSuspect: boolean;
  definition: Definition | undefined;
}

/** Claims up to `capacity` ready runs. `isFull` = there may be more. */
export async function claimReady(
  tx: Transaction,
  request: PassRequest,
): Promise<{ claimed: ClaimedRun[]; isFull: boolean }> {
  if (request.capacity <= 0) return { claimed: [], isFull: false };
  const picked: Candidate[] = [];
  const unprepared: { run: Run; lacks: string }[] = [];
  const pageSize = request.capacity + SPARE_ROWS;
  let after = { readyAt: -1, id: "" };
  for (let page = 0; page < MAX_PAGES && picked.length < request.capacity; page++) {
    const { onlyRun } = request;
    const rows = await tx.all((onlyRun === undefined ? READY : READY_ONLY) + tx.dialect.skipLocked("r"), [
      ...[request.now, after.readyAt, after.id],
      ...(onlyRun === undefined ? [] : [onlyRun, onlyRun]),
      pageSize,
    ]);
    const isOver = pick(await candidatesOf(tx, rows), { request, picked, unprepared });
    const last = rows.at(-1);
    if (isOver || rows.length < pageSize || !last) break;
    after = { readyAt: Number(last.readyAt), id: String(last.id) };
  }
  await markUnprepared(tx, unprepared, request);
  const claimed = await claimRuns(tx, await lockJobs(tx, picked), request);
  return { claimed, isFull: picked.length >= request.capacity };
}

async function candidatesOf(tx: Transaction, rows: readonly Row[]): Promise<Candidate[]> {
  const runs = rows.map(decodeRun);
  const definitions = await readDefinitions(tx, runs);
  return runs.map((run, index) => ({
    run,
    isSuspect: Number(rows[index]?.strikes ?? 0) >= SUSPECT_STRIKES,
    definition: definitionOf(definitions, run),
  }));
}

interface Picking {
  request: PassRequest;
  picked: Candidate[];
  unprepared: { run: Run; lacks: string }[];
}

/** Fills `picked`; true = nothing further may be claimed. */
function pick(candidates: readonly Candidate[], { request, picked, unprepared }: Picking): boolean {
  const busyJobs = new Set(picked.filter(({ run }) => run.isExclusive).map(({ run }) => run.jobId));
  for (const candidate of candidates) {
    const { run } = candidate;
    if (picked.length >= request.capacity) return true;
    if (run.isExclusive && busyJobs.has(run.jobId)) continue;
    if (candidate.isSuspect && (request.liveRuns > 0 || picked.length > 0)) continue;
    const lacks = request.cannotPrepare(run, candidate.definition);
    if (lacks !== undefined) {
      if (run.state !== "waiting" || run.reason !== "node") unprepared.push({ run, lacks });
      continue;
    }
    picked.push(candidate);
    if (candidate.isSuspect) return true;
    if (run.isExclusive) busyJobs.add(run.jobId);
  }
  return false;
}

const RUN_ID: Columns = { runId: "text" };

/** `waiting: node`: another node may be able (L12). Stays claimable. */
async function markUnprepared(
  tx: Transaction,
  unprepared: readonly { run: Run; lacks: string }[],
  { now, nodeId }: PassRequest,
): Promise<void> {
  if (unprepared.length === 0) return;
  await tx.run(
    `UPDATE "runs" SET "state" = 'waiting', "reason" = 'node' FROM ${tx.dialect.rows("x", RUN_ID)} WHERE "runs"."id" = x."runId"`,
    [
      tx.dialect.encodeRows(
        RUN_ID,
        unprepared.map(({ run }) => ({ runId: run.id })),
      ),
    ],
  );
  for (const { run, lacks } of unprepared)
    tx.emit({ runId: run.id, jobId: run.jobId, at: now, kind: "run-waiting", data: { nodeId, lacks } });
}

const JOB: Columns = { jobId: "text" };

/** (I1) Keeps the exclusive candidates whose job nobody else is deciding or claiming at this moment. */
async function lockJobs(tx: Transaction, picked: readonly Candidate[]): Promise<readonly Candidate[]> {
  const jobs = picked.filter(({ run, definition }) => run.isExclusive && definition).map(({ run }) => run);
  if (tx.dialect.engine === "sqlite" || jobs.length === 0) return picked;
  const rows = await tx.all(
    `SELECT c."jobId" FROM "cursors" AS c JOIN ${tx.dialect.rows("x", JOB)} ON c."jobId" = x."jobId"${tx.dialect.skipLocked("c")}`,
    [tx.dialect.encodeRows(JOB, jobs)],
  );
  const locked = new Set(rows.map((row) => row.jobId));
  return picked.filter(({ run, definition }) => !run.isExclusive || !definition || locked.has(run.jobId));
}

const CLAIM: Columns = { runId: "text", isSuspect: "bool", startedAt: "int" };

/** queued → claimed (or running, where it starts at once), for those that nobody else took. */
export async function claimRuns(
  tx: Transaction,
  picked: readonly Candidate[],
  request: PassRequest,
): Promise<ClaimedRun[]> {
  if (picked.length === 0) return [];
  const { nodeId, now, leaseMs } = request;
  const lease = newLease(tx.store, leaseMs);
  const claims = picked.map(({ run, isSuspect, definition }) => {
    const startedAt = request.startsAtOnce?.(run, definition) ? now : undefined;
    return { runId: run.id, isSuspect, startedAt };
  });
  const rows = await tx.all(
    `UPDATE "runs" SET "state" = CASE WHEN x."startedAt" IS NULL THEN 'claimed' ELSE 'running' END,
       "startedAt" = COALESCE("runs"."startedAt", x."startedAt"), "lastActivityAt" = COALESCE(x."startedAt", "lastActivityAt"),
       "owner" = ?, "token" = "token" + 1, "leaseUntil" = ?, "leaseEnd" = ${lease.end}, "leaseBoot" = ?,
       "isSuspect" = x."isSuspect", "reason" = CASE WHEN "state" = 'waiting' THEN NULL ELSE "reason" END
     FROM ${tx.dialect.rows("x", CLAIM)} WHERE "runs"."id" = x."runId" AND ${NO_LIVE_RUN(`"runs"`)} RETURNING "runs"."id"`,
    [nodeId, now + leaseMs, lease.param, lease.boot, tx.dialect.encodeRows(CLAIM, claims)],
  );
  const isClaimed = new Set(rows.map((row) => row.id));
  const claimed = picked.flatMap((candidate, index) =>
    isClaimed.has(candidate.run.id) ? claimedRun(candidate, request, claims[index]?.startedAt) : [],
  );
  for (const { run } of claimed) {
    // A start says who holds the run, too.
    if (run.state === "running") continue;
    tx.emit({ runId: run.id, jobId: run.jobId, at: now, kind: "run-claimed", data: { owner: nodeId } });
  }
  const resumed = new Set(picked.filter(({ run }) => run.startedAt !== undefined).map(({ run }) => run.id));
  await noteStarts(
    tx,
    claimed.map(({ run }) => run).filter(({ state, id }) => state === "running" && !resumed.has(id)),
  );
  return claimed;
}

/** The row that the statement has just written, without reading it. */
function claimedRun(
  { run: before, isSuspect, definition }: Candidate,
  { nodeId, now, leaseMs }: PassRequest,
  startedAt: Instant | undefined,
): ClaimedRun {
  const run: Run = {
    ...before,
    ...{ owner: nodeId, token: before.token + 1, leaseUntil: now + leaseMs, isSuspect },
    ...{ state: startedAt === undefined ? "claimed" : "running", startedAt: before.startedAt ?? startedAt },
    lastActivityAt: startedAt ?? before.lastActivityAt,
    reason: before.state === "waiting" ? undefined : before.reason,
  };
  return { run, claim: { runId: run.id, owner: nodeId, token: run.token }, definition };
}
