// Events from outside, and what they set off (W7).
//
// I1. The event's row comes first: whoever loses the race for its key starts nothing.
// I2. Cursors are locked in order of job id, before any run is written.

import { makeId } from "../../kernel/ids.ts";
import type { Instant } from "../../kernel/time.ts";
import type { EventDecision, FireAnswer, TriggerLedger } from "../../records/ledger/triggers.ts";
import type { Run } from "../../records/run.ts";
import type { TriggerEvent } from "../../records/trigger.ts";
import { columnList, decode, decodeRun, RUN, TRIGGER_EVENT } from "./codecs.ts";
import type { Columns } from "./columns.ts";
import { endOpenRuns, requestCancels } from "./endings.ts";
import { reader } from "./reading.ts";
import { bornRun, insertRuns, type RunRow } from "./run-rows.ts";
import { type Store, type Transaction, write } from "./store.ts";
import { readViews } from "./views.ts";

const JOB_ID: Columns = { jobId: "text" };
const KEY: Columns = { key: "text" };

/** SQL: no run that this event set off is left. */
const HAS_NO_RUN = `NOT EXISTS (SELECT 1 FROM "runs" AS r WHERE r."eventId" = "triggerEvents"."id")`;

/** The port's part over a store. */
export function triggerPart(store: Store): TriggerLedger {
  return {
    triggeredJobs: () => readTriggered(store),
    fireEvent: (request) => fireEvent(store, request),
    knownEvents: (keys) => knownEvents(store, keys),
    triggerEvent: (id) => triggerEvent(store, id),
    forgetEvents: (request) => forgetEvents(store, request),
  };
}

/** A document is JSON with every shorthand written out; a text that only looks like the key costs a parse. */
function readTriggered(store: Store) {
  return readViews(
    reader(store),
    `JOIN "definitions" AS d ON d."jobId" = c."jobId" AND d."version" = c."version"
     WHERE c."removedAt" IS NULL AND d."document" LIKE '%"on":%' ORDER BY c."jobId"`,
    [],
  );
}

type FireRequest = Parameters<TriggerLedger["fireEvent"]>[0];

async function fireEvent(store: Store, request: FireRequest): Promise<FireAnswer> {
  const answer = await write(store, async (tx): Promise<FireAnswer> => {
    const { event } = request;
    if (!(await insertEvent(tx, event))) return knownEvent(tx, event);
    return { kind: "fired", event, runs: await decideRuns(tx, request) };
  });
  if (answer.kind === "fired") await store.wake();
  return answer;
}

async function insertEvent(tx: Transaction, event: TriggerEvent): Promise<boolean> {
  const names = Object.keys(TRIGGER_EVENT).map((name) => `"${name}"`);
  const row = await tx.get(
    `INSERT INTO "triggerEvents" (${names.join(", ")}) SELECT ${columnList(TRIGGER_EVENT, "x")} FROM ${tx.dialect.rows("x", TRIGGER_EVENT)} WHERE true
     ON CONFLICT DO NOTHING RETURNING "id"`,
    [tx.dialect.encodeRows(TRIGGER_EVENT, [event])],
  );
  return row !== undefined;
}

async function knownEvent(tx: Transaction, event: TriggerEvent): Promise<FireAnswer> {
  const row = await tx.get(
    `SELECT ${columnList(TRIGGER_EVENT, "e")} FROM "triggerEvents" AS e WHERE e."key" = ?`,
    [event.key],
  );
  const known = row ? decode<TriggerEvent>(TRIGGER_EVENT, row) : event;
  if (known.digest !== event.digest) return { kind: "conflict", event: known };
  const rows = await tx.all(
    `SELECT ${columnList(RUN, "r")} FROM "runs" AS r WHERE r."eventId" = ? AND r."attempt" = 1 AND r."trigger" = 'event' ORDER BY r."id"`,
    [known.id],
  );
  return { kind: "known", event: known, runs: rows.map(decodeRun) };
}

async function decideRuns(tx: Transaction, { event, jobIds, now, decide }: FireRequest): Promise<Run[]> {
  const keys = tx.dialect.encodeRows(
    JOB_ID,
    jobIds.map((jobId) => ({ jobId })),
  );
  const views = await readViews(
    tx,
    `WHERE c."jobId" IN (SELECT x."jobId" FROM ${tx.dialect.rows("x", JOB_ID)}) ORDER BY c."jobId"`,
    [keys],
    tx.dialect.forUpdate("c"),
  );
  const decided = views.flatMap((view) => {
    const decision = decide(view, now);
    return decision ? [{ decision, definition: view.definition }] : [];
  });
  const running = decided.flatMap(({ decision }) => (decision.kind === "run" ? [decision] : []));
  await endOpenRuns(
    tx,
    running.flatMap(({ endOpenRuns: ended }) => ended),
    now,
  );
  await requestCancels(
    tx,
    running.flatMap(({ cancelRuns }) => cancelRuns),
    now,
  );
  const rows = decided.map(({ decision, definition: { jobId, version } }) =>
    eventRow(decision, { event, job: { jobId, version }, id: makeId(now, tx.store.random), now }),
  );
  await insertRuns(tx, rows);
  for (const { id, jobId, state, reason } of rows) {
    const kind = state === "queued" ? "run-queued" : "run-skipped";
    const data = { trigger: "event", eventId: event.id, ...(reason === undefined ? {} : { reason }) };
    tx.emit({ runId: id, jobId, at: now, kind, data });
  }
  return rows.map(bornRun);
}

function eventRow(
  decision: EventDecision,
  born: { event: TriggerEvent; job: { jobId: string; version: number }; id: string; now: Instant },
): RunRow {
  const { event, job, id, now } = born;
  const dedupeKey = `event/${event.key}/${job.jobId}`;
  const row = {
    ...job,
    id,
    rootId: id,
    kind: "job",
    trigger: "event",
    eventId: event.id,
    dedupeKey,
    idempotencyKey: dedupeKey,
    readyAt: now,
    createdAt: now,
  } as const;
  if (decision.kind === "skip")
    return { ...row, state: "skipped", reason: decision.reason, effects: "external", finishedAt: now };
  const { effects, isExclusive, startBy, traits } = decision;
  return { ...row, ...traits, state: "queued", effects, isExclusive, startBy };
}

async function knownEvents(store: Store, keys: readonly string[]): Promise<ReadonlySet<string>> {
  if (keys.length === 0) return new Set();
  const rows = store.dialect.encodeRows(
    KEY,
    keys.map((key) => ({ key })),
  );
  const found = await reader(store).all(
    `SELECT e."key" FROM ${store.dialect.rows("x", KEY)} JOIN "triggerEvents" AS e ON e."key" = x."key"`,
    [rows],
  );
  return new Set(found.map((row) => String(row.key)));
}

async function triggerEvent(store: Store, id: string): Promise<TriggerEvent | undefined> {
  const row = await store.connection.get(
    `SELECT ${columnList(TRIGGER_EVENT, "e")} FROM "triggerEvents" AS e WHERE e."id" = ?`,
    [id],
  );
  return row && decode<TriggerEvent>(TRIGGER_EVENT, row);
}

async function forgetEvents(
  store: Store,
  { before, limit }: { before: Instant; limit: number },
): Promise<void> {
  await store.connection.run(
    `DELETE FROM "triggerEvents" WHERE "id" IN (SELECT "id" FROM "triggerEvents" WHERE "receivedAt" < ? AND ${HAS_NO_RUN} ORDER BY "receivedAt" LIMIT ?)`,
    [before, limit],
  );
  await store.connection.run(
    `UPDATE "triggerEvents" SET "data" = '', "headers" = '{}' WHERE "id" IN (SELECT "id" FROM "triggerEvents" WHERE "data" <> '' AND ${HAS_NO_RUN} ORDER BY "receivedAt" LIMIT ?)`,
    [limit],
  );
}
