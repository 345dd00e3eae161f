// `run retry RUN --from TASK`: queues a run of the same workflow that takes over what need not be done again.

import { Fault, nearestWord } from "../../kernel/errors.ts";
import { makeId } from "../../kernel/ids.ts";
import { isTerminal, type Run } from "../../records/run.ts";
import type { Context } from "../context.ts";
import { type RunDocument, runDocument } from "../documents.ts";
import { readJournal } from "./journal.ts";
import { RETRY_KEY, type RetryFrom } from "./retry-from.ts";

/**
 * Throws `input.refused` for a run that is no workflow's, `input.conflict` while it is open, `input.not-found` for a task it
 * has not, or a journal that retention has pruned.
 */
export async function retryFromTask(
  context: Context,
  run: Run,
  { task, isDownstream }: { task: string; isDownstream: boolean },
): Promise<RunDocument> {
  if (run.kind !== "workflow")
    throw new Fault("input.refused", `run ${run.id} is no workflow's, so it has no tasks to begin from`, {
      hint: "Leave --from out.",
    });
  if (!isTerminal(run.state))
    throw new Fault("input.conflict", `run ${run.id} is ${run.state}`, {
      hint: "Wait for its end, or cancel it first.",
    });
  const journal = readJournal(await context.ledger.journal(run.id));
  if (!journal)
    throw new Fault(
      "input.not-found",
      `run ${run.id} has no journal: it never began, or retention has pruned it`,
      {
        hint: "Run the workflow anew.",
      },
    );
  const ids = journal.beginning.document.tasks.map(({ id }) => id);
  if (!ids.includes(task)) {
    const nearest = nearestWord(task, ids);
    throw new Fault("input.not-found", `${journal.beginning.document.name} has no task "${task}"`, {
      hint: nearest ? `Did you mean ${nearest}?` : `Its tasks are ${ids.join(", ")}.`,
    });
  }
  const retry: RetryFrom = { run: run.id, task, isDownstream };
  const now = await context.ledger.now();
  const id = makeId(now, context.random);
  const input = { ...(run.input === undefined ? {} : JSON.parse(run.input)), [RETRY_KEY]: retry };
  const [queued] = await context.ledger.enqueue([
    {
      ...{ id, dedupeKey: `manual/${id}`, attempt: 1, kind: "workflow", parentId: undefined, rootId: id },
      ...{ jobId: run.jobId, version: run.version, slot: undefined, trigger: "manual", effects: run.effects },
      ...{ isExclusive: run.isExclusive, idempotencyKey: id, readyAt: now, createdAt: now },
      input: JSON.stringify(input),
      ...(run.admission && { queue: run.queue, admission: { ...run.admission, enqueuedAt: now } }),
    },
  ]);
  if (!queued) throw new Error(`the ledger took no run ${id}`);
  return runDocument(queued);
}
