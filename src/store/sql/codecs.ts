// Rows and records: which column holds what, written once; `decode` does the rest for both engines.

import type { BackgroundRecord } from "../../records/background.ts";
import type { Cursor, Definition, Suspension } from "../../records/definition.ts";
import type { Delivery } from "../../records/delivery.ts";
import type { Incident } from "../../records/incident.ts";
import type { NodeRecord } from "../../records/node.ts";
import type { ProcessRecord } from "../../records/process.ts";
import type { Rollout } from "../../records/rollout.ts";
import type { Resolution, Run } from "../../records/run.ts";
import type { TriggerEvent } from "../../records/trigger.ts";
import type { ColumnKind, Columns } from "./columns.ts";
import type { Row } from "./connection.ts";

type ColumnsOf<Noun> = Readonly<Record<keyof Noun & string, ColumnKind>>;

export const RUN = {
  id: "text",
  dedupeKey: "text",
  attempt: "int",
  kind: "text",
  jobId: "text",
  version: "int",
  parentId: "text",
  rootId: "text",
  slot: "int",
  slotTo: "int",
  slotCount: "int",
  isCountAtLeast: "bool",
  trigger: "text",
  state: "text",
  reason: "text",
  effects: "text",
  isExclusive: "bool",
  idempotencyKey: "text",
  readyAt: "int",
  startBy: "int",
  owner: "text",
  token: "int",
  leaseUntil: "int",
  createdAt: "int",
  startedAt: "int",
  finishedAt: "int",
  lastActivityAt: "int",
  cancelRequestedAt: "int",
  cancelledBy: "text",
  outcome: "json",
  usage: "json",
  outputFile: "text",
  scriptSha256: "text",
  isSuspect: "bool",
  input: "text",
  eventId: "text",
  queue: "text",
  admission: "json",
} as const satisfies ColumnsOf<Run>;

export const DEFINITION = {
  jobId: "text",
  version: "int",
  digest: "text",
  document: "text",
  zone: "text",
  anchor: "int",
  source: "text",
  inForceFrom: "int",
  inForceTo: "int",
  endedBy: "text",
} as const satisfies ColumnsOf<Definition>;

export const SUSPENSION = {
  jobId: "text",
  kind: "text",
  from: "int",
  to: "int",
  by: "text",
  reason: "text",
  until: "int",
} as const satisfies ColumnsOf<Suspension>;

export const DELIVERY = {
  id: "text",
  key: "text",
  runId: "text",
  jobId: "text",
  kind: "text",
  target: "json",
  part: "int",
  body: "text",
  media: "json",
  repeatability: "text",
  state: "text",
  attempts: "int",
  sequence: "int",
  createdAt: "int",
  nextAttemptAt: "int",
  finishedAt: "int",
  receipt: "json",
  error: "text",
  owner: "text",
  token: "int",
} as const satisfies ColumnsOf<Delivery>;

export const PROCESS = {
  id: "text",
  runId: "text",
  hostId: "text",
  pid: "int",
  startTime: "text",
  processGroup: "int",
  command: "text",
  cwd: "text",
  startedAt: "int",
  endedAt: "int",
  exitCode: "int",
} as const satisfies ColumnsOf<ProcessRecord>;

export const BACKGROUND = {
  id: "text",
  ownerRunId: "text",
  session: "text",
  environment: "text",
  command: "text",
  cwd: "text",
  hostId: "text",
  machineId: "text",
  bootId: "text",
  pid: "int",
  startTime: "text",
  processGroup: "int",
  holderPid: "int",
  holderStartTime: "text",
  isSupervised: "bool",
  persist: "bool",
  state: "text",
  exitCode: "int",
  startedAt: "int",
  endedAt: "int",
  outputBytes: "int",
  logFile: "text",
  notify: "json",
  progress: "text",
  consumedAt: "int",
  noticedAt: "int",
  killRequestedAt: "int",
} as const satisfies ColumnsOf<BackgroundRecord>;

export const NODE = {
  id: "text",
  name: "text",
  hostId: "text",
  bootId: "text",
  pid: "int",
  startTime: "text",
  version: "text",
  startedAt: "int",
  lastSeenAt: "int",
  lastPassAt: "int",
  clockOffsetMs: "int",
  stoppingAt: "int",
  stoppedAt: "int",
  maxParallelRuns: "int",
  liveRuns: "int",
  url: "text",
  lastError: "text",
  resources: "json",
  remotes: "json",
  memory: "json",
} as const satisfies ColumnsOf<NodeRecord>;

export const INCIDENT = {
  id: "text",
  jobId: "text",
  cause: "text",
  state: "text",
  openings: "int",
  failures: "int",
  error: "text",
  firstAt: "int",
  openedAt: "int",
  lastAt: "int",
  lastRunId: "text",
  told: "text",
  toldAt: "int",
  alertedAt: "int",
  tellAt: "int",
  acknowledgedBy: "text",
  acknowledgedAt: "int",
  note: "text",
  resolvedAt: "int",
  resolvedBy: "text",
} as const satisfies ColumnsOf<Incident>;

export const TRIGGER_EVENT = {
  id: "text",
  key: "text",
  kind: "text",
  name: "text",
  receivedAt: "int",
  contentType: "text",
  headers: "json",
  data: "text",
  digest: "text",
} as const satisfies ColumnsOf<TriggerEvent>;

export const ROLLOUT = {
  executor: "text",
  revision: "int",
  version: "text",
  baseline: "text",
  traffic: "int",
  state: "text",
  bounds: "json",
  startedAt: "int",
  startedBy: "text",
  changedAt: "int",
  changedBy: "text",
  reason: "text",
} as const satisfies ColumnsOf<Rollout>;

export const RESOLUTION = {
  runId: "text",
  as: "text",
  by: "text",
  note: "text",
  at: "int",
} as const satisfies ColumnsOf<Resolution>;

/** `"a"."x", "a"."y"` … of a table or alias. */
export function columnList(columns: Columns, of: string): string {
  return Object.keys(columns)
    .map((name) => `${of}."${name}"`)
    .join(", ");
}

/** The record in a row: NULL is undefined. The one place where a row is believed to have the form we wrote. */
export function decode<Noun>(columns: ColumnsOf<Noun>, row: Row): Noun {
  const kinds: Columns = columns;
  const record: Row = {};
  for (const name in kinds) record[name] = decodeValue(kinds[name], row[name]);
  return record as Noun;
}

function decodeValue(kind: ColumnKind | undefined, value: unknown): unknown {
  if (kind === "bool") return value === 1;
  if (value === null || value === undefined) return undefined;
  return kind === "json" ? JSON.parse(String(value)) : value;
}

export function decodeRun(row: Row): Run {
  return decode<Run>(RUN, row);
}

export function decodeDefinition(row: Row): Definition {
  return decode<Definition>(DEFINITION, row);
}

/** A cursor's row with the suspensions that are open. */
export function decodeCursor(row: Row, suspensions: readonly Suspension[]): Cursor {
  const optional = (value: unknown) => (value === null ? undefined : Number(value));
  return {
    jobId: String(row.jobId),
    version: Number(row.version),
    revision: Number(row.revision),
    nextSlot: optional(row.nextSlot),
    dueAt: optional(row.dueAt),
    startedSlots: Number(row.startedSlots),
    streak: {
      failures: Number(row.failures),
      cause: row.cause === null ? undefined : String(row.cause),
      isAlerted: row.isAlerted === 1,
    },
    strikes: Number(row.strikes),
    suspensions,
    removedAt: optional(row.removedAt),
  };
}
