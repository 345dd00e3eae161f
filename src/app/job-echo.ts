// What creating or changing a job says back (law 10): what was understood, when it fires, where its result goes.

import { formatInstant, type Instant } from "../kernel/time.ts";
import type { Job } from "../records/job.ts";
import { triggerText } from "../records/trigger.ts";
import type { Context } from "./context.ts";
import { type JobShowDocument, jobShowDocument } from "./documents.ts";
import { findJob } from "./find-job.ts";
import { type CheckedDocument, nextSlots, targetTexts } from "./job-documents.ts";
import { nodesUp } from "./nodes.ts";

/** What creating or changing a job echoes (law 10). */
export type JobEcho = JobShowDocument & {
  understood: string;
  nextSlots: string[];
  deliverTo: string[];
  warnings: string[];
};

export async function echo(
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
  const last = await context.ledger.lastRuns([jobId]);
  const shown = jobShowDocument({ definition, cursor, openRuns: [] }, last.get(jobId));
  const slots = cursor.dueAt === undefined ? [] : nextSlots(job, now, 3);
  return {
    ...shown,
    understood: understood(said.display, job),
    nextSlots: slots.map(formatInstant),
    deliverTo: targetTexts(job),
    warnings,
  };
}

/** Everything that starts it, in words. */
function understood(display: string | undefined, { on }: Job): string {
  const ways = [...(display === undefined ? [] : [display]), ...on.map((one) => `on ${triggerText(one)}`)];
  return ways.length === 0 ? "by hand" : ways.join(", and ");
}

/** What `--dry-run` says: everything but that it exists. */
export function dryEcho({ document, job, display, warnings }: CheckedDocument, now: Instant): JobEcho {
  const next = nextSlots(job, now, 3).map(formatInstant);
  return {
    ...document,
    timezone: job.timezone,
    state: job.enabled ? "scheduled" : "disabled",
    stateReason: "not created: --dry-run",
    version: 0,
    source: "",
    next: next[0] ?? null,
    lastRun: null,
    understood: understood(display, job),
    nextSlots: next,
    deliverTo: targetTexts(job),
    warnings,
  };
}
