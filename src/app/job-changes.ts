// Changes of a job in the ledger: a new version, a pause, a hold, an end. Every one settles what was due before (D1).

import { Fault } from "../kernel/errors.ts";
import type { Instant } from "../kernel/time.ts";
import type { SuspensionKind } from "../records/definition.ts";
import type { JobDocument } from "../records/job.ts";
import type { ChangeResult, JobChange, JobView } from "../records/ledger/slots.ts";
import { cursorAfter, settleForEdit } from "../schedule/cursor.ts";
import type { Context } from "./context.ts";

export interface Suspending {
  suspension: SuspensionKind;
  reason: string;
  until?: Instant;
}

/** Changes that are no new version: the cursor's old state settles what is due, then the new one counts (D4). */
export async function changeJob(context: Context, jobId: string, change: JobChange): Promise<ChangeResult> {
  const now = await context.ledger.now();
  const result = await context.ledger.changeJob({
    jobId,
    now,
    change,
    settle: context.decide,
    next: (view, at) =>
      cursorAfter(context.parseJob)(view, at, { isScheduleChanged: change.kind === "resume" }),
    digest: context.digest,
  });
  await context.ledger.wakeOthers();
  return result;
}

export interface NewDefinition {
  document: JobDocument;
  digest: string;
  source: string;
  zone: string;
  anchor: Instant;
  previous: JobView | undefined;
}

/**
 * Records a version that has been written to its source. A node that saw the file first and recorded the same bytes is
 * no conflict. Throws `input.conflict` when another version came between.
 */
export async function recordDefinition(context: Context, definition: NewDefinition): Promise<JobView> {
  const { document, digest, source, zone, anchor, previous } = definition;
  const now = await context.ledger.now();
  const isLiving = previous !== undefined && previous.cursor.removedAt === undefined;
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
    },
    settle: settleForEdit(context.parseJob),
    next: (view, at) =>
      cursorAfter(context.parseJob)(view, at, { isScheduleChanged: isTimingChanged(previous, definition) }),
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
