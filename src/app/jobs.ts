// Jobs as people handle them: add, show, list, update, edit, pause, resume, remove, run. Files belong to people (law 9);
// each change is written to the file first and recorded second, so that a crash between the two loses nothing: the next
// look at the folder finds the file as it stands.

import { Fault, isFault } from "../kernel/errors.ts";
import { makeId } from "../kernel/ids.ts";
import { formatInstant, type Instant, wholeSecond } from "../kernel/time.ts";
import type { JobDocument } from "../records/job.ts";
import { formatJobDocument } from "../records/job-document.ts";
import { type ChangeResult, HEAD_START_MS, type JobView } from "../records/ledger/slots.ts";
import type { Context } from "./context.ts";
import { type JobShowDocument, jobShowDocument, type RunDocument, runDocument } from "./documents.ts";
import { findJob } from "./find-job.ts";
import { changeJob, recordDefinition, type Suspending } from "./job-changes.ts";
import { checkDocument, joinFaults, nextSlots } from "./job-documents.ts";
import { dryEcho, echo, type JobEcho } from "./job-echo.ts";
import { versionConflict, withFixedTime } from "./job-editing.ts";
import { traitsOf } from "./run-traits.ts";

export interface AddOptions {
  /** Created paused, with this reason, in one step. */
  paused?: string;
  /** Only say what would be understood. */
  isDryRun?: boolean;
  /** The person's own text of the draft, kept with its comments. */
  text?: string;
  /** From another system: what cannot be reached or run yet is a warning, not a refusal. */
  isImported?: boolean;
  /** Created completed, for this reason: it never fires (a past one-shot that is taken over). */
  completed?: string;
}

/** Creates a job. Throws `input.conflict` for a known id, and all of `checkDocument`. */
export async function addJob(
  context: Context,
  draft: JobDocument,
  options: AddOptions = {},
): Promise<JobEcho> {
  const now = await context.ledger.now();
  const known = await context.ledger.job(draft.id);
  const isTaken = known !== undefined && known.cursor.removedAt === undefined;
  const checked = await checkDocument(context, draft, {
    now,
    anchor: wholeSecond(now),
    zone: context.zone,
    refusePast: options.completed === undefined,
    isLenient: options.isImported ?? false,
  }).catch((error: unknown) => {
    throw isTaken && isFault(error) ? joinFaults([error, idTaken(draft.id)]) : error;
  });
  if (isTaken) throw idTaken(draft.id);
  if (options.isDryRun) return dryEcho(checked, now);
  const { document, display, warnings } = checked;
  const source = context.source.sourceFor(draft.id);
  const text =
    options.text === undefined ? formatJobDocument(document) : withFixedTime(options.text, document);
  const answer = await context.source.write(source, text, undefined);
  if (answer.kind === "conflict") throw idTaken(draft.id);
  const { digest } = answer;
  const suspended = initialSuspension(options);
  await recordDefinition(context, {
    document,
    digest,
    source,
    zone: checked.job.timezone,
    anchor: wholeSecond(now),
    previous: known,
    ...(suspended && { suspended }),
  });
  return echo(context, draft.id, { display, warnings });
}

/** In one step with the creation: between two, a slot could fire. */
function initialSuspension({ paused, completed }: AddOptions): Suspending | undefined {
  if (completed !== undefined) return { suspension: "completed", reason: completed };
  return paused === undefined ? undefined : { suspension: "paused", reason: paused };
}

/** `job list`: by id. */
export async function listJobs(context: Context): Promise<JobShowDocument[]> {
  const views = await context.ledger.jobs();
  const last = await context.ledger.lastRuns(views.map((view) => view.definition.jobId));
  return views.map((view) => jobShowDocument(view, last.get(view.definition.jobId)));
}

export async function showJob(context: Context, idOrName: string): Promise<JobShowDocument> {
  const view = await findJob(context, idOrName);
  const last = await context.ledger.lastRuns([view.definition.jobId]);
  return jobShowDocument(view, last.get(view.definition.jobId));
}

export async function pauseJob(
  context: Context,
  idOrName: string,
  options: { reason?: string; until?: Instant },
): Promise<JobShowDocument> {
  const view = await findJob(context, idOrName);
  await suspend(context, view, {
    suspension: "paused",
    reason: options.reason ?? "",
    ...(options.until !== undefined && { until: options.until }),
  });
  return showJob(context, view.definition.jobId);
}

async function suspend(context: Context, view: JobView, suspending: Suspending): Promise<ChangeResult> {
  return changeJob(context, view.definition.jobId, { kind: "suspend", by: context.actor, ...suspending });
}

/** Ends a pause or a quarantine: the first slot after now is the next (D4). */
export async function resumeJob(context: Context, idOrName: string): Promise<JobShowDocument> {
  const view = await findJob(context, idOrName);
  const { jobId } = view.definition;
  for (const suspension of ["paused", "quarantined"] as const) {
    await changeJob(context, jobId, { kind: "resume", suspension, by: context.actor });
  }
  return showJob(context, jobId);
}

/** Moves the file out of the way and ends the cursor; a live run goes on unless `isCancelling` (D3). */
export async function removeJob(
  context: Context,
  idOrName: string,
  options: { isCancelling: boolean },
): Promise<{ id: string; keptAt: string | null }> {
  const view = await findJob(context, idOrName);
  const { jobId, source } = view.definition;
  const entry = await context.source.read(source);
  const removed = entry ? await context.source.remove(source, entry.digest) : undefined;
  if (removed?.kind === "conflict") throw versionConflict(view, "the text that was there a moment ago");
  await changeJob(context, jobId, { kind: "remove", by: context.actor });
  if (options.isCancelling) {
    const now = await context.ledger.now();
    for (const run of view.openRuns) await context.ledger.requestCancel(run.id, context.actor, now);
    await context.ledger.wakeOthers();
  }
  return { id: jobId, keptAt: removed?.keptAt ?? null };
}

/** Queues a run by hand: uses up no slot (U2). `isForHere`: the caller runs it itself, and goes before every node. */
export async function queueRun(
  context: Context,
  idOrName: string,
  { isForHere = false }: { isForHere?: boolean } = {},
): Promise<RunDocument> {
  const [exact, now] = await Promise.all([context.ledger.definition(idOrName), context.ledger.now()]);
  const definition = exact ?? (await findJob(context, idOrName)).definition;
  const job = context.parseJob(definition);
  const id = makeId(now, context.random);
  const [run] = await context.ledger.enqueue([
    {
      id,
      dedupeKey: `manual/${id}`,
      attempt: 1,
      ...traitsOf(context, job),
      jobId: job.id,
      version: definition.version,
      parentId: undefined,
      rootId: id,
      slot: undefined,
      trigger: "manual",
      effects: job.effects,
      isExclusive: job.overlap !== "allow",
      idempotencyKey: id,
      readyAt: isForHere ? now + HEAD_START_MS : now,
      createdAt: now,
    },
  ]);
  if (!run) throw new Error(`the ledger took no run for job ${job.id}`);
  return runDocument(run);
}

/** `job next`: the next slots, from the cursor on. */
export async function jobNext(
  context: Context,
  idOrName: string,
  count: number,
): Promise<{ id: string; next: string[] }> {
  const { definition, cursor } = await findJob(context, idOrName);
  const job = context.parseJob(definition);
  const from = cursor.dueAt === undefined || cursor.nextSlot === undefined ? undefined : cursor.nextSlot - 1;
  return { id: job.id, next: from === undefined ? [] : nextSlots(job, from, count).map(formatInstant) };
}

function idTaken(id: string): Fault {
  return new Fault("input.conflict", `There is a job "${id}" already.`, {
    hint: `Choose another --id, or change it with \`nightshift job update ${id}\`.`,
  });
}
