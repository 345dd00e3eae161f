// Filters name a job as people do.

import type { Context } from "../../app/context.ts";

/** The id of the job with this id or name; undefined stays so. Throws `input.not-found`, `input.ambiguous`. */
export async function jobIdOf(context: Context, job: string | undefined): Promise<string | undefined> {
  return job === undefined ? undefined : (await context.findJob(job)).definition.jobId;
}
