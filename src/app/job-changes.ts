// Changes of a job in the ledger: a new version, a pause, a hold, an end. Every one settles what was due before (D1).

import { Fault } from "../kernel/errors.ts";
import type { Instant } from "../kernel/time.ts";
import { BY_SCHEDULE, type SuspensionKind } from "../records/definition.ts";
import type { JobDocument } from "../records/job.ts";
import type { ChangeResult, DecideJob, JobChange, JobView } from "../records/ledger/slots.ts";
import { makeCursorAfter, makeIsComplete } from "../schedule/cursor-after.ts";
import { makeSettle, settleForEdit } from "../schedule/settle.ts";
import type { Context } from "./context.ts";
import { rewindAfterStepBack } from "./step-back.ts";

export interface Suspending {
  suspension: SuspensionKind;
  reason: string;
  until?: Instant;
}

/** Changes that are no new version: what was due before is settled under the old state, then the new one counts (D4). */
export async function changeJob(context: Context, jobId: string, change: JobChange): Promise<ChangeResult> {
  const now = await context.ledger.now();
  await rewindAfterStepBack(context, now);
  const cursorAfter = makeCursorAfter(context.parseJob);
  // A pause and its end start the cursor afresh; a hold leaves it where it is, its slots go on being due.
  const isScheduleChanged =
    (change.kind === "suspend" || change.kind === "resume") && change.suspension !== "held";
  const result = await context.ledger.changeJob({
    jobId,
    now,
    change,
    settle: settleFor(context, change),
    isComplete: makeIsComplete(context.parseJob),
    next: (view, at) => cursorAfter(view, at, { isScheduleChanged }),
    digest: context.digest,
  });
  await context.ledger.wakeOthers();
  return result;
}

function settleFor(context: Context, change: JobChange): DecideJob {
  if (change.kind === "remove")
    return makeSettle(context.parseJob, { reason: "removed", isCursorKept: false });
  if (change.kind !== "suspend" || change.suspension === "completed") return context.decide;
  if (change.suspension === "held")
    return makeSettle(context.parseJob, { reason: "held", isCursorKept: true });
  return makeSettle(context.parseJob, { reason: "paused", isCursorKept: false });
}

export interface NewDefinition {
  document: JobDocument;
  digest: string;
  source: string;
  zone: string;
  anchor: Instant;
  previous: JobView | undefined;
  /** Suspended from birth, in the same transaction. */
  suspended?: Suspending;
}

/**
 * Records a version that has been written to its source. A node that saw the file first and recorded the same bytes is
 * no conflict. Throws `input.conflict` when another version came between.
 */
export async function recordDefinition(context: Context, definition: NewDefinition): Promise<JobView> {
  const { document, digest, source, zone, anchor, previous, suspended } = definition;
  const now = await context.ledger.now();
  await rewindAfterStepBack(context, now);
  const isLiving = previous !== undefined && previous.cursor.removedAt === undefined;
  const isScheduleChanged = isTimingChanged(previous, definition);
  const cursorAfter = makeCursorAfter(context.parseJob);
  const isComplete = makeIsComplete(context.parseJob);
  const result = await context.ledger.changeJob({
    jobId: document.id,
    now,
    expectVersion: isLiving ? previous.definition.version : 0,
    change: {
      kind: "define",
      document: JSON.stringify(document),
      digest,
      zone,
      anchor,
      source,
      by: context.actor,
      ...(suspended && { suspended }),
    },
    settle: settleForEdit(context.parseJob, { isScheduleChanged }),
    isComplete: (view, at) =>
      isComplete(view, at) ||
      (isCompletedByWord(view) && !isScheduleChanged && !isEndChanged(previous, document)),
    next: (view, at) => cursorAfter(view, at, { isScheduleChanged }),
    digest: context.digest,
  });
  await context.ledger.wakeOthers();
  if (result.kind !== "conflict") return result.view;
  const view = await context.ledger.job(document.id);
  if (view && view.definition.digest === digest) return view;
  throw new Fault("input.conflict", `Job "${document.id}" was changed by somebody else at the same moment.`, {
    hint: "Look at it again (`nightshift job show`), then repeat the change.",
    retry: "later",
  });
}

/** D1: only a changed schedule, zone or jitter starts a new cursor. Re-adding the same one continues it (T3). */
function isTimingChanged(previous: JobView | undefined, { document, zone }: NewDefinition): boolean {
  if (!previous) return true;
  const before = JSON.parse(previous.definition.document) as JobDocument;
  const timing = (one: JobDocument, inZone: string) =>
    JSON.stringify([one.schedule ?? null, inZone, one.jitter ?? null]);
  return timing(before, previous.definition.zone) !== timing(document, zone);
}

/** Completed by somebody's word (an import), not by what the job itself says: a new name is no reason to begin again. */
function isCompletedByWord({ cursor }: JobView): boolean {
  return cursor.suspensions.some(({ kind, by }) => kind === "completed" && by !== BY_SCHEDULE);
}

function isEndChanged(previous: JobView | undefined, { repeat, until }: JobDocument): boolean {
  if (!previous) return true;
  const before = JSON.parse(previous.definition.document) as JobDocument;
  return before.repeat !== repeat || before.until !== until;
}
