// Brings what people wrote (files in jobs/, D2) into the ledger, and holds what cannot be read.
//
// I1. Deciding what a change of the folder means is pure (store/files/reconcile.ts); this applies it, one job at a time.
// I2. Versions come into force here and now, never when a file was saved (D1).
// I3. A lost race (another node, a surface) is no error: the next look sees the ledger as it is then.

import { isFault, messageOf } from "../kernel/errors.ts";
import { type Instant, wholeSecond } from "../kernel/time.ts";
import type { JobDocument } from "../records/job.ts";
import { parseJobDocument } from "../records/job-document.ts";
import type { JobView } from "../records/ledger/slots.ts";
import type { SourceEntry } from "../records/source.ts";
import { isPast, parseSchedule } from "../schedule/grammar.ts";
import {
  type EntryReading,
  type KnownJob,
  type ReconcileAction,
  type ReconcileResult,
  reconcileJobFiles,
} from "../store/files/reconcile.ts";
import type { Context } from "./context.ts";
import { changeJob, recordDefinition } from "./job-changes.ts";

export interface SyncReport {
  applied: ReconcileAction[];
  /** When something would change by itself; undefined = only with the folder. */
  lookAgainInMs: number | undefined;
  /** Pass it to the next call: how long files have been missing. */
  state: ReconcileResult | undefined;
}

/** One look at the source. Throws what the store throws; each action that was applied stands. */
export async function syncDefinitions(context: Context, previous?: ReconcileResult): Promise<SyncReport> {
  if (context.ledger.engine === "postgres")
    return { applied: [], lookAgainInMs: undefined, state: undefined };
  const now = await context.ledger.now();
  const views = new Map(
    (await context.ledger.jobs({ includeRemoved: true })).map((view) => [view.definition.jobId, view]),
  );
  const state = reconcileJobFiles({
    listing: await context.source.list(),
    known: new Map([...views].map(([jobId, view]) => [jobId, knownJob(view)])),
    previous,
    now,
    monotonicMs: context.clock.monotonicMs(),
    read: (entry, defaultId) => readEntry(context, entry, { defaultId, now }),
    isPastUnknown: ({ document }) => isPastDocument(context, document, now),
  });
  const applied: ReconcileAction[] = [];
  for (const action of state.actions) {
    if (await apply(context, action, views)) applied.push(action);
  }
  return { applied, lookAgainInMs: state.lookAgainInMs, state };
}

function knownJob({ definition, cursor }: JobView): KnownJob {
  const held = cursor.suspensions.find(({ kind, to }) => kind === "held" && to === undefined);
  return {
    jobId: definition.jobId,
    source: definition.source,
    digest: definition.digest,
    version: definition.version,
    isRemoved: cursor.removedAt !== undefined,
    heldReason: held?.reason,
  };
}

/** Reads and checks all that a file alone can be wrong in; scripts and targets may come and go, so they wait for the run. */
function readEntry(
  context: FilesContext,
  entry: SourceEntry,
  options: { defaultId: string; now: Instant },
): EntryReading {
  try {
    const { document, hasExplicitId } = parseJobDocument(entry.text, {
      file: entry.source,
      defaultId: options.defaultId,
    });
    context.resolveDocument(document, {
      zone: document.timezone ?? context.zone,
      anchor: options.now,
      now: options.now,
    });
    return { kind: "valid", document, hasExplicitId };
  } catch (error) {
    if (!isFault(error)) throw error;
    return { kind: "invalid", error: error.message };
  }
}

/** T3: a dropped once-job whose instant has passed and that no row knows is not run late by surprise. */
function isPastDocument(context: FilesContext, document: JobDocument, now: Instant): boolean {
  if (document.schedule === undefined) return false;
  const { schedule } = parseSchedule(document.schedule, {
    zone: document.timezone ?? context.zone,
    now,
    anchor: now,
  });
  return schedule.kind === "at" && isPast(schedule, now);
}

async function apply(
  context: Context,
  action: ReconcileAction,
  views: ReadonlyMap<string, JobView>,
): Promise<boolean> {
  try {
    await applyAction(context, action, views.get(action.jobId));
    context.log.info("definition-synced", {
      action: action.kind,
      jobId: action.jobId,
      source: action.source,
    });
    return true;
  } catch (error) {
    // I3: somebody else was first, or it holds itself; anything else ends the sync.
    if (!isFault(error) || error.code !== "input.conflict") throw error;
    context.log.info("definition-raced", {
      action: action.kind,
      jobId: action.jobId,
      error: messageOf(error),
    });
    return false;
  }
}

async function applyAction(
  context: Context,
  action: ReconcileAction,
  previous: JobView | undefined,
): Promise<void> {
  const { jobId } = action;
  switch (action.kind) {
    case "define": {
      await recordDefinition(context, await versionOf(context, action, previous));
      return;
    }
    case "move":
      await changeJob(context, jobId, { kind: "move", source: action.source });
      return;
    case "remove":
      await changeJob(context, jobId, { kind: "remove", by: context.actor });
      return;
    case "unhold":
      await changeJob(context, jobId, { kind: "resume", suspension: "held", by: context.actor });
      return;
    case "hold":
      if (action.isKnown) {
        await changeJob(context, jobId, {
          kind: "suspend",
          suspension: "held",
          by: context.actor,
          reason: action.reason,
        });
      } else {
        await announceHold(context, action);
      }
      return;
  }
}

/** T1, T2: zone and anchor are fixed at first sight; a version that leaves the schedule alone keeps them. */
async function versionOf(
  context: Context,
  action: Extract<ReconcileAction, { kind: "define" }>,
  previous: JobView | undefined,
) {
  const { document } = action.reading;
  const before = previous && (JSON.parse(previous.definition.document) as JobDocument);
  const isSameSchedule =
    before !== undefined && JSON.stringify(before.schedule) === JSON.stringify(document.schedule);
  const now = await context.ledger.now();
  return {
    document,
    digest: action.entry.digest,
    source: action.source,
    zone: document.timezone ?? previous?.definition.zone ?? context.zone,
    anchor: isSameSchedule && previous ? previous.definition.anchor : wholeSecond(now),
    previous,
  };
}

/** There is no row to hold: the event and `status` say so. */
async function announceHold(
  context: Context,
  action: Extract<ReconcileAction, { kind: "hold" }>,
): Promise<void> {
  const { jobId, source, reason } = action;
  context.log.warn("definition-held", { jobId, source, reason });
  const at = await context.ledger.now();
  await context.ledger.appendEvents([
    { runId: undefined, jobId, at, kind: "definition-held", data: { source, reason } },
  ]);
}

/** What looking at the files needs. */
export type FilesContext = Pick<Context, "ledger" | "source" | "clock" | "zone" | "resolveDocument">;

/** A file that cannot become a job now. */
export interface HeldFile {
  source: string;
  /** The job it would be, as far as it says. */
  jobId: string;
  why: string;
}

/** Files that cannot become a job now, for `status` and `doctor`, with the reason. Looks only. */
export async function heldFiles(context: FilesContext): Promise<HeldFile[]> {
  const now = await context.ledger.now();
  const known = new Map(
    (await context.ledger.jobs({ includeRemoved: true })).map((view) => [
      view.definition.jobId,
      knownJob(view),
    ]),
  );
  const state = reconcileJobFiles({
    listing: await context.source.list(),
    known,
    previous: undefined,
    now,
    monotonicMs: context.clock.monotonicMs(),
    read: (entry, defaultId) => readEntry(context, entry, { defaultId, now }),
    isPastUnknown: ({ document }) => isPastDocument(context, document, now),
  });
  // A job that is held already is named with its reason as a job.
  const isHeldJob = (jobId: string, source: string) => {
    const job = known.get(jobId);
    return job?.source === source && job.heldReason !== undefined;
  };
  return [...state.held]
    .filter(([source, { jobId }]) => !isHeldJob(jobId, source))
    .map(([source, { jobId, reason }]) => ({ source, jobId, why: reason }));
}
