// Jobs as people handle them: add, show, list, update, edit, pause, resume, remove, run. Files belong to people (law 9);
// each change is written to the file first and recorded second, so that a crash between the two loses nothing: the next
// look at the folder finds the file as it stands.

import { Fault } from "../kernel/errors.ts";
import { makeId } from "../kernel/ids.ts";
import { formatInstant, type Instant } from "../kernel/time.ts";
import type { Job, JobDocument } from "../records/job.ts";
import { formatJobDocument, parseJobDocument } from "../records/job-document.ts";
import type { ChangeResult, JobView } from "../records/ledger/slots.ts";
import { patchYaml } from "../records/yaml-patch.ts";
import type { Context } from "./context.ts";
import { type JobShowDocument, jobShowDocument, type RunDocument, runDocument } from "./documents.ts";
import { changeJob, recordDefinition, type Suspending } from "./job-changes.ts";
import { checkDocument, nextSlots, targetTexts } from "./job-documents.ts";
import { nodesUp } from "./nodes.ts";

/** What creating or changing a job echoes (law 10). */
export type JobEcho = JobShowDocument & {
  understood: string;
  nextSlots: string[];
  deliverTo: string[];
  warnings: string[];
};

export interface AddOptions {
  /** Created paused, with this reason, in one step. */
  paused?: string;
  /** Only say what would be understood. */
  isDryRun?: boolean;
}

/** Creates a job. Throws `input.conflict` for a known id, and all of `checkDocument`. */
export async function addJob(
  context: Context,
  draft: JobDocument,
  options: AddOptions = {},
): Promise<JobEcho> {
  const now = await context.ledger.now();
  const known = await context.ledger.job(draft.id);
  if (known && known.cursor.removedAt === undefined) throw idTaken(draft.id);
  const checked = await checkDocument(context, draft, {
    now,
    anchor: now,
    zone: context.zone,
    refusePast: true,
  });
  const text = formatJobDocument(checked.document);
  if (options.isDryRun)
    return dryEcho(checked.document, checked.job, {
      now,
      display: checked.display,
      warnings: checked.warnings,
    });
  const source = context.source.sourceFor(draft.id);
  const answer = await context.source.write(source, text, undefined);
  if (answer.kind === "conflict") throw idTaken(draft.id);
  const view = await recordDefinition(context, {
    document: checked.document,
    digest: answer.digest,
    source,
    zone: checked.job.timezone,
    anchor: now,
    previous: known,
  });
  if (options.paused !== undefined)
    await suspend(context, view, { suspension: "paused", reason: options.paused });
  return echo(context, draft.id, { display: checked.display, warnings: checked.warnings });
}

/** One job by id, else by name (case-insensitive). Throws `input.not-found`, `input.ambiguous`. */
export async function findJob(context: Pick<Context, "ledger">, idOrName: string): Promise<JobView> {
  const exact = await context.ledger.job(idOrName);
  if (exact && exact.cursor.removedAt === undefined) return exact;
  const wanted = idOrName.toLowerCase();
  const all = await context.ledger.jobs();
  const named = all.filter((view) => {
    const { id, name } = JSON.parse(view.definition.document) as JobDocument;
    return id.toLowerCase() === wanted || name?.toLowerCase() === wanted;
  });
  const [only, ...others] = named;
  if (only && others.length === 0) return only;
  if (only) {
    const ids = named.map((view) => view.definition.jobId);
    throw new Fault("input.ambiguous", `"${idOrName}" names ${ids.length} jobs: ${ids.join(", ")}.`, {
      hint: "Use the id.",
      details: { candidates: ids },
    });
  }
  throw new Fault("input.not-found", `There is no job "${idOrName}".`, {
    hint: "See `nightshift job list`.",
  });
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

/** The person's own text, as it stands in the source. */
export async function readJobText(
  context: Context,
  idOrName: string,
): Promise<{ view: JobView; text: string; digest: string }> {
  const view = await findJob(context, idOrName);
  const entry = await context.source.read(view.definition.source);
  if (!entry) {
    throw new Fault(
      "input.not-found",
      `The definition of job "${view.definition.jobId}" is gone: ${view.definition.source}.`,
      {
        hint: "Put the file back, or `nightshift job remove` it.",
      },
    );
  }
  return { view, text: entry.text, digest: entry.digest };
}

/** Changes only the keys named; the person's comments and key order stay (D3). Throws `input.conflict` after a lost race. */
export async function updateJob(
  context: Context,
  idOrName: string,
  patch: Partial<JobDocument>,
  options: { expectVersion?: number } = {},
): Promise<JobEcho> {
  const { view, text, digest } = await readJobText(context, idOrName);
  if (options.expectVersion !== undefined && options.expectVersion !== view.definition.version) {
    throw versionConflict(view, `version ${options.expectVersion}`);
  }
  return replaceText(context, view, { text: patchYaml(text, { ...patch }), digest, isWhole: false });
}

/** Replaces the whole text, as an editor does (D3). `digest` is that of the text the person began with. */
export async function replaceJobText(
  context: Context,
  view: JobView,
  edited: { text: string; digest: string },
): Promise<JobEcho> {
  return replaceText(context, view, { ...edited, isWhole: true });
}

async function replaceText(
  context: Context,
  view: JobView,
  edited: { text: string; digest: string; isWhole: boolean },
): Promise<JobEcho> {
  const { jobId, source } = view.definition;
  const now = await context.ledger.now();
  const { document, warnings } = parseJobDocument(edited.text, { file: source, defaultId: jobId });
  if (document.id !== jobId) {
    throw new Fault("input.conflict", `The id of job "${jobId}" cannot become "${document.id}".`, {
      hint: "An id never changes; add a new job and remove this one.",
    });
  }
  const before = JSON.parse(view.definition.document) as JobDocument;
  const isRescheduled =
    JSON.stringify([before.schedule, before.timezone]) !==
    JSON.stringify([document.schedule, document.timezone]);
  const anchor = isRescheduled ? now : view.definition.anchor;
  const checked = await checkDocument(context, document, {
    now,
    anchor,
    zone: view.definition.zone,
    refusePast: isRescheduled,
  });
  const text = isRescheduled
    ? patchYaml(edited.text, { schedule: checked.document.schedule, timezone: checked.document.timezone })
    : edited.text;
  const written = await context.source.write(source, text, edited.digest);
  if (written.kind === "conflict") throw versionConflict(view, "the text this change began with");
  await recordDefinition(context, {
    document: isRescheduled ? checked.document : document,
    digest: written.digest,
    source,
    zone: checked.job.timezone,
    anchor,
    previous: view,
  });
  return echo(context, jobId, { display: checked.display, warnings: [...warnings, ...checked.warnings] });
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

/** Queues a run by hand: uses up no slot (U2). */
export async function queueRun(context: Context, idOrName: string): Promise<RunDocument> {
  const { definition } = await findJob(context, idOrName);
  const job = context.parseJob(definition);
  const now = await context.ledger.now();
  const id = makeId(now, context.random);
  const [run] = await context.ledger.enqueue([
    {
      id,
      dedupeKey: `manual/${id}`,
      attempt: 1,
      kind: "job",
      jobId: job.id,
      version: definition.version,
      parentId: undefined,
      rootId: id,
      slot: undefined,
      trigger: "manual",
      effects: job.effects,
      isExclusive: job.overlap !== "allow",
      idempotencyKey: id,
      readyAt: now,
      createdAt: now,
    },
  ]);
  if (!run) throw new Error(`the ledger took no run for job ${job.id}`);
  await context.ledger.wakeOthers();
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

async function echo(
  context: Context,
  jobId: string,
  said: { display: string | undefined; warnings: string[] },
): Promise<JobEcho> {
  const { definition, cursor } = await findJob(context, jobId);
  const job = context.parseJob(definition);
  const now = await context.ledger.now();
  const isUp = (await nodesUp(context)).length > 0;
  const warnings = isUp
    ? said.warnings
    : [...said.warnings, "no node is up to run it: start one with `nightshift up`."];
  const shown = await showJob(context, jobId);
  const slots = cursor.dueAt === undefined ? [] : nextSlots(job, now, 3);
  return {
    ...shown,
    understood: said.display ?? "by hand",
    nextSlots: slots.map(formatInstant),
    deliverTo: targetTexts(job),
    warnings,
  };
}

function dryEcho(
  document: JobDocument,
  job: Job,
  said: { now: Instant; display: string | undefined; warnings: string[] },
): JobEcho {
  const next = nextSlots(job, said.now, 3).map(formatInstant);
  return {
    ...document,
    timezone: job.timezone,
    state: job.enabled ? "scheduled" : "disabled",
    stateReason: "not created: --dry-run",
    version: 0,
    source: "",
    next: next[0] ?? null,
    lastRun: null,
    understood: said.display ?? "by hand",
    nextSlots: next,
    deliverTo: targetTexts(job),
    warnings: said.warnings,
  };
}

function idTaken(id: string): Fault {
  return new Fault("input.conflict", `There is a job "${id}" already.`, {
    hint: `Choose another --id, or change it with \`nightshift job update ${id}\`.`,
  });
}

function versionConflict(view: JobView, expected: string): Fault {
  const { jobId, version } = view.definition;
  return new Fault(
    "input.conflict",
    `Job "${jobId}" is at version ${version} now, not at ${expected}; nothing was changed.`,
    {
      hint: "Look at it again (`nightshift job show`), then repeat the change.",
      retry: "later",
    },
  );
}
