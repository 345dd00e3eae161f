// One pass (T6–T8, L2, L11): decide what is due, expire what came too late, claim what is ready. One transaction.

import type { Instant } from "../../kernel/time.ts";
import type { PassRequest, PassResult } from "../../records/ledger/slots.ts";
import { type Applied, applyDecisions, decideAll } from "./apply-decisions.ts";
import { claimReady } from "./claim-ready.ts";
import { expireStartBy, isPending } from "./endings.ts";
import { writeNode } from "./nodes.ts";
import { NEWEST_CHANGE, NEWEST_PASS, newest } from "./record-clock.ts";
import { type Store, type Transaction, write } from "./store.ts";
import { endExpiredSuspensions } from "./suspensions.ts";
import { readViews } from "./views.ts";

const DEFAULT_MAX_JOBS = 1_000;

export async function pass(store: Store, request: PassRequest): Promise<PassResult> {
  return write(store, async (tx) => {
    const { now } = request;
    const isWhole = request.onlyRun === undefined;
    if (isWhole) await endExpiredSuspensions(tx, now);
    const due = isWhole ? await decideDue(tx, request) : NOTHING_DUE;
    const expired = isWhole ? await expireStartBy(tx, now) : [];
    const { claimed, isFull } = await claimReady(tx, request);
    if (request.node) {
      const liveRuns = request.liveRuns + claimed.length;
      await writeNode(tx, request.nodeId, { ...request.node, liveRuns });
    }
    return {
      ...due.applied,
      endedRuns: [...due.applied.endedRuns, ...expired],
      claimed,
      ...(await wakeAndClock(tx, now)),
      hasMore: due.hasMore || isFull,
    };
  });
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

/** Rows that are ready already wait for capacity, an overlap or another node: an ending wakes those, not the clock. */
async function wakeAndClock(
  tx: Transaction,
  now: Instant,
): Promise<Pick<PassResult, "nextWakeAt" | "newestRecordAt">> {
  const row = await tx.get(
    `SELECT (SELECT min("dueAt") FROM "cursors" WHERE "dueAt" IS NOT NULL) AS "due",
       (SELECT min("readyAt") FROM "runs" WHERE ${isPending(`"runs"`)} AND "readyAt" > ?) AS "ready",
       (SELECT min("startBy") FROM "runs" WHERE "startBy" IS NOT NULL AND ${isPending(`"runs"`)}) AS "startBy",
       (SELECT min("until") FROM "suspensions" WHERE "to" IS NULL AND "until" IS NOT NULL) AS "until",
       ${NEWEST_PASS} AS "newestPass", ${NEWEST_CHANGE} AS "newestChange"`,
    [now],
  );
  const { newestPass, newestChange, ...wakes } = row ?? {};
  return { nextWakeAt: least(Object.values(wakes)), newestRecordAt: newest(newestPass, newestChange) };
}

function least(values: readonly unknown[]): Instant | undefined {
  const instants = values.filter((value) => typeof value === "number");
  return instants.length === 0 ? undefined : Math.min(...instants);
}
