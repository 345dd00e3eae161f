// What every operation of the ledger works with: an open database, and the world it is told about.
//
// I1. Events of a transaction are collected and written last, so that their order is the order of commits.

import { invariant } from "../../kernel/errors.ts";
import type { Random } from "../../kernel/ids.ts";
import type { Clock, Instant } from "../../kernel/time.ts";
import type { Ledger } from "../../records/ledger/index.ts";
import type { HostIdentity } from "../../records/process.ts";
import type { NewRunEvent } from "../../records/run.ts";
import type { Connection, Statements } from "./connection.ts";
import type { Dialect } from "./dialect.ts";
import { appendEvents } from "./events.ts";

export interface Store {
  readonly connection: Connection;
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly random: Random;
  readonly host: HostIdentity;
  /** Tells this process and others; never throws. */
  wake(): Promise<void>;
  /** The two halves of it. Who is told in this process reads through this connection, and so after an open transaction. */
  wakeOwn(): void;
  wakeOthers(): Promise<void>;
}

const stores = new WeakMap<object, Store>();

/** Remembers which store stands behind a ledger, for the other adapters of this room. */
export function bindStore(ledger: Ledger, store: Store): Ledger {
  stores.set(ledger, store);
  return ledger;
}

/** The store behind a ledger that `openLedger` made. */
export function storeOf(ledger: Ledger): Store {
  const store = stores.get(ledger);
  invariant(store, "the ledger was opened by openLedger");
  return store;
}

/** A write transaction under way. */
export interface Transaction extends Statements {
  readonly store: Store;
  readonly dialect: Dialect;
  emit(event: NewRunEvent): void;
}

/** Runs `work` in one write transaction with its events. For `invite`, and for `work` running again: `Connection.transaction`. */
export async function write<Result>(
  store: Store,
  work: (tx: Transaction) => Promise<Result>,
  invite?: () => void,
): Promise<Result> {
  return store.connection.transaction(async (statements) => {
    const events: NewRunEvent[] = [];
    const tx: Transaction = {
      ...statements,
      store,
      dialect: store.dialect,
      emit: (event) => void events.push(event),
    };
    const result = await work(tx);
    await appendEvents(tx, events);
    return result;
  }, invite);
}

/** Stands for a boot where the server's own clock counts. */
const DATABASE_BOOT = "database";

/** The clock that leases count on (L4): monotonic ms of one boot on SQLite, the database's clock on PostgreSQL. */
export interface LeaseClock {
  nowMs: number;
  boot: string;
  /** The wall time that belongs to `nowMs`, for people. */
  wall: Instant;
}

export async function leaseClock(store: Store, statements: Statements): Promise<LeaseClock> {
  if (store.dialect.engine === "sqlite") {
    return {
      nowMs: Math.floor(store.clock.monotonicMs()),
      boot: store.host.bootId,
      wall: store.clock.now(),
    };
  }
  const nowMs = await databaseNow(statements);
  return { nowMs, boot: DATABASE_BOOT, wall: nowMs };
}

/** The end of a lease that begins with the statement that writes it: SQL with one parameter; and its boot. */
export function newLease(
  { dialect, clock, host }: Store,
  leaseMs: number,
): { end: string; param: number; boot: string } {
  if (dialect.engine === "postgres")
    return { end: "nightshift_now() + ?", param: leaseMs, boot: DATABASE_BOOT };
  return { end: "?", param: Math.floor(clock.monotonicMs()) + leaseMs, boot: host.bootId };
}

/** PostgreSQL's clock, ms. */
export async function databaseNow(statements: Statements): Promise<Instant> {
  return Number((await statements.get(`SELECT nightshift_now() AS "now"`))?.now);
}

/** SQL: the lease of a row has run out. Parameters: boot, nowMs. */
export function leaseExpired(of: string): string {
  return `(${of}."leaseBoot" IS DISTINCT FROM ? OR ${of}."leaseEnd" <= ?)`;
}
