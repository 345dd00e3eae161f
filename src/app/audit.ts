// `run audit`: recomputes what was due and compares it with the ledger (L9).

import { Fault } from "../kernel/errors.ts";
import { formatInstant, type Instant } from "../kernel/time.ts";
import { type Audit, type AuditFinding, auditJob, isAuditClean, mergeAudits } from "../schedule/audit.ts";
import type { Context } from "./context.ts";

export interface AuditDocument {
  since: string;
  until: string;
  due: number;
  accounted: number;
  pending: number;
  missing: AuditFindingDocument[];
  doubled: AuditFindingDocument[];
  early: AuditFindingDocument[];
  shifted: { jobId: string; slot: string; recordedAt: string; runId: string }[];
  /** Counting stopped early: `due` and `accounted` are lower bounds. */
  isAtLeast: boolean;
  isClean: boolean;
}

export interface AuditFindingDocument {
  jobId: string;
  first: string;
  last: string;
  count: number;
  runIds: readonly string[];
}

/** Over one job, or all of them, removed ones included. Throws `input.invalid` for a `since` that is still to come. */
export async function readAudit(
  context: Context,
  input: { since?: Instant; jobId?: string },
): Promise<AuditDocument> {
  const until = await context.ledger.now();
  if (input.since !== undefined && input.since > until) {
    throw new Fault(
      "input.invalid",
      `${formatInstant(input.since)} is still to come; it is now ${formatInstant(until)}.`,
      {
        hint: "Name an instant that has passed: an audit looks back.",
      },
    );
  }
  const window = { since: input.since ?? 0, until };
  const audits: Audit[] = [];
  for (const jobId of await jobIds(context, input.jobId)) {
    const view = await context.ledger.auditView(jobId, window);
    if (view) audits.push(auditJob(view, window, context.parseJob));
  }
  return auditDocument(mergeAudits(window, audits));
}

async function jobIds(context: Context, jobId: string | undefined): Promise<string[]> {
  if (jobId !== undefined) return [jobId];
  const views = await context.ledger.jobs({ includeRemoved: true });
  return views.map((view) => view.definition.jobId);
}

function auditDocument(audit: Audit): AuditDocument {
  const finding = ({ jobId, first, last, count, runIds }: AuditFinding): AuditFindingDocument => ({
    jobId,
    first: formatInstant(first),
    last: formatInstant(last),
    count,
    runIds,
  });
  return {
    since: formatInstant(audit.since),
    until: formatInstant(audit.until),
    due: audit.due,
    accounted: audit.accounted,
    pending: audit.pending,
    missing: audit.missing.map(finding),
    doubled: audit.doubled.map(finding),
    early: audit.early.map(finding),
    shifted: audit.shifted.map(({ slot, recordedAt, ...rest }) => ({
      ...rest,
      slot: formatInstant(slot),
      recordedAt: formatInstant(recordedAt),
    })),
    isAtLeast: audit.isAtLeast,
    isClean: isAuditClean(audit),
  };
}
