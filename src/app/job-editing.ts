// Changing a job's text without losing any of it (D3): compare, write, record; a lost compare changes nothing.

import { isDeepStrictEqual } from "node:util";
import { Fault, nearestWord } from "../kernel/errors.ts";
import { type Instant, wholeSecond } from "../kernel/time.ts";
import type { JobDocument } from "../records/job.ts";
import { parseJobDocument } from "../records/job-document.ts";
import { jobSchema } from "../records/job-schema.ts";
import type { JobView } from "../records/ledger/slots.ts";
import type { SourceEntry } from "../records/source.ts";
import { patchYaml } from "../records/yaml-patch.ts";
import { parseSchedule } from "../schedule/grammar.ts";
import type { Context } from "./context.ts";
import { findJob } from "./find-job.ts";
import { changeJob, recordDefinition } from "./job-changes.ts";
import { checkDocument } from "./job-documents.ts";
import { echo, type JobEcho } from "./job-echo.ts";

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

/** The same for showing: undefined when the definition is gone. */
export async function jobText(context: Context, jobId: string): Promise<string | undefined> {
  const { definition } = await findJob(context, jobId);
  return (await context.source.read(definition.source))?.text;
}

export interface UpdateOptions {
  /** Only if this version is in force. */
  expectVersion?: number;
  /** Keys of `run.agent`; the others stay as they are. */
  agent?: Record<string, unknown>;
}

/** Changes only the keys named; the person's comments and key order stay (D3). Throws `input.conflict` after a lost race. */
export async function updateJob(
  context: Context,
  idOrName: string,
  patch: Partial<JobDocument>,
  options: UpdateOptions = {},
): Promise<JobEcho> {
  const { view, text, digest } = await readJobText(context, idOrName);
  if (options.expectVersion !== undefined && options.expectVersion !== view.definition.version) {
    throw versionConflict(view, `version ${options.expectVersion}`);
  }
  requireKnownKeys(patch);
  const run = agentPatch(view, options.agent ?? {});
  return replaceText(context, view, { text: patchYaml(text, { ...patch, ...run }), digest });
}

/** The agent's map with some of its keys set: the others, and their comments, stay. */
function agentPatch({ definition }: JobView, changes: Record<string, unknown>): Partial<JobDocument> {
  if (Object.keys(changes).length === 0) return {};
  const { run } = JSON.parse(definition.document) as JobDocument;
  if (run.agent) return { run: { agent: { ...run.agent, ...changes } } };
  throw new Fault("input.usage", `Job "${definition.jobId}" is no agent job.`, {
    hint: `Leave out ${Object.keys(changes).join(", ")}, or write run.agent with \`nightshift job edit\`.`,
  });
}

/** A key that is set is judged by the codec; one that is removed would vanish without a word. */
function requireKnownKeys(patch: Partial<JobDocument>): void {
  const known = Object.keys(jobSchema.shape);
  const unknown = Object.keys(patch).find((key) => !known.includes(key));
  if (unknown === undefined) return;
  const near = nearestWord(unknown, known);
  throw new Fault("input.usage", `A job has no key "${unknown}".`, {
    hint: near ? `Did you mean "${near}"?` : `Its keys are ${known.join(", ")}.`,
  });
}

/** Replaces the whole text, as an editor does (D3). `digest` is that of the text the person began with. */
export async function replaceJobText(
  context: Context,
  view: JobView,
  edited: { text: string; digest: string },
): Promise<JobEcho> {
  return replaceText(context, view, edited);
}

/** What `replaceJobText` would say, `version` included; nothing is written. */
export async function previewJobText(
  context: Context,
  view: JobView,
  edited: { text: string },
): Promise<Pick<JobEcho, "version" | "warnings">> {
  const { text, warnings } = await readChange(context, view, edited.text);
  const { version, source } = view.definition;
  return {
    version: version + (isUnchanged(view, await context.source.read(source), text) ? 0 : 1),
    warnings,
  };
}

/** The source holds these very bytes, and they are the version in force. */
function isUnchanged(view: JobView, entry: SourceEntry | undefined, text: string): boolean {
  return entry !== undefined && entry.text === text && entry.digest === view.definition.digest;
}

async function replaceText(
  context: Context,
  view: JobView,
  edited: { text: string; digest: string },
): Promise<JobEcho> {
  const { jobId, source } = view.definition;
  const change = await readChange(context, view, edited.text);
  const { document, display, warnings } = change;
  if (isUnchanged(view, await context.source.read(source), change.text))
    return echo(context, jobId, {
      display,
      warnings: [...warnings, "nothing was changed: it says so already."],
    });
  const written = await context.source.write(source, change.text, edited.digest);
  if (written.kind === "conflict") throw versionConflict(view, "the text this change began with");
  const { zone, anchor } = change;
  await recordDefinition(context, { document, digest: written.digest, source, zone, anchor, previous: view });
  await endHold(context, jobId);
  return echo(context, jobId, { display, warnings });
}

/** A text that passes is no reason to hold any more; the next look at the folder would say so too. */
async function endHold(context: Context, jobId: string): Promise<void> {
  const view = await context.ledger.job(jobId);
  if (view?.cursor.suspensions.some(({ kind, to }) => kind === "held" && to === undefined))
    await changeJob(context, jobId, { kind: "resume", suspension: "held", by: context.actor });
}

interface Change {
  /** What is recorded, and the text that goes into the file. */
  document: JobDocument;
  text: string;
  zone: string;
  anchor: Instant;
  display: string | undefined;
  warnings: string[];
}

/** What the new text means; nothing is written yet. */
async function readChange(context: Context, view: JobView, text: string): Promise<Change> {
  const { jobId, source, anchor: oldAnchor, zone } = view.definition;
  const now = await context.ledger.now();
  const { document, warnings } = parseJobDocument(text, { file: source, defaultId: jobId });
  if (document.id !== jobId) {
    throw new Fault("input.conflict", `The id of job "${jobId}" cannot become "${document.id}".`, {
      hint: "An id never changes; add a new job and remove this one.",
    });
  }
  const before = JSON.parse(view.definition.document) as JobDocument;
  const isRescheduled = !isSameTiming(before, document, { now, anchor: oldAnchor, zone });
  const anchor = isRescheduled ? wholeSecond(now) : oldAnchor;
  const checked = await checkDocument(context, document, { now, anchor, zone, refusePast: isRescheduled });
  const fixed = isRescheduled
    ? checked.document
    : {
        ...document,
        ...(before.schedule && { schedule: before.schedule }),
        ...(before.timezone !== undefined && { timezone: before.timezone }),
      };
  const isRewritten =
    JSON.stringify([document.schedule, document.timezone]) !==
    JSON.stringify([fixed.schedule, fixed.timezone]);
  return {
    document: fixed,
    text: isRewritten ? withFixedTime(text, fixed) : text,
    zone: checked.job.timezone,
    anchor,
    display: checked.display,
    warnings: [...warnings, ...checked.warnings],
  };
}

/** The same schedule said again, with its anchor or without, keeps its anchor: applying a file twice moves nothing. */
function isSameTiming(
  before: JobDocument,
  after: JobDocument,
  fixed: { now: Instant; anchor: Instant; zone: string },
): boolean {
  const zone = after.timezone ?? fixed.zone;
  if (zone !== fixed.zone) return false;
  const meaning = ({ schedule }: JobDocument) =>
    schedule === undefined ? undefined : parseSchedule(schedule, { ...fixed, zone }).schedule;
  if (JSON.stringify(before.schedule) === JSON.stringify(after.schedule)) return true;
  return isDeepStrictEqual(meaning(before), meaning(after));
}

/** Somebody else changed the job in between; the caller's text is not lost. */
export function versionConflict(view: JobView, expected: string): Fault {
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

/** The text with its schedule's instants, anchor and zone written out (T2), all else untouched. */
export function withFixedTime(text: string, document: JobDocument): string {
  return patchYaml(text, { schedule: document.schedule, timezone: document.timezone });
}
