// The life of a claim between its start and its end: renewed, released, asked to cancel; and runs that are no slot's.

import type { Instant } from "../../kernel/time.ts";
import type { CancelAnswer, NewRun, RenewAnswer } from "../../records/ledger/claims.ts";
import type { Claim, NewRunEvent, Resolution, Run } from "../../records/run.ts";
import { isTerminal } from "../../records/run.ts";
import { columnList, decode, decodeRun, RESOLUTION, RUN } from "./codecs.ts";
import type { Columns } from "./columns.ts";
import type { Statements } from "./connection.ts";
import type { Dialect } from "./dialect.ts";
import { hasBegun, isLive, isPending, requestCancels } from "./endings.ts";
import { encodeEvents, insertEvents } from "./events.ts";
import { bornRun, insertion, insertRuns } from "./run-rows.ts";
import { leaseClock, type Store, type Transaction, write } from "./store.ts";

const CLAIM: Columns = { runId: "text", owner: "text", token: "int" };
const MATCHES = `"runs"."id" = x."runId" AND "runs"."token" = x."token" AND "runs"."owner" = x."owner"`;

/** L5: whoever still has the newest token holds the claim, expired or not. */
export async function renewClaims(
  store: Store,
  claims: readonly Claim[],
  leaseMs: number,
): Promise<readonly RenewAnswer[]> {
  if (claims.length === 0) return [];
  const rows = await store.connection.transaction(async (tx) => {
    const clock = await leaseClock(store, tx);
    return tx.all(
      `UPDATE "runs" SET "leaseEnd" = ?, "leaseBoot" = ?, "leaseUntil" = ? FROM ${store.dialect.rows("x", CLAIM)}
       WHERE ${MATCHES} AND ${isLive(`"runs"`)} RETURNING "runs"."id", "runs"."cancelledBy", "runs"."cancelRequestedAt"`,
      [clock.nowMs + leaseMs, clock.boot, clock.wall + leaseMs, store.dialect.encodeRows(CLAIM, claims)],
    );
  });
  const held = new Map(rows.map((row) => [String(row.id), row]));
  const tokens = new Map(claims.map((claim) => [claim.runId, claim.token]));
  return claims.map((claim) => {
    const row = held.get(claim.runId);
    // The same run twice in one call: only its newest token can have matched.
    if (!row || (tokens.get(claim.runId) ?? 0) !== claim.token)
      return { claim, state: "lost", cancelledBy: undefined };
    const cancelledBy = row.cancelRequestedAt === null ? undefined : String(row.cancelledBy);
    return { claim, state: "held", cancelledBy };
  });
}

/** claimed → queued with a higher token; whatever has begun, or was asked to cancel, stays. */
export async function releaseClaims(store: Store, claims: readonly Claim[]): Promise<void> {
  if (claims.length === 0) return;
  const now = store.clock.now();
  await write(store, async (tx) => {
    const rows = await tx.all(
      `UPDATE "runs" SET "state" = 'queued', "owner" = NULL, "token" = "runs"."token" + 1, "leaseUntil" = NULL, "leaseEnd" = NULL, "leaseBoot" = NULL
       FROM ${tx.dialect.rows("x", CLAIM)} WHERE ${MATCHES} AND "runs"."state" = 'claimed' RETURNING "runs"."id", "runs"."jobId"`,
      [tx.dialect.encodeRows(CLAIM, claims)],
    );
    for (const row of rows) {
      const jobId = row.jobId === null ? undefined : String(row.jobId);
      tx.emit({ runId: String(row.id), jobId, at: now, kind: "run-requeued", data: { why: "released" } });
    }
  });
  await store.wake();
}

export async function cancelRequests(
  store: Store,
  nodeId: string,
): Promise<readonly { runId: string; by: string }[]> {
  const rows = await store.connection.all(
    `SELECT "id", "cancelledBy" FROM "runs" WHERE "owner" = ? AND "cancelRequestedAt" IS NOT NULL AND ${isLive(`"runs"`)}`,
    [nodeId],
  );
  return rows.map((row) => ({ runId: String(row.id), by: String(row.cancelledBy) }));
}

export async function requestCancel(
  store: Store,
  { runId, by, now }: { runId: string; by: string; now: Instant },
): Promise<CancelAnswer> {
  const answer = await write<CancelAnswer>(store, async (tx) => {
    const ended = await tx.get(
      `UPDATE "runs" SET "state" = 'cancelled', "reason" = 'requested', "cancelRequestedAt" = ?, "cancelledBy" = ?, "finishedAt" = ?, "outcome" = ?
       WHERE "id" = ? AND ${isPending(`"runs"`)} AND NOT ${hasBegun(`"runs"`)} RETURNING ${columnList(RUN, `"runs"`)}`,
      [now, by, now, JSON.stringify({ state: "cancelled", by }), runId],
    );
    if (ended) {
      const run = decodeRun(ended);
      const data = { state: run.state, reason: run.reason, by };
      tx.emit({ runId, jobId: run.jobId, at: now, kind: "run-finished", data });
      return { kind: "cancelled", run };
    }
    await requestCancels(tx, [{ runId, by }], now);
    const row = await tx.get(`SELECT ${columnList(RUN, "r")} FROM "runs" AS r WHERE r."id" = ?`, [runId]);
    if (!row) return { kind: "notFound" };
    const run = decodeRun(row);
    return { kind: isTerminal(run.state) ? "finished" : "requested", run };
  });
  if (answer.kind === "cancelled" || answer.kind === "requested") await store.wake();
  return answer;
}

const KEY: Columns = { dedupeKey: "text", attempt: "int" };

export async function enqueue(store: Store, runs: readonly NewRun[]): Promise<readonly Run[]> {
  if (runs.length === 0) return [];
  const rows = runs.map((run) => ({ ...run, state: "queued" as const }));
  // On SQLite a node of this process is told before the commit, so that its claim shares it: one fsync from call to start.
  // Several rows may meet another transaction's in another order; one cannot, and needs no transaction to be repeated.
  const isOneStatement = store.dialect.engine === "postgres" && rows.length === 1;
  const held = isOneStatement
    ? await enqueueAtOnce(store, rows)
    : await write(store, (tx) => insertQueued(tx, rows), store.wakeOwn);
  if (store.dialect.engine === "postgres") store.wakeOwn();
  await store.wakeOthers();
  return held;
}

async function insertQueued(
  tx: Transaction,
  rows: readonly (NewRun & { state: "queued" })[],
): Promise<readonly Run[]> {
  const isNew = await insertRuns(tx, rows);
  for (const run of rows) if (isNew.has(run.id)) tx.emit(queuedEvent(run));
  return isNew.size === rows.length ? rows.map(bornRun) : readHolders(tx, rows);
}

function queuedEvent({ id, jobId, createdAt, trigger }: NewRun): NewRunEvent {
  return { runId: id, jobId, at: createdAt, kind: "run-queued", data: { trigger } };
}

/** Rows and events in one statement: one way to the server instead of four. */
async function enqueueAtOnce(store: Store, rows: readonly (NewRun & { state: "queued" })[]): Promise<Run[]> {
  const { dialect, connection } = store;
  const { sql, param } = insertion(dialect, rows);
  const made = await connection.all(
    `WITH "made" AS (${sql}), "told" AS (${insertEvents(dialect)} WHERE x."runId" IN (SELECT "id" FROM "made")) SELECT "id" FROM "made"`,
    [param, encodeEvents(dialect, rows.map(queuedEvent))],
  );
  return made.length === rows.length ? rows.map(bornRun) : readHolders({ ...connection, dialect }, rows);
}

/** The rows that hold these keys, in order. */
async function readHolders(tx: Statements & { dialect: Dialect }, runs: readonly NewRun[]): Promise<Run[]> {
  const rows = await tx.all(
    `SELECT ${columnList(RUN, "r")} FROM ${tx.dialect.rows("x", KEY)} JOIN "runs" AS r ON r."dedupeKey" = x."dedupeKey" AND r."attempt" = x."attempt"`,
    [tx.dialect.encodeRows(KEY, runs)],
  );
  const held = new Map(rows.map(decodeRun).map((run) => [`${run.attempt}/${run.dedupeKey}`, run]));
  return runs.flatMap(({ attempt, dedupeKey }) => held.get(`${attempt}/${dedupeKey}`) ?? []);
}

export async function resolve(store: Store, resolution: Resolution): Promise<void> {
  const { runId, as, by, note, at } = resolution;
  await write(store, async (tx) => {
    await tx.run(`INSERT INTO "resolutions" ("runId", "as", "by", "note", "at") VALUES (?, ?, ?, ?, ?)`, [
      runId,
      as,
      by,
      note ?? null,
      at,
    ]);
    const row = await tx.get(`SELECT "jobId" FROM "runs" WHERE "id" = ?`, [runId]);
    const jobId = typeof row?.jobId === "string" ? row.jobId : undefined;
    tx.emit({ runId, jobId, at, kind: "run-resolved", data: { as, by } });
  });
}

export async function resolutions(store: Store, runId: string): Promise<readonly Resolution[]> {
  const rows = await store.connection.all(
    `SELECT ${columnList(RESOLUTION, "r")} FROM "resolutions" AS r WHERE r."runId" = ? ORDER BY r."at"`,
    [runId],
  );
  return rows.map((row) => decode<Resolution>(RESOLUTION, row));
}
