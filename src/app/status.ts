// `status`: one look at a home: who is up, what is held and why, what is due, what is stuck.

import { formatInstant } from "../kernel/time.ts";
import type { JobDocument } from "../records/job.ts";
import type { Context } from "./context.ts";
import { type JobState, jobState, type NodeDocument, nodeDocument } from "./documents.ts";
import { isUp } from "./nodes.ts";
import { type UnusedFile, unusedFiles } from "./unused-files.ts";

export interface StatusDocument {
  home: string;
  store: string;
  now: string;
  nodes: NodeDocument[];
  jobs: Partial<Record<JobState, number>>;
  /** Jobs that a person should look at. */
  attention: { jobId: string; state: JobState; reason: string | null; source: string }[];
  upcoming: { jobId: string; slot: string }[];
  overdue: { jobId: string; dueAt: string }[];
  runs: Partial<Record<string, number>>;
  deliveries: Readonly<Record<string, number>>;
  /** Files in jobs/ that no job came from: unreadable, or with a store that keeps jobs in a table. */
  unusedFiles: UnusedFile[];
}

const NEEDS_ATTENTION: readonly JobState[] = ["held", "quarantined"];
const UPCOMING = 5;

export async function readStatus(context: Context): Promise<StatusDocument> {
  const now = await context.ledger.now();
  const [nodes, views, counts] = await Promise.all([
    context.ledger.nodes(),
    context.ledger.jobs(),
    context.ledger.counts(now),
  ]);
  const states = views.map((view) => ({
    view,
    ...jobState(view.cursor, JSON.parse(view.definition.document) as JobDocument),
  }));
  const jobs: StatusDocument["jobs"] = {};
  for (const { state } of states) jobs[state] = (jobs[state] ?? 0) + 1;
  const due = states
    .filter(({ view }) => view.cursor.dueAt !== undefined && view.cursor.nextSlot !== undefined)
    .sort((a, b) => (a.view.cursor.dueAt ?? 0) - (b.view.cursor.dueAt ?? 0));
  return {
    home: context.home.paths.root,
    store: context.redact(context.storeUrl),
    now: formatInstant(now),
    nodes: nodes
      .filter((node) => node.stoppedAt === undefined)
      .map((node) => nodeDocument(node, !isUp(node, context, now))),
    jobs,
    attention: states
      .filter(({ state }) => NEEDS_ATTENTION.includes(state))
      .map(({ view, state, stateReason }) => ({
        jobId: view.definition.jobId,
        state,
        reason: stateReason,
        source: view.definition.source,
      })),
    upcoming: due
      .slice(0, UPCOMING)
      .map(({ view }) => ({ jobId: view.definition.jobId, slot: formatInstant(view.cursor.nextSlot ?? 0) })),
    overdue: counts.overdueJobs.map(({ jobId, dueAt }) => ({ jobId, dueAt: formatInstant(dueAt) })),
    runs: counts.runs,
    deliveries: counts.deliveries,
    unusedFiles: await unusedFiles(context),
  };
}
