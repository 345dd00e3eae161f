// Migration 1: the tables of the ledger, and the rules the database itself keeps (L1, L2, law 3).
//
// I1. A terminal run never changes; a token never decreases; a job has at most one live exclusive run.
// I2. A terminal delivery changes only when a person sends it again, or when its payload is blanked.

import type { Dialect } from "../dialect.ts";

const RUN_STATES = `'queued','claimed','running','waiting','cancelling','succeeded','partiallySucceeded','failed','cancelled','timedOut','unknown','skipped','missed','blocked'`;
const TERMINAL = `'succeeded','partiallySucceeded','failed','cancelled','timedOut','unknown','skipped','missed','blocked'`;
const LIVE = `'claimed','running','cancelling'`;
/**
 * The partial indexes tell states by owner and end, which the checks tie to them: a start changes neither, so it
 * touches no index at all.
 */
const IS_OPEN = `"finishedAt" IS NULL`;
const IS_PENDING = `"owner" IS NULL AND "finishedAt" IS NULL`;
const IS_LIVE = `"owner" IS NOT NULL AND "finishedAt" IS NULL`;
const DELIVERY_TERMINAL = `'delivered','unknown','dead','suppressed'`;

/** The statements of this migration, in order. */
export function ledgerTables(dialect: Dialect): string[] {
  const { textType: text, intType: int } = dialect;
  return [
    ...jobTables(text, int),
    runsTable(text, int),
    ...runIndexes(),
    ...sideTables(dialect),
    ...deliveryTables(dialect),
    ...(dialect.engine === "sqlite" ? sqliteTriggers() : postgresFunctions()),
  ];
}

function jobTables(text: string, int: string): string[] {
  return [
    `CREATE TABLE "definitions" ("jobId" ${text} NOT NULL, "version" ${int} NOT NULL, "digest" ${text} NOT NULL, "document" ${text} NOT NULL, "zone" ${text} NOT NULL, "anchor" ${int} NOT NULL, "source" ${text} NOT NULL, "inForceFrom" ${int} NOT NULL, "inForceTo" ${int}, "endedBy" ${text}, PRIMARY KEY ("jobId", "version"))`,
    `CREATE TABLE "cursors" ("jobId" ${text} PRIMARY KEY, "version" ${int} NOT NULL, "revision" ${int} NOT NULL, "nextSlot" ${int}, "dueAt" ${int}, "startedSlots" ${int} NOT NULL DEFAULT 0, "failures" ${int} NOT NULL DEFAULT 0, "cause" ${text}, "isAlerted" ${int} NOT NULL DEFAULT 0, "strikes" ${int} NOT NULL DEFAULT 0, "isHalted" ${int} NOT NULL DEFAULT 0, "isEnabled" ${int} NOT NULL DEFAULT 1, "removedAt" ${int}, FOREIGN KEY ("jobId", "version") REFERENCES "definitions" ("jobId", "version"))`,
    `CREATE INDEX "cursorsDue" ON "cursors" ("dueAt", "jobId") WHERE "dueAt" IS NOT NULL`,
    `CREATE TABLE "suspensions" ("jobId" ${text} NOT NULL, "kind" ${text} NOT NULL CHECK ("kind" IN ('paused','held','quarantined','completed')), "from" ${int} NOT NULL, "to" ${int}, "by" ${text} NOT NULL, "reason" ${text} NOT NULL, "until" ${int})`,
    `CREATE INDEX "suspensionsByJob" ON "suspensions" ("jobId", "from")`,
    `CREATE UNIQUE INDEX "suspensionsOpen" ON "suspensions" ("jobId", "kind") WHERE "to" IS NULL`,
    `CREATE INDEX "suspensionsEnding" ON "suspensions" ("until") WHERE "to" IS NULL AND "until" IS NOT NULL`,
  ];
}

function runsTable(text: string, int: string): string {
  return `CREATE TABLE "runs" (
    "id" ${text} PRIMARY KEY, "dedupeKey" ${text} NOT NULL, "attempt" ${int} NOT NULL CHECK ("attempt" >= 1), "kind" ${text} NOT NULL,
    "jobId" ${text}, "version" ${int}, "parentId" ${text}, "rootId" ${text} NOT NULL,
    "slot" ${int}, "slotTo" ${int}, "slotCount" ${int} NOT NULL DEFAULT 1, "isCountAtLeast" ${int} NOT NULL DEFAULT 0,
    "trigger" ${text} NOT NULL CHECK ("trigger" IN ('schedule','manual','retry','rerun','event')),
    "state" ${text} NOT NULL CHECK ("state" IN (${RUN_STATES})), "reason" ${text},
    "effects" ${text} NOT NULL CHECK ("effects" IN ('none','idempotent','external')), "isExclusive" ${int} NOT NULL DEFAULT 0, "idempotencyKey" ${text} NOT NULL,
    "readyAt" ${int} NOT NULL, "startBy" ${int}, "owner" ${text}, "token" ${int} NOT NULL DEFAULT 0,
    "leaseUntil" ${int}, "leaseEnd" ${int}, "leaseBoot" ${text},
    "createdAt" ${int} NOT NULL, "startedAt" ${int}, "finishedAt" ${int}, "lastActivityAt" ${int},
    "cancelRequestedAt" ${int}, "cancelledBy" ${text}, "outcome" ${text}, "usage" ${text}, "outputFile" ${text}, "scriptSha256" ${text}, "isSuspect" ${int} NOT NULL DEFAULT 0,
    UNIQUE ("dedupeKey", "attempt"),
    CHECK (("finishedAt" IS NOT NULL) = ("state" IN (${TERMINAL}))),
    CHECK ("finishedAt" IS NOT NULL OR ("owner" IS NOT NULL) = ("state" IN (${LIVE}))))`;
}

function runIndexes(): string[] {
  return [
    `CREATE INDEX "runsByJob" ON "runs" ("jobId", "id")`,
    `CREATE INDEX "runsReady" ON "runs" ("readyAt", "id") WHERE ${IS_PENDING}`,
    `CREATE INDEX "runsStartBy" ON "runs" ("startBy") WHERE "startBy" IS NOT NULL AND ${IS_PENDING}`,
    `CREATE INDEX "runsOpen" ON "runs" ("jobId") WHERE ${IS_OPEN}`,
    `CREATE INDEX "runsLive" ON "runs" ("jobId") WHERE ${IS_LIVE}`,
    `CREATE UNIQUE INDEX "runsLiveExclusive" ON "runs" ("jobId") WHERE "isExclusive" = 1 AND ${IS_LIVE}`,
    `CREATE INDEX "runsCancelled" ON "runs" ("owner") WHERE "cancelRequestedAt" IS NOT NULL AND ${IS_LIVE}`,
    `CREATE INDEX "runsEnded" ON "runs" ("state", "id") WHERE "finishedAt" IS NOT NULL`,
    `CREATE INDEX "runsChildren" ON "runs" ("rootId", "id") WHERE "parentId" IS NOT NULL`,
    `CREATE INDEX "runsOutput" ON "runs" ("outputFile") WHERE "outputFile" IS NOT NULL`,
  ];
}

function sideTables({ textType: text, intType: int, serialKey, engine }: Dialect): string[] {
  // On PostgreSQL a sequence is made from the transaction's id (events.ts), so that it is gap-free to a reader.
  const sequence = engine === "sqlite" ? serialKey : `${int} PRIMARY KEY`;
  return [
    `CREATE TABLE "slotSummaries" ("jobId" ${text} NOT NULL, "day" ${int} NOT NULL, "from" ${int} NOT NULL, "to" ${int} NOT NULL, "counts" ${text} NOT NULL, PRIMARY KEY ("jobId", "day"))`,
    `CREATE TABLE "runEvents" ("sequence" ${sequence}, "runId" ${text}, "jobId" ${text}, "at" ${int} NOT NULL, "kind" ${text} NOT NULL, "data" ${text})`,
    `CREATE INDEX "runEventsByRun" ON "runEvents" ("runId", "sequence") WHERE "runId" IS NOT NULL`,
    `CREATE TABLE "resolutions" ("runId" ${text} NOT NULL, "as" ${text} NOT NULL CHECK ("as" IN ('succeeded','failed','rerun','early')), "by" ${text} NOT NULL, "note" ${text}, "at" ${int} NOT NULL)`,
    `CREATE INDEX "resolutionsByRun" ON "resolutions" ("runId", "at")`,
    `CREATE TABLE "processes" ("id" ${text} PRIMARY KEY, "runId" ${text} NOT NULL, "hostId" ${text} NOT NULL, "pid" ${int} NOT NULL, "startTime" ${text} NOT NULL, "processGroup" ${int} NOT NULL, "command" ${text} NOT NULL, "cwd" ${text} NOT NULL, "startedAt" ${int} NOT NULL, "endedAt" ${int}, "exitCode" ${int})`,
    `CREATE INDEX "processesByRun" ON "processes" ("runId")`,
    `CREATE TABLE "nodes" ("id" ${text} PRIMARY KEY, "name" ${text} NOT NULL, "hostId" ${text} NOT NULL, "bootId" ${text} NOT NULL, "pid" ${int} NOT NULL, "startTime" ${text} NOT NULL, "version" ${text} NOT NULL, "startedAt" ${int} NOT NULL, "lastSeenAt" ${int} NOT NULL, "lastPassAt" ${int}, "clockOffsetMs" ${int} NOT NULL, "stoppingAt" ${int}, "stoppedAt" ${int}, "maxParallelRuns" ${int} NOT NULL, "liveRuns" ${int} NOT NULL, "url" ${text}, "lastError" ${text})`,
    `CREATE TABLE "documents" ("source" ${text} PRIMARY KEY, "text" ${text} NOT NULL, "digest" ${text} NOT NULL, "removedAt" ${int})`,
  ];
}

function deliveryTables({ textType: text, intType: int, serialKey }: Dialect): string[] {
  return [
    `CREATE TABLE "deliveries" ("sequence" ${serialKey}, "id" ${text} NOT NULL UNIQUE, "key" ${text} NOT NULL UNIQUE, "runId" ${text}, "jobId" ${text}, "kind" ${text} NOT NULL CHECK ("kind" IN ('result','alert','missed','recovery','mirror')), "target" ${text} NOT NULL, "targetText" ${text} NOT NULL, "part" ${int} NOT NULL, "body" ${text} NOT NULL, "repeatability" ${text} NOT NULL CHECK ("repeatability" IN ('idempotent','probe','blind')), "state" ${text} NOT NULL CHECK ("state" IN ('queued','sending',${DELIVERY_TERMINAL})), "attempts" ${int} NOT NULL DEFAULT 0, "createdAt" ${int} NOT NULL, "nextAttemptAt" ${int} NOT NULL, "finishedAt" ${int}, "receipt" ${text}, "error" ${text}, "owner" ${text}, "token" ${int} NOT NULL DEFAULT 0, "leaseEnd" ${int}, "leaseBoot" ${text}, CHECK ("state" <> 'delivered' OR "receipt" IS NOT NULL))`,
    `CREATE INDEX "deliveriesDue" ON "deliveries" ("nextAttemptAt") WHERE "state" = 'queued'`,
    `CREATE INDEX "deliveriesOpen" ON "deliveries" ("targetText", "sequence") WHERE "state" IN ('queued','sending')`,
    `CREATE INDEX "deliveriesSending" ON "deliveries" ("owner") WHERE "state" = 'sending'`,
    `CREATE INDEX "deliveriesByState" ON "deliveries" ("state", "id")`,
    `CREATE INDEX "deliveriesByRun" ON "deliveries" ("runId")`,
    `CREATE INDEX "deliveriesByJob" ON "deliveries" ("jobId", "id")`,
    `CREATE TABLE "deliveryTombstones" ("key" ${text} PRIMARY KEY, "prunedAt" ${int} NOT NULL)`,
  ];
}

function sqliteTriggers(): string[] {
  return [
    `CREATE TRIGGER "runsTerminal" BEFORE UPDATE ON "runs" WHEN OLD."finishedAt" IS NOT NULL BEGIN SELECT RAISE(ABORT, 'a terminal run never changes'); END`,
    `CREATE TRIGGER "runsToken" BEFORE UPDATE OF "token" ON "runs" WHEN NEW."token" < OLD."token" BEGIN SELECT RAISE(ABORT, 'a token never decreases'); END`,
    `CREATE TRIGGER "deliveriesToken" BEFORE UPDATE OF "token" ON "deliveries" WHEN NEW."token" < OLD."token" BEGIN SELECT RAISE(ABORT, 'a token never decreases'); END`,
    `CREATE TRIGGER "deliveriesTerminal" BEFORE UPDATE ON "deliveries" WHEN OLD."state" IN (${DELIVERY_TERMINAL}) AND NOT (OLD."state" IN ('dead','unknown') AND NEW."state" = 'queued') AND NOT (NEW."body" = '' AND ${isSameDelivery("IS")}) BEGIN SELECT RAISE(ABORT, 'a terminal delivery never changes'); END`,
  ];
}

/** Nothing but the body differs. */
function isSameDelivery(same: string): string {
  const columns = ["state", "key", "target", "attempts", "finishedAt", "receipt", "error", "owner", "token"];
  return columns.map((name) => `NEW."${name}" ${same} OLD."${name}"`).join(" AND ");
}

function postgresFunctions(): string[] {
  return [
    // Room on each page for the two rewrites of a run's life, so that a start stays on it and touches no index.
    `ALTER TABLE "runs" SET (fillfactor = 60)`,
    `CREATE FUNCTION nightshift_now() RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$`,
    `CREATE FUNCTION nightshift_guard_run() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF OLD."finishedAt" IS NOT NULL THEN RAISE EXCEPTION 'a terminal run never changes' USING ERRCODE = 'check_violation'; END IF;
      RAISE EXCEPTION 'a token never decreases' USING ERRCODE = 'check_violation'; END $$`,
    `CREATE TRIGGER "runsGuard" BEFORE UPDATE ON "runs" FOR EACH ROW WHEN (OLD."finishedAt" IS NOT NULL OR NEW."token" < OLD."token") EXECUTE FUNCTION nightshift_guard_run()`,
    `CREATE FUNCTION nightshift_guard_delivery() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF NEW."token" < OLD."token" THEN RAISE EXCEPTION 'a token never decreases' USING ERRCODE = 'check_violation'; END IF;
      RAISE EXCEPTION 'a terminal delivery never changes' USING ERRCODE = 'check_violation'; END $$`,
    `CREATE TRIGGER "deliveriesGuard" BEFORE UPDATE ON "deliveries" FOR EACH ROW WHEN (NEW."token" < OLD."token" OR (OLD."state" IN (${DELIVERY_TERMINAL}) AND NOT (OLD."state" IN ('dead','unknown') AND NEW."state" = 'queued') AND NOT (NEW."body" = '' AND ${isSameDelivery("IS NOT DISTINCT FROM")}))) EXECUTE FUNCTION nightshift_guard_delivery()`,
  ];
}
