// Filtered pages, newest first (U1). The only place with optional conditions, so the only one that builds its SQL:
// with Kysely, loaded on first use and used as a compiler, since its quoting and `?` suit both engines.
//
// I1. A page of a million rows is read through an index: by job, or state by state.

import type { Kysely, RawBuilder } from "kysely";
import { makeId } from "../../kernel/ids.ts";
import { DAY, type Instant } from "../../kernel/time.ts";
import type { Delivery } from "../../records/delivery.ts";
import type { DeliveryFilter } from "../../records/ledger/outbox.ts";
import type { RunFilter } from "../../records/ledger/reading.ts";
import { isTerminal, type Run, type RunState } from "../../records/run.ts";
import { DELIVERY, decode, decodeRun, RUN } from "./codecs.ts";
import type { Row, SqlValue } from "./connection.ts";
import type { Store } from "./store.ts";

type Table<Noun> = { [Name in keyof Noun]: SqlValue };
interface Tables {
  runs: Table<Run>;
  deliveries: Table<Delivery>;
}

const DEFAULT_LIMIT = 50;

/** Ids begin with their birth; a clock that was off by less than this hides nothing from `since`. */
const ID_SLACK_MS = DAY;

interface Builder {
  db: Kysely<Tables>;
  /** Newest first, over rows so few that the planner must not walk the whole table in order of id to find them. */
  idUnindexed: RawBuilder<unknown>;
}

let builder: Promise<Builder> | undefined;

/** Kysely without a database behind it: it only writes SQL. */
function sqlBuilder(): Promise<Builder> {
  builder ??= import("kysely").then(
    ({ DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler, sql }) => ({
      idUnindexed: sql`"id" || ''`,
      db: new Kysely<Tables>({
        dialect: {
          createAdapter: () => new SqliteAdapter(),
          createDriver: () => new DummyDriver(),
          createIntrospector: (db) => new SqliteIntrospector(db),
          createQueryCompiler: () => new SqliteQueryCompiler(),
        },
      }),
    }),
  );
  return builder;
}

interface Compilable {
  compile(): { sql: string; parameters: readonly unknown[] };
}

async function fetch(store: Store, query: Compilable): Promise<Row[]> {
  const { sql, parameters } = query.compile();
  return store.connection.all(sql, parameters as SqlValue[]);
}

/** Merges pages that are each newest first. */
function merge<Noun extends { id: string }>(pages: readonly (readonly Noun[])[], limit: number): Noun[] {
  return pages
    .flat()
    .sort((a, b) => (a.id < b.id ? 1 : -1))
    .slice(0, limit);
}

export async function listRuns(store: Store, filter: RunFilter): Promise<readonly Run[]> {
  const limit = filter.limit ?? DEFAULT_LIMIT;
  if (filter.jobId !== undefined || filter.state === undefined)
    return runsPage(store, { ...filter, limit }, filter.state);
  const pages: Run[][] = [];
  for (const state of new Set(filter.state)) pages.push(await runsPage(store, { ...filter, limit }, [state]));
  return merge(pages, limit);
}

async function runsPage(
  store: Store,
  filter: RunFilter & { limit: number },
  states: readonly RunState[] | undefined,
): Promise<Run[]> {
  const { db, idUnindexed } = await sqlBuilder();
  const isOnlyOpen = states !== undefined && !states.some(isTerminal);
  let query = db
    .selectFrom("runs")
    .select(Object.keys(RUN) as (keyof Run)[])
    .orderBy(isOnlyOpen && filter.jobId === undefined ? idUnindexed : "id", "desc")
    .limit(filter.limit);
  if (filter.jobId !== undefined) query = query.where("jobId", "=", filter.jobId);
  if (states) query = query.where("state", "in", [...states]);
  // Words of the partial indexes, so that the planners recognise them.
  if (states?.every(isTerminal)) query = query.where("finishedAt", "is not", null);
  else if (isOnlyOpen) query = query.where("finishedAt", "is", null);
  if (filter.before !== undefined) query = query.where("id", "<", filter.before);
  if (filter.since !== undefined)
    query = query
      .where("createdAt", ">=", filter.since)
      .where("id", ">=", firstIdAt(filter.since - ID_SLACK_MS));
  if (filter.rootsOnly) query = query.where("parentId", "is", null);
  return (await fetch(store, query)).map(decodeRun);
}

/** No id made at or after an instant sorts before this. */
function firstIdAt(instant: Instant): string {
  return makeId(Math.max(0, instant), (count) => new Uint8Array(count));
}

export async function listDeliveries(store: Store, filter: DeliveryFilter): Promise<readonly Delivery[]> {
  const limit = filter.limit ?? DEFAULT_LIMIT;
  const isIndexed = filter.runId !== undefined || filter.jobId !== undefined || filter.state === undefined;
  if (isIndexed) return deliveriesPage(store, { ...filter, limit });
  const pages: Delivery[][] = [];
  for (const state of new Set(filter.state))
    pages.push(await deliveriesPage(store, { ...filter, limit, state: [state] }));
  return merge(pages, limit);
}

/** Ids made in one millisecond have no order; of one run, whose rows are few, the order of its parts is the list's. */
async function deliveriesPage(store: Store, filter: DeliveryFilter & { limit: number }): Promise<Delivery[]> {
  const { db } = await sqlBuilder();
  const order = filter.runId === undefined ? "id" : "sequence";
  let query = db
    .selectFrom("deliveries")
    .select(Object.keys(DELIVERY) as (keyof Delivery)[])
    .orderBy(order, "desc")
    .limit(filter.limit);
  if (filter.state) query = query.where("state", "in", [...filter.state]);
  if (filter.runId !== undefined) query = query.where("runId", "=", filter.runId);
  if (filter.jobId !== undefined) query = query.where("jobId", "=", filter.jobId);
  if (filter.before !== undefined && order === "id") query = query.where("id", "<", filter.before);
  if (filter.before !== undefined && order === "sequence") {
    const last = db.selectFrom("deliveries").select("sequence").where("id", "=", filter.before);
    query = query.where("sequence", "<", last);
  }
  return (await fetch(store, query)).map((row) => decode<Delivery>(DELIVERY, row));
}
