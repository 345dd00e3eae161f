// A job by what a person calls it.

import { Fault } from "../kernel/errors.ts";
import type { JobDocument } from "../records/job.ts";
import type { JobView } from "../records/ledger/slots.ts";
import { type FilesContext, heldFiles } from "./definition-sync.ts";

/**
 * One job by id, else by name (case-insensitive). Throws `input.ambiguous`, and `input.not-found`: also for a file in jobs/
 * that was never a valid job, which is named with what is wrong in it.
 */
export async function findJob(context: FilesContext, idOrName: string): Promise<JobView> {
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
  throw await notFound(context, idOrName);
}

async function notFound(context: FilesContext, idOrName: string): Promise<Fault> {
  const files = context.ledger.engine === "sqlite" ? await heldFiles(context) : [];
  const held = files.find(({ jobId, source }) => [jobId, source].includes(idOrName));
  if (!held)
    return new Fault("input.not-found", `There is no job "${idOrName}".`, {
      hint: "See `nightshift job list`.",
    });
  return new Fault("input.not-found", `"${idOrName}" is held and was never a job: ${held.why}`, {
    hint: `Correct ${held.source}; it counts a second after it was saved.`,
  });
}
