// `nightshift agent`, MCP's `agent`: one run of an agent that is no job's. Its whole work travels in the row (runs.input).

import { Fault } from "../kernel/errors.ts";
import { makeId } from "../kernel/ids.ts";
import { wholeSecond } from "../kernel/time.ts";
import type { Effects, JobDocument } from "../records/job.ts";
import { HEAD_START_MS } from "../records/ledger/slots.ts";
import type { Context } from "./context.ts";
import { type RunDocument, runDocument } from "./documents.ts";
import { checkDocument, parseDraft } from "./job-documents.ts";

export interface QueueOptions {
  /** A person watches this very process. Default false. */
  isAttended?: boolean;
  /** The caller runs it itself, and goes before every node. Default false. */
  isForHere?: boolean;
}

export interface QueuedAgentRun {
  run: RunDocument;
  warnings: readonly string[];
}

/**
 * Checks the work as a job's would be (law 8) and queues it for whichever node comes first. Counts for no slot.
 * Throws `input.refused` for a schedule or another work than an agent's, and all of `checkDocument`.
 */
export async function queueAgentRun(
  context: Context,
  draft: JobDocument,
  { isAttended = false, isForHere = false }: QueueOptions = {},
): Promise<QueuedAgentRun> {
  const parsed = parseDraft(draft);
  if (parsed.schedule !== undefined || !parsed.run.agent) {
    throw new Fault("input.refused", "A run without a job does an agent's work, once, now.", {
      hint: "Give `run.agent` and no schedule; `job add` makes jobs.",
    });
  }
  const now = await context.ledger.now();
  const { document, job, warnings } = await checkDocument(context, parsed, {
    now,
    zone: context.zone,
    anchor: wholeSecond(now),
    refusePast: false,
    isAttended,
  });
  const ready = { ...document, timezone: job.timezone };
  return { run: await enqueueAgentRun(context, ready, { effects: job.effects, isForHere }), warnings };
}

/** Queues work that was checked: its document has its zone, so that any node reads it alike (T1). */
export async function enqueueAgentRun(
  context: Context,
  document: JobDocument,
  { effects, isForHere }: { effects: Effects; isForHere: boolean },
): Promise<RunDocument> {
  const now = await context.ledger.now();
  const id = makeId(now, context.random);
  const [run] = await context.ledger.enqueue([
    {
      id,
      dedupeKey: `manual/${id}`,
      attempt: 1,
      kind: "agent",
      jobId: undefined,
      version: undefined,
      parentId: undefined,
      rootId: id,
      slot: undefined,
      trigger: "manual",
      effects,
      isExclusive: false,
      idempotencyKey: id,
      readyAt: isForHere ? now + HEAD_START_MS : now,
      createdAt: now,
      input: JSON.stringify(document),
    },
  ]);
  if (!run) throw new Error(`the ledger took no run ${id}`);
  return runDocument(run);
}
