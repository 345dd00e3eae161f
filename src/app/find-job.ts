// A job by what a person calls it.

import { Fault } from "../kernel/errors.ts";
import type { JobDocument } from "../records/job.ts";
import type { JobView } from "../records/ledger/slots.ts";
import type { Context } from "./context.ts";

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
