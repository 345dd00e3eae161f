// One pass (T6–T8, L2, L11): decide what is due, expire what came too late, claim what is ready. One transaction.
//
// I1. One look says what is due: most passes find a ready run at most, and make no further statement for the rest.
// I2. A pass that changes nothing writes nothing, and so costs no fsync (the node's row: nodes.ts).

import type { Instant } from "../../kernel/time.ts";
import type { PassRequest, PassResult } from "../../records/ledger/slots.ts";
import { type Applied, applyDecisions, decideAll } from "./apply-decisions.ts";
import { claimReady } from "./claim-ready.ts";
import { claimTasks } from "./claim-tasks.ts";
import { expireStartBy, isPending } from "./endings.ts";
import { type PassRow, rememberRow, writePassRow } from "./nodes.ts";
import { NEWEST_CHANGE, newest } from "./record-clock.ts";
import { type Store, type Transaction, write } from "./store.ts";
import { endExpiredSuspensions } from "./suspensions.ts";
import { readViews } from "./views.ts";

const DEFAULT_MAX_JOBS = 1_000;

export async function pass(store: Store, request: PassRequest): Promise<PassResult> {
  const { result, row } = await write(store, (tx) => passWithin(tx, request));
  if (row) rememberRow(store, request.nodeId, row);
  return result;
}

async function passWithin(
  tx: Transaction,
  request: PassRequest,
): Promise<{ result: PassResult; row: PassRow | undefined }> {
  const { now } = request;
  const isWhole = request.onlyRun === undefined;
  const seen = await look(tx, request);
  const isPast = (instant: Instant | undefined) => isWhole && instant !== undefined && instant <= now;
  if (isPast(seen.until)) await endExpiredSuspensions(tx, now);
  const due = isPast(seen.due) ? await decideDue(tx, request) : NOTHING_DUE;
  const expired = isPast(seen.startBy) ? await expireStartBy(tx, now) : [];
  const ready = await claimReady(tx, request);
  const tasks = await claimTasks(tx, request);
  const claimed = [...ready.claimed, ...tasks.claimed];
  const node = await writePassRow(tx, request, request.liveRuns + claimed.length);
  const hasMoved = isPast(seen.until) || isPast(seen.due) || isPast(seen.startBy);
  const after = hasMoved ? await look(tx, request) : seen;
  const result: PassResult = {
    ...due.applied,
    endedRuns: [...due.applied.endedRuns, ...expired],
    cancelRuns: [...due.applied.cancelRuns, ...tasks.cancelled],
    claimed,
    nextWakeAt: least([after.due, after.ready, after.startBy, after.until, node.dueAt]),
    newestRecordAt: newest(after.newestPass, after.newestChange, request.node?.lastPassAt),
    hasMore: due.hasMore || ready.isFull || tasks.isFull,
  };
  return { result, row: node.row };
}

const NOTHING_DUE = {
  applied: { decidedJobs: 0, closedSlots: [], endedRuns: [], cancelRuns: [] },
  hasMore: false,
} satisfies { applied: Applied; hasMore: boolean };

async function decideDue(
  tx: Transaction,
  request: PassRequest,
): Promise<{ applied: Applied; hasMore: boolean }> {
  const maxJobs = request.maxJobs ?? DEFAULT_MAX_JOBS;
  const views = await readViews(
    tx,
    `WHERE c."dueAt" IS NOT NULL AND c."dueAt" <= ? ORDER BY c."dueAt", c."jobId" LIMIT ?`,
    [request.now, maxJobs],
    tx.dialect.skipLocked("c"),
  );
  const decided = decideAll(views, request.decide, request.now);
  return { applied: await applyDecisions(tx, decided, request), hasMore: views.length === maxJobs };
}

interface Look {
  due: Instant | undefined;
  ready: Instant | undefined;
  startBy: Instant | undefined;
  until: Instant | undefined;
  newestPass: Instant | undefined;
  newestChange: Instant | undefined;
}

/**
 * When what comes next is due, the past included. Only rows that are ready already are not: they wait for capacity, an
 * overlap or another node, and an ending wakes those, not the clock. The newest pass is that of the other nodes: our own is
 * this one.
 */
async function look(tx: Transaction, { now, nodeId, node }: PassRequest): Promise<Look> {
  const row = await tx.get(
    `SELECT (SELECT min("dueAt") FROM "cursors" WHERE "dueAt" IS NOT NULL) AS "due",
       (SELECT min("readyAt") FROM "runs" WHERE ${isPending(`"runs"`)} AND "readyAt" > ?) AS "ready",
       (SELECT min("startBy") FROM "runs" WHERE "startBy" IS NOT NULL AND ${isPending(`"runs"`)}) AS "startBy",
       (SELECT min("until") FROM "suspensions" WHERE "to" IS NULL AND "until" IS NOT NULL) AS "until",
       (SELECT max("lastPassAt") FROM "nodes" WHERE "id" <> ?) AS "newestPass", ${NEWEST_CHANGE} AS "newestChange"`,
    [now, node ? nodeId : ""],
  );
  const instant = (name: keyof Look) => (typeof row?.[name] === "number" ? row[name] : undefined);
  return {
    due: instant("due"),
    ready: instant("ready"),
    startBy: instant("startBy"),
    until: instant("until"),
    newestPass: instant("newestPass"),
    newestChange: instant("newestChange"),
  };
}

function least(values: readonly (Instant | undefined)[]): Instant | undefined {
  const instants = values.filter((value) => value !== undefined);
  return instants.length === 0 ? undefined : Math.min(...instants);
}
