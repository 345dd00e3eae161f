// Writing down what was decided for due slots (I1, I2 of the port): rows, endings, cursor, digest.
//
// I1. The cursor moves by compare-and-set on version, revision and next slot; under the lock it always succeeds, so a
//     miss is a bug and undoes everything.

import { invariant } from "../../kernel/errors.ts";
import { makeId } from "../../kernel/ids.ts";
import type { Instant } from "../../kernel/time.ts";
import { BY_SCHEDULE } from "../../records/definition.ts";
import type {
  CloseSlots,
  DecideJob,
  DigestMissed,
  JobDecision,
  JobView,
  PassResult,
  RunSlot,
} from "../../records/ledger/slots.ts";

import type { Columns } from "./columns.ts";
import { endOpenRuns, requestCancels } from "./endings.ts";
import { insertDeliveries } from "./outbox-rows.ts";
import { insertRuns, type RunRow } from "./run-rows.ts";
import type { Transaction } from "./store.ts";
import { openSuspension } from "./suspensions.ts";
import { slotKey } from "./views.ts";

export interface Decided {
  view: JobView;
  decision: JobDecision;
}

export type Applied = Pick<PassResult, "decidedJobs" | "closedSlots" | "endedRuns" | "cancelRuns">;

/** Decides every view. Pure apart from `decide`. */
export function decideAll(views: readonly JobView[], decide: DecideJob, now: Instant): Decided[] {
  return views.map((view) => ({ view, decision: decide(view, now) }));
}

/** Writes decisions whose cursors are locked by this transaction. */
export async function applyDecisions(
  tx: Transaction,
  decided: readonly Decided[],
  { now, digest }: { now: Instant; digest: DigestMissed },
): Promise<Applied> {
  if (decided.length === 0) return { decidedJobs: 0, closedSlots: [], endedRuns: [], cancelRuns: [] };
  // Waiters end before their successors come in, so that a job never shows two.
  const endedRuns = await endOpenRuns(tx, endingsOf(decided), now);
  const cancelRuns = await requestCancels(
    tx,
    decided.flatMap(({ decision }) => decision.cancelRuns),
    now,
  );
  const closed = await insertSlots(tx, decided, now);
  await moveCursors(tx, decided);
  for (const { view, decision } of decided) {
    if (decision.completed === undefined) continue;
    const { jobId } = view.cursor;
    const completed = { jobId, kind: "completed", by: BY_SCHEDULE, reason: decision.completed, now } as const;
    await openSuspension(tx, completed);
  }
  const missed = closed.filter(({ slots }) => slots.state === "missed");
  if (missed.length > 0) await insertDeliveries(tx, digest(missed, now), now);
  const closedSlots = closed.map(({ view, runId, slots }) => ({ jobId: view.cursor.jobId, runId, slots }));
  return { decidedJobs: decided.filter(hasMoved).length, closedSlots, endedRuns, cancelRuns };
}

function hasMoved({ view, decision }: Decided): boolean {
  return view.cursor.nextSlot !== decision.next?.slot || view.cursor.dueAt !== decision.next?.dueAt;
}

function endingsOf(decided: readonly Decided[]) {
  return decided.flatMap(({ decision }) => decision.endOpenRuns);
}

interface Closed {
  view: JobView;
  runId: string;
  dedupeKey: string;
  slots: CloseSlots;
}

async function insertSlots(tx: Transaction, decided: readonly Decided[], now: Instant): Promise<Closed[]> {
  const rows: RunRow[] = [];
  const closed: Closed[] = [];
  const ids = sortedIds(tx, decided.flatMap(({ decision }) => decision.slots).length, now);
  for (const { view, decision } of decided) {
    for (const slots of decision.slots) {
      const id = ids[rows.length] ?? makeId(now, tx.store.random);
      if (slots.kind === "run") rows.push(queuedRow(view, slots, { id, now }));
      else {
        const row = closedRow(view, slots, { id, now });
        rows.push(row);
        closed.push({ view, runId: id, dedupeKey: row.dedupeKey, slots });
      }
    }
  }
  const isNew = await insertRuns(tx, rows);
  for (const row of rows) {
    if (!isNew.has(row.id)) continue;
    const kind = row.state === "queued" ? "run-queued" : `slot-${row.state}`;
    const data = { slot: row.slot, ...(row.reason === undefined ? {} : { reason: row.reason }) };
    tx.emit({ runId: row.id, jobId: row.jobId, at: now, kind, data });
  }
  return closed.filter(({ runId }) => isNew.has(runId));
}

/** Ids of one millisecond, in order: slots decided together are listed in their order. */
function sortedIds(tx: Transaction, count: number, now: Instant): string[] {
  return Array.from({ length: count }, () => makeId(now, tx.store.random)).sort();
}

function slotRow(view: JobView, slot: Instant, { id, now }: { id: string; now: Instant }) {
  const { jobId, version } = view.definition;
  const dedupeKey = slotKey(jobId, slot);
  const key = { dedupeKey, idempotencyKey: dedupeKey };
  return {
    ...key,
    id,
    rootId: id,
    kind: "job",
    jobId,
    version,
    slot,
    trigger: "schedule",
    createdAt: now,
  } as const;
}

function queuedRow(view: JobView, slots: RunSlot, born: { id: string; now: Instant }): RunRow {
  const { slot, readyAt, reason, startBy, effects, isExclusive, traits } = slots;
  return {
    ...slotRow(view, slot, born),
    ...traits,
    state: "queued",
    readyAt,
    reason,
    startBy,
    effects,
    isExclusive,
  };
}

function closedRow(view: JobView, slots: CloseSlots, born: { id: string; now: Instant }): RunRow {
  const { first, last, count, isCountAtLeast, state, reason } = slots;
  return {
    ...slotRow(view, first, born),
    slotTo: last === first ? undefined : last,
    slotCount: count,
    isCountAtLeast,
    state,
    reason,
    effects: "external",
    readyAt: first,
    finishedAt: born.now,
  };
}

const MOVE: Columns = {
  jobId: "text",
  version: "int",
  revision: "int",
  fromSlot: "int",
  nextSlot: "int",
  dueAt: "int",
};

async function moveCursors(tx: Transaction, decided: readonly Decided[]): Promise<void> {
  const moves = decided.map(({ view: { cursor }, decision: { next } }) => ({
    jobId: cursor.jobId,
    version: cursor.version,
    revision: cursor.revision,
    fromSlot: cursor.nextSlot,
    nextSlot: next?.slot,
    dueAt: next?.dueAt,
  }));
  const moved = await tx.run(
    `UPDATE "cursors" SET "nextSlot" = x."nextSlot", "dueAt" = x."dueAt", "revision" = "cursors"."revision" + 1
     FROM ${tx.dialect.rows("x", MOVE)}
     WHERE "cursors"."jobId" = x."jobId" AND "cursors"."version" = x."version" AND "cursors"."revision" = x."revision"
       AND "cursors"."nextSlot" IS NOT DISTINCT FROM x."fromSlot"`,
    [tx.dialect.encodeRows(MOVE, moves)],
  );
  invariant(moved === decided.length, "a locked cursor moves exactly once (D5)");
  for (const { view, decision } of decided) {
    if (view.accountedAhead) await keepAhead(tx, view, decision.next?.slot);
  }
}

/** What the cursor has passed is no longer ahead of it; without a cursor all stays, for whoever resumes the job. */
async function keepAhead(tx: Transaction, view: JobView, next: Instant | undefined): Promise<void> {
  const ahead = view.accountedAhead?.filter((slot) => next === undefined || slot >= next) ?? [];
  if (ahead.length === view.accountedAhead?.length) return;
  await writeAhead(tx, view.cursor.jobId, ahead);
}

/** Records the slots ahead of a locked cursor that have a row already (T8). */
export async function writeAhead(tx: Transaction, jobId: string, ahead: readonly Instant[]): Promise<void> {
  const text = ahead.length === 0 ? null : JSON.stringify(ahead);
  await tx.run(`UPDATE "cursors" SET "accountedAhead" = ? WHERE "jobId" = ?`, [text, jobId]);
}
