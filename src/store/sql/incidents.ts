// Incidents in the ledger: read and written where runs end, listed, acknowledged, and told of when they were held back.
//
// I1. A job's incidents change only under the lock of its cursor, or by one compare-and-set statement.

import { HOUR, type Instant } from "../../kernel/time.ts";
import type { Incident, IncidentFacts } from "../../records/incident.ts";
import type { DueNews, IncidentFilter, IncidentLedger } from "../../records/ledger/incidents.ts";
import { columnList, decode, INCIDENT } from "./codecs.ts";
import type { Columns } from "./columns.ts";
import type { Row, SqlValue } from "./connection.ts";
import { insertDeliveries } from "./outbox-rows.ts";
import { reader } from "./reading.ts";
import { type Store, type Transaction, write } from "./store.ts";
import { definitionKey, readDefinitions } from "./views.ts";

const MOST_LISTED = 50;
/** Of one job, newest first: more open ones there never are (deliver/incidents.ts), and old resolved ones say nothing. */
const MOST_OF_JOB = 100;
/** Sorts behind every character of an id. */
const PREFIX_END = "\u{10ffff}";

const JOB_ID: Columns = { jobId: "text" };
const INCIDENT_ID: Columns = { incidentId: "text" };

const decodeIncident = (row: Row) => decode<Incident>(INCIDENT, row);

/** The port's part over a store. */
export function incidentPart(store: Store): IncidentLedger {
  return {
    incidents: (filter) => incidents(store, filter),
    incident: (idOrPrefix) => incident(store, idOrPrefix),
    acknowledgeIncident: (id, acknowledgement) => acknowledgeIncident(store, id, acknowledgement),
    tellIncidents: (request) => tellIncidents(store, request),
    nextNewsAt: () => nextNewsAt(store),
    forgetIncidents: (request) => forgetIncidents(store, request),
  };
}

/** What a closing needs of these jobs, whose cursors are locked (I1). */
export async function readIncidentFacts(
  tx: Transaction,
  jobIds: readonly string[],
  now: Instant,
): Promise<{ ofJob: Map<string, Incident[]>; toldLately: IncidentFacts["toldLately"] }> {
  const keys = tx.dialect.encodeRows(
    JOB_ID,
    jobIds.map((jobId) => ({ jobId })),
  );
  const rows = await tx.all(
    `SELECT ${columnList(INCIDENT, "i")} FROM ${tx.dialect.rows("x", JOB_ID)} JOIN "incidents" AS i ON i."id" IN
       (SELECT n."id" FROM "incidents" AS n WHERE n."jobId" = x."jobId" ORDER BY n."lastAt" DESC LIMIT ${MOST_OF_JOB})`,
    [keys],
  );
  const told = await tx.get(
    `SELECT count(*) AS "count", min("toldAt") AS "firstAt" FROM "incidents" WHERE "toldAt" > ?`,
    [now - HOUR],
  );
  const ofJob = new Map<string, Incident[]>(jobIds.map((jobId) => [jobId, []]));
  for (const one of rows.map(decodeIncident)) ofJob.get(one.jobId)?.push(one);
  const firstAt = typeof told?.firstAt === "number" ? told.firstAt : undefined;
  return { ofJob, toldLately: { count: Number(told?.count ?? 0), firstAt } };
}

/** Writes whole rows, new or known. */
export async function writeIncidents(tx: Transaction, changed: readonly Incident[]): Promise<void> {
  if (changed.length === 0) return;
  // The last word on each: one batch may hold several endings of a job.
  const rows = [...new Map(changed.map((one) => [one.id, one])).values()];
  const names = Object.keys(INCIDENT);
  const updates = names.filter((name) => !["id", "jobId", "cause"].includes(name));
  await tx.run(
    `INSERT INTO "incidents" (${names.map((name) => `"${name}"`).join(", ")}) SELECT ${columnList(INCIDENT, "x")} FROM ${tx.dialect.rows("x", INCIDENT)} WHERE true
     ON CONFLICT ("id") DO UPDATE SET ${updates.map((name) => `"${name}" = excluded."${name}"`).join(", ")}`,
    [tx.dialect.encodeRows(INCIDENT, rows)],
  );
}

/** A job that is gone has nothing left that could recover. */
export async function resolveOfRemovedJob(tx: Transaction, jobId: string, now: Instant): Promise<void> {
  await tx.run(
    `UPDATE "incidents" SET "state" = 'resolved', "resolvedAt" = ?, "resolvedBy" = 'removed', "tellAt" = NULL WHERE "jobId" = ? AND "state" <> 'resolved'`,
    [now, jobId],
  );
}

async function incidents(store: Store, filter: IncidentFilter): Promise<readonly Incident[]> {
  const { state, jobId, before, limit = MOST_LISTED } = filter;
  const wheres = ["true"];
  const params: SqlValue[] = [];
  if (state) {
    wheres.push(`i."state" IN (${state.map(() => "?").join(", ")})`);
    params.push(...state);
  }
  if (jobId !== undefined) {
    wheres.push(`i."jobId" = ?`);
    params.push(jobId);
  }
  if (before !== undefined) {
    wheres.push(`(i."lastAt", i."id") < (SELECT b."lastAt", b."id" FROM "incidents" AS b WHERE b."id" = ?)`);
    params.push(before);
  }
  const rows = await store.connection.all(
    `SELECT ${columnList(INCIDENT, "i")} FROM "incidents" AS i WHERE ${wheres.join(" AND ")} ORDER BY i."lastAt" DESC, i."id" DESC LIMIT ?`,
    [...params, limit],
  );
  return rows.map(decodeIncident);
}

async function incident(store: Store, idOrPrefix: string): Promise<Incident | undefined> {
  if (idOrPrefix === "") return undefined;
  const rows = await store.connection.all(
    `SELECT ${columnList(INCIDENT, "i")} FROM "incidents" AS i WHERE i."id" >= ? AND i."id" < ? ORDER BY i."id" LIMIT 2`,
    [idOrPrefix, idOrPrefix + PREFIX_END],
  );
  const [first, second] = rows.map(decodeIncident);
  return second && first?.id !== idOrPrefix ? undefined : first;
}

async function acknowledgeIncident(
  store: Store,
  id: string,
  { by, note, at }: { by: string; note: string | undefined; at: Instant },
): Promise<Incident | undefined> {
  return write(store, async (tx) => {
    const row = await tx.get(
      `UPDATE "incidents" SET "state" = 'acknowledged', "acknowledgedBy" = ?, "acknowledgedAt" = ?, "note" = ?, "told" = 'failing', "tellAt" = NULL
       WHERE "id" = ? AND "state" = 'open' RETURNING ${columnList(INCIDENT, `"incidents"`)}`,
      [by, at, note ?? null, id],
    );
    if (!row) return undefined;
    const acknowledged = decodeIncident(row);
    const { jobId } = acknowledged;
    tx.emit({ runId: undefined, jobId, at, kind: "incident-acknowledged", data: { incidentId: id, by } });
    return acknowledged;
  });
}

async function tellIncidents(
  store: Store,
  { now, limit, tell }: Parameters<IncidentLedger["tellIncidents"]>[0],
): Promise<number> {
  const count = await write(store, async (tx) => {
    const rows = await tx.all(
      `SELECT ${columnList(INCIDENT, "i")} FROM "incidents" AS i WHERE i."tellAt" <= ? ORDER BY i."lastAt" LIMIT ?${tx.dialect.skipLocked("i")}`,
      [now, limit],
    );
    if (rows.length === 0) return 0;
    const due = await withDefinitions(tx, rows.map(decodeIncident));
    await insertDeliveries(tx, tell(due), now);
    await tx.run(
      `UPDATE "incidents" SET "told" = CASE WHEN "state" = 'resolved' THEN 'working' ELSE 'failing' END, "toldAt" = ?,
         "alertedAt" = CASE WHEN "state" = 'resolved' THEN "alertedAt" ELSE CAST(? AS BIGINT) END, "tellAt" = NULL
       WHERE "id" IN (SELECT x."incidentId" FROM ${tx.dialect.rows("x", INCIDENT_ID)})`,
      [
        now,
        now,
        tx.dialect.encodeRows(
          INCIDENT_ID,
          due.map((one) => ({ incidentId: one.incident.id })),
        ),
      ],
    );
    return due.length;
  });
  if (count > 0) await store.wake();
  return count;
}

async function withDefinitions(tx: Transaction, due: readonly Incident[]): Promise<DueNews[]> {
  const keys = tx.dialect.encodeRows(
    JOB_ID,
    [...new Set(due.map(({ jobId }) => jobId))].map((jobId) => ({ jobId })),
  );
  const cursors = await tx.all(
    `SELECT c."jobId", c."version" FROM ${tx.dialect.rows("x", JOB_ID)} JOIN "cursors" AS c ON c."jobId" = x."jobId" WHERE c."removedAt" IS NULL`,
    [keys],
  );
  const versions = new Map(cursors.map((row) => [String(row.jobId), Number(row.version)]));
  const definitions = await readDefinitions(
    tx,
    cursors.map((row) => ({ jobId: String(row.jobId), version: Number(row.version) })),
  );
  return due.map((one) => ({
    incident: one,
    definition: definitions.get(definitionKey(one.jobId, versions.get(one.jobId) ?? -1)),
  }));
}

async function nextNewsAt(store: Store): Promise<Instant | undefined> {
  const row = await reader(store).get(
    `SELECT min("tellAt") AS "at" FROM "incidents" WHERE "tellAt" IS NOT NULL`,
  );
  return typeof row?.at === "number" ? row.at : undefined;
}

async function forgetIncidents(
  store: Store,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return store.connection.run(
    `DELETE FROM "incidents" WHERE "id" IN (SELECT "id" FROM "incidents" WHERE "state" = 'resolved' AND "lastAt" < ? AND "resolvedAt" < ? AND "tellAt" IS NULL ORDER BY "lastAt" LIMIT ?)`,
    [before, before, limit],
  );
}
