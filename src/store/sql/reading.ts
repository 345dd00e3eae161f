// Reading for people: one run, trees, newest runs, counts, and all that an audit needs.

import type { Instant } from "../../kernel/time.ts";
import type { Definition, Suspension } from "../../records/definition.ts";
import type { Delivery } from "../../records/delivery.ts";
import type { LedgerCounts } from "../../records/ledger/reading.ts";
import type { AuditRow, AuditView, JobView } from "../../records/ledger/slots.ts";
import type { ProcessRecord } from "../../records/process.ts";
import type { Run, RunState } from "../../records/run.ts";
import {
  columnList,
  DEFINITION,
  DELIVERY,
  decode,
  decodeDefinition,
  decodeRun,
  PROCESS,
  RUN,
  SUSPENSION,
} from "./codecs.ts";
import type { Columns } from "./columns.ts";
import { isOpen } from "./endings.ts";
import type { Store } from "./store.ts";
import { readView, readViews } from "./views.ts";

/** Below this a prefix names half the ledger. */
const MIN_PREFIX = 6;
/** How many candidates an ambiguous prefix names. */
const MAX_CANDIDATES = 10;
/** Sorts behind every character of an id. */
const PREFIX_END = "\u{10ffff}";

type Summary = AuditView["summaries"][number];

/** Statements and dialect in one, for the functions that read inside and outside of transactions. */
export function reader(store: Store) {
  return { ...store.connection, dialect: store.dialect };
}

export async function findRun(
  store: Store,
  idOrPrefix: string,
): Promise<Run | undefined | { ambiguous: readonly string[] }> {
  const select = `SELECT ${columnList(RUN, "r")} FROM "runs" AS r WHERE`;
  const exact = await store.connection.get(`${select} r."id" = ?`, [idOrPrefix]);
  if (exact) return decodeRun(exact);
  if (idOrPrefix.length < MIN_PREFIX) return undefined;
  const rows = await store.connection.all(
    `${select} r."id" >= ? AND r."id" < ? ORDER BY r."id" DESC LIMIT ?`,
    [idOrPrefix, idOrPrefix + PREFIX_END, MAX_CANDIDATES],
  );
  const [first, second] = rows;
  if (second) return { ambiguous: rows.map((row) => String(row.id)) };
  return first && decodeRun(first);
}

export async function findDelivery(store: Store, idOrPrefix: string): Promise<Delivery | undefined> {
  const end = idOrPrefix.length < MIN_PREFIX ? idOrPrefix : idOrPrefix + PREFIX_END;
  const rows = await store.connection.all(
    `SELECT ${columnList(DELIVERY, "d")} FROM "deliveries" AS d WHERE d."id" = ? OR (d."id" >= ? AND d."id" < ?) ORDER BY d."id" LIMIT 2`,
    [idOrPrefix, idOrPrefix, end],
  );
  const [first, second] = rows.map((row) => decode<Delivery>(DELIVERY, row));
  return second && first?.id !== idOrPrefix ? undefined : first;
}

export async function attempts(store: Store, dedupeKey: string): Promise<readonly Run[]> {
  const rows = await store.connection.all(
    `SELECT ${columnList(RUN, "r")} FROM "runs" AS r WHERE r."dedupeKey" = ? ORDER BY r."attempt"`,
    [dedupeKey],
  );
  return rows.map(decodeRun);
}

/** Parents before children: a child is born after its parent, and ids sort by birth. */
export async function tree(store: Store, rootId: string): Promise<readonly Run[]> {
  const rows = await store.connection.all(
    `SELECT ${columnList(RUN, "r")} FROM "runs" AS r WHERE r."id" = ? OR (r."rootId" = ? AND r."parentId" IS NOT NULL) ORDER BY r."createdAt", r."id"`,
    [rootId, rootId],
  );
  return rows.map(decodeRun);
}

const JOB: Columns = { jobId: "text" };

export async function lastRuns(store: Store, jobIds: readonly string[]): Promise<ReadonlyMap<string, Run>> {
  const rows = await store.connection.all(
    `SELECT ${columnList(RUN, "r")} FROM ${store.dialect.rows("x", JOB)} JOIN "runs" AS r ON r."id" =
       (SELECT l."id" FROM "runs" AS l WHERE l."jobId" = x."jobId" AND (l."startedAt" IS NOT NULL OR l."finishedAt" IS NOT NULL) ORDER BY l."id" DESC LIMIT 1)`,
    [
      store.dialect.encodeRows(
        JOB,
        jobIds.map((jobId) => ({ jobId })),
      ),
    ],
  );
  return new Map(rows.map(decodeRun).map((run) => [run.jobId ?? "", run]));
}

export async function processes(store: Store, runId: string): Promise<readonly ProcessRecord[]> {
  const rows = await store.connection.all(
    `SELECT ${columnList(PROCESS, "p")} FROM "processes" AS p WHERE p."runId" = ? ORDER BY p."startedAt", p."id"`,
    [runId],
  );
  return rows.map((row) => decode<ProcessRecord>(PROCESS, row));
}

export async function counts(store: Store, now: Instant): Promise<LedgerCounts> {
  // Two index scans; together they are the whole table.
  const runs = await store.connection.all(
    `SELECT "state", count(*) AS "count" FROM "runs" WHERE "finishedAt" IS NOT NULL GROUP BY "state"
     UNION ALL SELECT "state", count(*) FROM "runs" WHERE ${isOpen(`"runs"`)} GROUP BY "state"`,
  );
  const deliveries = await store.connection.all(
    `SELECT "state", count(*) AS "count" FROM "deliveries" GROUP BY "state"`,
  );
  const overdue = await store.connection.all(
    `SELECT "jobId", "dueAt" FROM "cursors" WHERE "dueAt" IS NOT NULL AND "dueAt" < ? ORDER BY "dueAt"`,
    [now],
  );
  return {
    runs: Object.fromEntries(runs.map((row) => [row.state as RunState, Number(row.count)])),
    deliveries: Object.fromEntries(deliveries.map((row) => [String(row.state), Number(row.count)])),
    overdueJobs: overdue.map((row) => ({ jobId: String(row.jobId), dueAt: Number(row.dueAt) })),
  };
}

const FILES: Columns = { file: "text" };

export async function knownOutputFiles(store: Store, files: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await store.connection.all(
    `SELECT DISTINCT r."outputFile" AS "file" FROM ${store.dialect.rows("x", FILES)} JOIN "runs" AS r ON r."outputFile" = x."file"`,
    [
      store.dialect.encodeRows(
        FILES,
        files.map((file) => ({ file })),
      ),
    ],
  );
  return new Set(rows.map((row) => String(row.file)));
}

export async function job(store: Store, jobId: string): Promise<JobView | undefined> {
  return readView(reader(store), jobId);
}

export async function jobs(
  store: Store,
  options: { after?: string; limit?: number; includeRemoved?: boolean } = {},
): Promise<readonly JobView[]> {
  const { after = "", limit = Number.MAX_SAFE_INTEGER, includeRemoved = false } = options;
  const removed = includeRemoved ? "" : `AND c."removedAt" IS NULL `;
  return readViews(reader(store), `WHERE c."jobId" > ? ${removed}ORDER BY c."jobId" LIMIT ?`, [after, limit]);
}

export async function definition(store: Store, jobId: string): Promise<Definition | undefined> {
  const row = await store.connection.get(
    `SELECT ${columnList(DEFINITION, "d")} FROM "cursors" AS c JOIN "definitions" AS d ON d."jobId" = c."jobId" AND d."version" = c."version"
     WHERE c."jobId" = ? AND c."removedAt" IS NULL`,
    [jobId],
  );
  return row && decodeDefinition(row);
}

export async function definitions(store: Store, jobId: string) {
  const rows = await store.connection.all(
    `SELECT ${columnList(DEFINITION, "d")} FROM "definitions" AS d WHERE d."jobId" = ? ORDER BY d."version"`,
    [jobId],
  );
  return rows.map(decodeDefinition);
}

export async function auditView(
  store: Store,
  jobId: string,
  { since, until }: { since: Instant; until: Instant },
): Promise<AuditView | undefined> {
  // The cursor first: rows of slots decided later than this are only more than needed, never fewer.
  const view = await job(store, jobId);
  if (!view) return undefined;
  const all = store.connection.all;
  const suspensions = await all(
    `SELECT ${columnList(SUSPENSION, "s")} FROM "suspensions" AS s WHERE s."jobId" = ? ORDER BY s."from"`,
    [jobId],
  );
  const rows = await all(
    `SELECT "id", "slot", "slotTo", "slotCount", "isCountAtLeast", "state", "startedAt" FROM "runs"
     WHERE "jobId" = ? AND "attempt" = 1 AND "slot" IS NOT NULL AND COALESCE("slotTo", "slot") >= ?
       AND ("slot" <= ? OR "startedAt" < "slot" OR "id" IN (SELECT "runId" FROM "resolutions" WHERE "as" = 'early')) ORDER BY "slot"`,
    [jobId, since, until],
  );
  const summaries = await all(
    `SELECT "from", "to", "counts" FROM "slotSummaries" WHERE "jobId" = ? AND "from" <= ? AND "to" >= ? ORDER BY "from"`,
    [jobId, until, since],
  );
  const early = await all(
    `SELECT DISTINCT e."runId" FROM "resolutions" AS e JOIN "runs" AS r ON r."id" = e."runId" WHERE r."jobId" = ? AND e."as" = 'early'`,
    [jobId],
  );
  return {
    jobId,
    definitions: await definitions(store, jobId),
    suspensions: suspensions.map((row) => decode<Suspension>(SUSPENSION, row)),
    cursor: view.cursor,
    rows: rows.map(({ id, ...row }) => decode<AuditRow>(AUDIT_ROW, { ...row, runId: id })),
    summaries: summaries.map((row) => decode<Summary>(SUMMARY, row)),
    early: early.map((row) => String(row.runId)),
  };
}

const AUDIT_ROW = {
  runId: "text",
  slot: "int",
  slotTo: "int",
  slotCount: "int",
  isCountAtLeast: "bool",
  state: "text",
  startedAt: "int",
} as const satisfies Record<keyof AuditRow, string>;

const SUMMARY = {
  from: "int",
  to: "int",
  counts: "json",
} as const satisfies Record<keyof Summary, string>;
