// Changing a job's text without losing any of it (D3): compare, write, record; a lost compare changes nothing.

import { Fault } from "../kernel/errors.ts";
import { wholeSecond } from "../kernel/time.ts";
import type { JobDocument } from "../records/job.ts";
import { parseJobDocument } from "../records/job-document.ts";
import type { JobView } from "../records/ledger/slots.ts";
import { patchYaml } from "../records/yaml-patch.ts";
import type { Context } from "./context.ts";
import { findJob } from "./find-job.ts";
import { recordDefinition } from "./job-changes.ts";
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
  const anchor = isRescheduled ? wholeSecond(now) : view.definition.anchor;
  const checked = await checkDocument(context, document, {
    now,
    anchor,
    zone: view.definition.zone,
    refusePast: isRescheduled,
  });
  const text = isRescheduled ? withFixedTime(edited.text, checked.document) : edited.text;
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
