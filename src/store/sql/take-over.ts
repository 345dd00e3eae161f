// Taking over from owners that are gone (L3, L4): by an expired lease, or at once from a node that is proved dead.

import type { TakenRun, TakeOverRequest, TakeOverResult } from "../../records/ledger/claims.ts";
import type { ProcessRecord } from "../../records/process.ts";
import { columnList, decode, decodeRun, PROCESS, RUN } from "./codecs.ts";
import type { Columns } from "./columns.ts";
import type { Row } from "./connection.ts";
import { isLive } from "./endings.ts";
import { type LeaseClock, leaseClock, leaseExpired, type Store, type Transaction, write } from "./store.ts";
import { definitionOf, readDefinitions } from "./views.ts";

const DEFAULT_LIMIT = 100;
const RUN_ID: Columns = { runId: "text" };
const NODE: Columns = { nodeId: "text" };

export async function takeOver(store: Store, request: TakeOverRequest): Promise<TakeOverResult> {
  return write(store, async (tx) => {
    const clock = await leaseClock(store, tx);
    const lost = await lostRuns(tx, request, clock);
    // A workflow's journal says how far it came: whoever comes next goes on, nothing of it is unknown.
    const isResumed = ({ state, kind }: Row) => state === "claimed" || kind === "workflow";
    const claimed = lost.filter(isResumed);
    const begun = lost.filter((row) => !isResumed(row));
    return {
      requeued: await requeue(tx, claimed, request),
      taken: await take(tx, begun, { request, clock }),
    };
  });
}

async function lostRuns(tx: Transaction, request: TakeOverRequest, clock: LeaseClock): Promise<Row[]> {
  const { nodeId, deadNodes, limit } = request;
  return tx.all(
    `SELECT ${columnList(RUN, "r")} FROM "runs" AS r WHERE ${isLive("r")} AND r."owner" <> ?
       AND (${leaseExpired("r")} OR r."owner" IN (SELECT x."nodeId" FROM ${tx.dialect.rows("x", NODE)}))
     ORDER BY r."id" LIMIT ?${tx.dialect.skipLocked("r")}`,
    [
      nodeId,
      clock.boot,
      clock.nowMs,
      tx.dialect.encodeRows(
        NODE,
        deadNodes.map((id) => ({ nodeId: id })),
      ),
      limit ?? DEFAULT_LIMIT,
    ],
  );
}

const idsOf = (tx: Transaction, rows: readonly Row[]) =>
  tx.dialect.encodeRows(
    RUN_ID,
    rows.map((row) => ({ runId: row.id })),
  );

async function requeue(
  tx: Transaction,
  rows: readonly Row[],
  { now, nodeId }: TakeOverRequest,
): Promise<string[]> {
  if (rows.length === 0) return [];
  await tx.run(
    `UPDATE "runs" SET "state" = 'queued', "owner" = NULL, "token" = "runs"."token" + 1, "leaseUntil" = NULL, "leaseEnd" = NULL, "leaseBoot" = NULL
     FROM ${tx.dialect.rows("x", RUN_ID)} WHERE "runs"."id" = x."runId"`,
    [idsOf(tx, rows)],
  );
  return rows.map(decodeRun).map((run) => {
    const data = { why: "ownerGone", previousOwner: run.owner, by: nodeId };
    tx.emit({ runId: run.id, jobId: run.jobId, at: now, kind: "run-requeued", data });
    return run.id;
  });
}

async function take(
  tx: Transaction,
  rows: readonly Row[],
  { request, clock }: { request: TakeOverRequest; clock: LeaseClock },
): Promise<TakenRun[]> {
  if (rows.length === 0) return [];
  const { nodeId, now, leaseMs } = request;
  await tx.run(
    `UPDATE "runs" SET "owner" = ?, "token" = "runs"."token" + 1, "leaseUntil" = ?, "leaseEnd" = ?, "leaseBoot" = ?
     FROM ${tx.dialect.rows("x", RUN_ID)} WHERE "runs"."id" = x."runId"`,
    [nodeId, now + leaseMs, clock.nowMs + leaseMs, clock.boot, idsOf(tx, rows)],
  );
  const processes = await openProcesses(tx, rows);
  const runs = rows.map(decodeRun);
  const definitions = await readDefinitions(tx, runs);
  return runs.map((before) => {
    const token = before.token + 1;
    const run = { ...before, owner: nodeId, token, leaseUntil: now + leaseMs };
    const data = { owner: nodeId, previousOwner: before.owner };
    tx.emit({ runId: run.id, jobId: run.jobId, at: now, kind: "run-taken-over", data });
    return {
      run,
      claim: { runId: run.id, owner: nodeId, token },
      definition: definitionOf(definitions, run),
      previousOwner: before.owner,
      processes: processes.filter(({ runId }) => runId === run.id),
    };
  });
}

async function openProcesses(tx: Transaction, rows: readonly Row[]): Promise<ProcessRecord[]> {
  const found = await tx.all(
    `SELECT ${columnList(PROCESS, "p")} FROM ${tx.dialect.rows("x", RUN_ID)} JOIN "processes" AS p ON p."runId" = x."runId" WHERE p."endedAt" IS NULL ORDER BY p."id"`,
    [idsOf(tx, rows)],
  );
  return found.map((row) => decode<ProcessRecord>(PROCESS, row));
}
