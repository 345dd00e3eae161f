// The door to the ledger: opens a store by its address, brings it up to date, and hands out the port.

import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { Fault, isFault } from "../../kernel/errors.ts";
import { makeId, type Random } from "../../kernel/ids.ts";
import type { Clock } from "../../kernel/time.ts";
import type { BackgroundLedger } from "../../records/ledger/background.ts";
import type { ChatLedger } from "../../records/ledger/chats.ts";
import type { IncidentLedger } from "../../records/ledger/incidents.ts";
import type { Ledger } from "../../records/ledger/index.ts";
import type { MetricsLedger } from "../../records/ledger/metrics.ts";
import type { OutboxLedger } from "../../records/ledger/outbox.ts";
import type { RolloutLedger } from "../../records/ledger/rollouts.ts";
import type { TriggerLedger } from "../../records/ledger/triggers.ts";
import type { WorkflowLedger } from "../../records/ledger/workflows.ts";
import type { HostIdentity } from "../../records/process.ts";
import { backgroundPart } from "./background.ts";
import * as budgets from "./budgets.ts";
import { changeJob } from "./change-job.ts";
import { chatPart } from "./chats.ts";
import * as claims from "./claims.ts";
import { closeRuns } from "./close-runs.ts";
import type { Connection } from "./connection.ts";
import { DIALECTS } from "./dialect.ts";
import { alignEventOffset, appendEvents, lastSequence, readEvents } from "./events.ts";
import { incidentPart } from "./incidents.ts";
import { listRuns } from "./lists.ts";
import { metricsPart } from "./metrics.ts";
import { migrate } from "./migrate.ts";
import { countModelCalls, modelCallSums } from "./model-calls.ts";
import { refuseNetworkFileSystem } from "./network-file-system.ts";
import { nodes, registerNode, updateNode } from "./nodes.ts";
import { outboxPart } from "./outbox.ts";
import { pass } from "./pass.ts";
import { prune } from "./prune.ts";
import * as reading from "./reading.ts";
import { newestRecordAt } from "./record-clock.ts";
import { rewind } from "./rewind.ts";
import { rolloutPart } from "./rollouts.ts";
import type { SqliteDriverName } from "./sqlite-driver.ts";
import { insertProcesses, startRuns } from "./start-runs.ts";
import { bindStore, databaseNow, type Store, write } from "./store.ts";
import { takeOver } from "./take-over.ts";
import { triggerPart } from "./triggers.ts";
import { openSocketWakes, type Wakes } from "./wake-sockets.ts";
import { workflowPart } from "./workflows.ts";

export interface LedgerOptions {
  /** `sqlite:<path>` (its folder is made, 0700; the file 0600) or `postgres://…`. */
  url: string;
  clock: Clock;
  random: Random;
  /** Whose boot the leases on SQLite count with (L4). */
  host: HostIdentity;
  /** Where processes of one home keep their wake sockets. Default: none, changes are noticed within a second. */
  runFolder?: string;
  /** Default: `node:sqlite` where Node has it, else `libsql`. */
  driver?: SqliteDriverName;
}

/** How often a start meets another process's migration before it gives up; each try waits up to 50 ms inside. */
const MIGRATION_TRIES = 200;

/**
 * Opens the ledger and migrates it. The caller closes it.
 * Faults: `store.newer`, `store.corrupt`, `store.network-file-system`, `store.unavailable`, `store.full`, `store.busy`,
 * and `input.invalid` for an address of no known kind.
 */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const connection = await openConnection(options);
  try {
    await migratePatiently(connection);
    const elsewhere = await openWakes(options, connection);
    const wakes = withOwnListeners(elsewhere);
    const { clock, random, host } = options;
    const dialect = DIALECTS[connection.engine];
    const { wakeOthers: wake, wakeOwn } = wakes;
    const wakeOthers = () => elsewhere.wakeOthers();
    const store: Store = { connection, dialect, clock, random, host, wake, wakeOwn, wakeOthers };
    await alignEventOffset(store);
    return bindStore(makeLedger(store, wakes), store);
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** The path in a `sqlite:` address; undefined for another engine. */
export function sqlitePath(url: string): string | undefined {
  return url.startsWith("sqlite:") ? url.slice("sqlite:".length) : undefined;
}

async function openConnection({ url, driver }: LedgerOptions): Promise<Connection> {
  const path = sqlitePath(url);
  if (path) {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await refuseNetworkFileSystem(dirname(path));
    return (await import("./sqlite-connection.ts")).openSqlite(path, driver);
  }
  if (/^postgres(ql)?:\/\//.test(url)) return (await import("./postgres-connection.ts")).openPostgres(url);
  throw new Fault("input.invalid", "the store's address is neither `sqlite:<path>` nor `postgres://…`", {
    hint: "Set NIGHTSHIFT_STORE to a postgres:// address, or leave it out.",
  });
}

/** A start that meets another process's migration waits for it instead of failing. */
async function migratePatiently(connection: Connection): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await migrate(connection);
    } catch (error) {
      const isBusy = isFault(error) && error.code === "store.busy";
      if (!isBusy || attempt >= MIGRATION_TRIES) throw error;
    }
  }
}

async function openWakes({ url, random, clock, runFolder }: LedgerOptions, connection: Connection) {
  // The random half: two processes started in one millisecond differ.
  const name = makeId(clock.now(), random).slice(-12);
  if (connection.engine === "sqlite") return openSocketWakes({ connection, folder: runFolder, name });
  return (await import("./wake-notify.ts")).openNotifyWakes({ connection, url, name });
}

/** A surface and a node in one process share this ledger: they must hear of each other's changes too (L11). */
function withOwnListeners(wakes: Wakes): Wakes & { wakeOwn(): void } {
  const own = new Set<() => void>();
  const wakeOwn = () => {
    for (const listener of [...own]) listener();
  };
  return {
    onChange(listener) {
      own.add(listener);
      const unsubscribe = wakes.onChange(listener);
      return () => {
        own.delete(listener);
        unsubscribe();
      };
    },
    async wakeOthers() {
      wakeOwn();
      await wakes.wakeOthers();
    },
    wakeOwn,
    close: () => wakes.close(),
  };
}

function makeLedger(store: Store, wakes: Wakes): Ledger {
  return {
    engine: store.dialect.engine,
    now: async () =>
      store.dialect.engine === "postgres" ? databaseNow(store.connection) : store.clock.now(),
    onChange: wakes.onChange,
    wakeOthers: wakes.wakeOthers,
    async close() {
      await wakes.close();
      await store.connection.close();
    },
    ...slotPart(store),
    ...claimPart(store),
    ...outboxPart(store),
    ...readingPart(store),
    ...spendingPart(store),
    ...backgroundPart(store),
    ...incidentPart(store),
    ...triggerPart(store),
    ...chatPart(store),
    ...workflowPart(store),
    ...rolloutPart(store),
    ...metricsPart(store),
  };
}

type Part<Name extends keyof Ledger> = Pick<Ledger, Name>;

function slotPart(
  store: Store,
): Part<
  | "pass"
  | "changeJob"
  | "rewind"
  | "newestRecordAt"
  | "job"
  | "definition"
  | "jobs"
  | "definitions"
  | "auditView"
  | "appendEvents"
> {
  return {
    pass: (request) => pass(store, request),
    changeJob: (request) => changeJob(store, request),
    rewind: (now, rules) => rewind(store, now, rules),
    newestRecordAt: () => newestRecordAt(store),
    job: (jobId) => reading.job(store, jobId),
    definition: (jobId) => reading.definition(store, jobId),
    jobs: (options) => reading.jobs(store, options),
    definitions: (jobId) => reading.definitions(store, jobId),
    auditView: (jobId, window) => reading.auditView(store, jobId, window),
    appendEvents: (events) => write(store, (tx) => appendEvents(tx, events)),
  };
}

function claimPart(
  store: Store,
): Part<
  | "enqueue"
  | "startRuns"
  | "renewClaims"
  | "closeRuns"
  | "releaseClaims"
  | "takeOver"
  | "requestCancel"
  | "cancelRequests"
  | "recordProcesses"
  | "resolve"
  | "resolutions"
> {
  return {
    enqueue: (runs) => claims.enqueue(store, runs),
    startRuns: (starts) => startRuns(store, starts),
    renewClaims: (held, leaseMs) => claims.renewClaims(store, held, leaseMs),
    closeRuns: (closings) => closeRuns(store, closings),
    releaseClaims: (held) => claims.releaseClaims(store, held),
    takeOver: (request) => takeOver(store, request),
    requestCancel: (runId, by, now) => claims.requestCancel(store, { runId, by, now }),
    cancelRequests: (nodeId) => claims.cancelRequests(store, nodeId),
    recordProcesses: (records) => write(store, (tx) => insertProcesses(tx, records)),
    resolve: (resolution) => claims.resolve(store, resolution),
    resolutions: (runId) => claims.resolutions(store, runId),
  };
}

function spendingPart(
  store: Store,
): Part<"openBudget" | "reserve" | "settle" | "budget" | "countModelCalls" | "modelCallSums"> {
  return {
    openBudget: (rootId, limits) => budgets.openBudget(store, rootId, limits),
    reserve: (reservation) => budgets.reserve(store, reservation),
    settle: (reservation, spent) => budgets.settle(store, reservation, spent),
    budget: (rootId) => budgets.budget(store, rootId),
    countModelCalls: (sums) => countModelCalls(store, sums),
    modelCallSums: (filter) => modelCallSums(store, filter),
  };
}

function readingPart(
  store: Store,
): Omit<
  Ledger,
  | keyof ReturnType<typeof slotPart>
  | keyof ReturnType<typeof claimPart>
  | keyof OutboxLedger
  | keyof ReturnType<typeof spendingPart>
  | keyof BackgroundLedger
  | keyof IncidentLedger
  | keyof TriggerLedger
  | keyof ChatLedger
  | keyof WorkflowLedger
  | keyof RolloutLedger
  | keyof MetricsLedger
  | "engine"
  | "now"
  | "onChange"
  | "wakeOthers"
  | "close"
> {
  return {
    run: (idOrPrefix) => reading.findRun(store, idOrPrefix),
    runs: (filter) => listRuns(store, filter),
    attempts: (dedupeKey) => reading.attempts(store, dedupeKey),
    tree: (rootId) => reading.tree(store, rootId),
    lastRuns: (jobIds) => reading.lastRuns(store, jobIds),
    events: (filter) => readEvents(store, filter),
    lastSequence: () => lastSequence(store),
    processes: (runId) => reading.processes(store, runId),
    counts: (now) => reading.counts(store, now),
    prune: (options) => prune(store, options),
    knownOutputFiles: (files) => reading.knownOutputFiles(store, files),
    registerNode: (node) => registerNode(store, node),
    updateNode: (id, changes) => updateNode(store, id, changes),
    nodes: () => nodes(store),
  };
}
