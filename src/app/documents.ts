// The documents that every surface prints: instants as ISO texts, absent values as null, keys in camelCase (DESIGN §7).

import { formatInstant, type Instant } from "../kernel/time.ts";
import type { Cursor, Suspension, SuspensionKind } from "../records/definition.ts";
import type { Delivery } from "../records/delivery.ts";
import type { JobDocument } from "../records/job.ts";
import type { JobView } from "../records/ledger/slots.ts";
import type { NodeRecord } from "../records/node.ts";
import type { Outcome, Usage } from "../records/outcome.ts";
import { isTerminal, type Resolution, type Run, type RunEvent } from "../records/run.ts";
import { unitOf, workName } from "./run-names.ts";

const iso = (instant: Instant | undefined): string | null =>
  instant === undefined ? null : formatInstant(instant);

export interface DeliverySummary {
  id: string;
  kind: string;
  target: string;
  state: string;
  attempts: number;
  receipt: { id: string | null; status: number | null; at: string; note: string | null } | null;
  error: string | null;
  /** The file that it sends; null = a text. */
  media: { name: string; contentType: string; bytes: number; file: string } | null;
}

export interface RunDocument {
  id: string;
  dedupeKey: string;
  kind: string;
  jobId: string | null;
  parentId: string | null;
  rootId: string;
  /** What it does where it is no job's: the name of its workflow or executor. */
  work: string | null;
  /** Which task of its workflow it is, or which item of one: `cv`, `each[3]`. */
  unit: string | null;
  /** The queue it waits in, or waited in. */
  queue: string | null;
  slot: string | null;
  slotTo: string | null;
  slotCount: number;
  trigger: string;
  state: string;
  reason: string | null;
  attempt: number;
  effects: string;
  owner: string | null;
  createdAt: string;
  readyAt: string;
  startedAt: string | null;
  finishedAt: string | null;
  durationMs: number | null;
  latenessMs: number | null;
  lastActivityAt: string | null;
  cancelRequestedAt: string | null;
  outcome: Outcome | null;
  usage: Usage | null;
  outputFile: string | null;
  version: number | null;
  scriptSha256: string | null;
  resolutions: { as: string; by: string; note: string | null; at: string }[];
  deliveries: DeliverySummary[];
}

/** `run show`, `run list`: the row, its later resolutions (L1: the row itself never changes) and its deliveries. */
export function runDocument(
  run: Run,
  extra: { deliveries?: readonly Delivery[]; resolutions?: readonly Resolution[] } = {},
): RunDocument {
  return {
    id: run.id,
    dedupeKey: run.dedupeKey,
    kind: run.kind,
    jobId: run.jobId ?? null,
    parentId: run.parentId ?? null,
    rootId: run.rootId,
    work: run.jobId === undefined ? workName(run) : null,
    unit: unitOf(run) ?? null,
    queue: run.queue ?? null,
    slot: iso(run.slot),
    slotTo: iso(run.slotTo),
    slotCount: run.slotCount,
    trigger: run.trigger,
    state: run.state,
    reason: run.reason ?? null,
    attempt: run.attempt,
    effects: run.effects,
    owner: run.owner ?? null,
    createdAt: formatInstant(run.createdAt),
    readyAt: formatInstant(run.readyAt),
    startedAt: iso(run.startedAt),
    finishedAt: iso(run.finishedAt),
    durationMs:
      run.startedAt !== undefined && run.finishedAt !== undefined ? run.finishedAt - run.startedAt : null,
    latenessMs: run.startedAt === undefined ? null : run.startedAt - run.readyAt,
    lastActivityAt: iso(run.lastActivityAt),
    cancelRequestedAt: iso(run.cancelRequestedAt),
    outcome: run.outcome ?? null,
    usage: run.usage ?? null,
    outputFile: run.outputFile ?? null,
    version: run.version ?? null,
    scriptSha256: run.scriptSha256 ?? null,
    resolutions: (extra.resolutions ?? []).map(({ as, by, note, at }) => ({
      as,
      by,
      note: note ?? null,
      at: formatInstant(at),
    })),
    deliveries: (extra.deliveries ?? []).map(deliverySummary),
  };
}

function deliverySummary(delivery: Delivery): DeliverySummary {
  const { receipt } = delivery;
  return {
    id: delivery.id,
    kind: delivery.kind,
    target: delivery.target.text,
    state: delivery.state,
    attempts: delivery.attempts,
    receipt: receipt
      ? {
          id: receipt.id ?? null,
          status: receipt.status ?? null,
          at: formatInstant(receipt.at),
          note: receipt.note ?? null,
        }
      : null,
    error: delivery.error ?? null,
    media: mediaDocument(delivery),
  };
}

function mediaDocument({ media }: Delivery): DeliverySummary["media"] {
  if (!media) return null;
  const { name, contentType, bytes, file } = media;
  return { name, contentType, bytes, file };
}

export interface DeliveryDocument extends DeliverySummary {
  key: string;
  runId: string | null;
  jobId: string | null;
  part: number;
  repeatability: string;
  createdAt: string;
  nextAttemptAt: string | null;
  finishedAt: string | null;
  body: string;
}

export function deliveryDocument(delivery: Delivery): DeliveryDocument {
  return {
    ...deliverySummary(delivery),
    key: delivery.key,
    runId: delivery.runId ?? null,
    jobId: delivery.jobId ?? null,
    part: delivery.part,
    repeatability: delivery.repeatability,
    createdAt: formatInstant(delivery.createdAt),
    nextAttemptAt: delivery.state === "queued" ? formatInstant(delivery.nextAttemptAt) : null,
    finishedAt: iso(delivery.finishedAt),
    body: delivery.body,
  };
}

export interface NodeDocument {
  id: string;
  name: string;
  state: "up" | "stopping" | "stopped" | "lost";
  version: string;
  pid: number;
  hostId: string;
  url: string | null;
  startedAt: string;
  lastSeenAt: string;
  lastPassAt: string | null;
  clockOffsetMs: number;
  maxParallelRuns: number;
  liveRuns: number;
  lastError: string | null;
}

/** `lost` = neither stopped nor, as far as anyone can tell, alive. */
export function nodeDocument(node: NodeRecord, isLost: boolean): NodeDocument {
  const running = isLost ? "lost" : node.stoppingAt === undefined ? "up" : "stopping";
  return {
    id: node.id,
    name: node.name,
    state: node.stoppedAt === undefined ? running : "stopped",
    version: node.version,
    pid: node.pid,
    hostId: node.hostId,
    url: node.url ?? null,
    startedAt: formatInstant(node.startedAt),
    lastSeenAt: formatInstant(node.lastSeenAt),
    lastPassAt: iso(node.lastPassAt),
    clockOffsetMs: node.clockOffsetMs,
    maxParallelRuns: node.maxParallelRuns,
    // What its last beat said is no longer true of a node that has ended.
    liveRuns: node.stoppedAt === undefined && !isLost ? node.liveRuns : 0,
    lastError: node.lastError ?? null,
  };
}

export const JOB_STATES = [
  "scheduled",
  "paused",
  "disabled",
  "held",
  "quarantined",
  "completed",
  "removed",
] as const;

export type JobState = (typeof JOB_STATES)[number];

/** D4: what a job is doing, and why. A job without a schedule that may run by hand is `scheduled` too. */
export function jobState(
  cursor: Cursor,
  document: Pick<JobDocument, "enabled">,
): { state: JobState; stateReason: string | null } {
  const open = (kind: SuspensionKind): Suspension | undefined =>
    cursor.suspensions.find((suspension) => suspension.kind === kind && suspension.to === undefined);
  if (cursor.removedAt !== undefined) return { state: "removed", stateReason: null };
  for (const kind of ["quarantined", "paused"] as const) {
    const suspension = open(kind);
    if (suspension) return { state: kind, stateReason: reasonOf(suspension) };
  }
  if (document.enabled === false) return { state: "disabled", stateReason: "enabled: false in its document" };
  for (const kind of ["held", "completed"] as const) {
    const suspension = open(kind);
    if (suspension) return { state: kind, stateReason: reasonOf(suspension) };
  }
  return { state: "scheduled", stateReason: null };
}

function reasonOf({ reason, by, until }: Suspension): string {
  const end = until === undefined ? "" : `, until ${formatInstant(until)}`;
  return `${reason || "no reason given"} (by ${by}${end})`;
}

export type JobShowDocument = JobDocument & {
  timezone: string;
  state: JobState;
  stateReason: string | null;
  version: number;
  source: string;
  next: string | null;
  lastRun: {
    id: string;
    state: string;
    reason: string | null;
    startedAt: string | null;
    finishedAt: string | null;
  } | null;
};

/** `job … --json`: the person's document, plus what the machine knows. */
export function jobShowDocument(view: JobView, lastRun: Run | undefined): JobShowDocument {
  const document = JSON.parse(view.definition.document) as JobDocument;
  return {
    ...document,
    timezone: view.definition.zone,
    ...jobState(view.cursor, document),
    version: view.definition.version,
    source: view.definition.source,
    next: view.cursor.dueAt === undefined ? null : iso(view.cursor.nextSlot),
    lastRun: lastRun
      ? {
          id: lastRun.id,
          state: lastRun.state,
          reason: lastRun.reason ?? null,
          startedAt: iso(lastRun.startedAt),
          finishedAt: iso(lastRun.finishedAt),
        }
      : null,
  };
}

export interface EventDocument {
  sequence: number;
  at: string;
  kind: string;
  runId: string | null;
  jobId: string | null;
  data: Record<string, unknown>;
}

export function eventDocument(event: RunEvent): EventDocument {
  const { sequence, at, kind, runId, jobId, data } = event;
  return { sequence, at: formatInstant(at), kind, runId: runId ?? null, jobId: jobId ?? null, data };
}

/** Whether a run can still change. */
export function isOpen(run: Run): boolean {
  return !isTerminal(run.state);
}
