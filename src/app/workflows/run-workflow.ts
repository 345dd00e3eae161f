// A workflow as a kind of work (work.ts): begun or gone on with, run to its end, and turned into an outcome.

import { Fault, isFault, messageOf, sayFault } from "../../kernel/errors.ts";
import { foldJournal } from "../../orchestrate/graph/apply-entry.ts";
import { type JournalEntry, newProgress, type Progress } from "../../orchestrate/graph/progress.ts";
import type { Admission, Claim, Run } from "../../records/run.ts";
import type { RunContext } from "../../records/run-context.ts";
import type { Resources } from "../../records/workflow.ts";
import { untilStored } from "../until-stored.ts";
import { preflightFailure, type WorkEnd, type WorkInput } from "../work.ts";
import { fillParams, startOf, triggerOf } from "./begin-run.ts";
import { groupOf } from "./concurrency-group.ts";
import { type Beginning, formatEntry, readJournal } from "./journal.ts";
import type { RunDeps, StartedWorkflow } from "./live-workflow.ts";
import { ProgressWriter } from "./progress-writer.ts";
import { readRetry, retriedEntries } from "./retry-from.ts";
import { WORKFLOWS_QUEUE } from "./task-rows.ts";
import { outcomeOfWorkflow, withFilesOf } from "./workflow-outcome.ts";
import { WorkflowRun } from "./workflow-run.ts";
import {
  machinesFor,
  type PlannedWorkflow,
  planChecked,
  planUnchecked,
  readWorkflow,
  type WorkflowDeps,
  type WorkflowReference,
} from "./workflow-source.ts";

export interface RunWorkflowDeps extends WorkflowDeps {
  /** What a run is given, by the executors that are registered as it begins. */
  runDeps(
    planned: PlannedWorkflow & { machines: readonly Resources[] },
    input: WorkInput,
    ctx: RunContext,
  ): RunDeps;
  /** Registers a live run for wake-ups; the answer takes it off. */
  watch(runId: string, run: WorkflowRun): () => void;
}

/** Never rejects for what a workflow can be wrong with. */
export async function runWorkflow(
  deps: RunWorkflowDeps,
  input: WorkInput,
  ctx: RunContext,
): Promise<WorkEnd> {
  const begun = await beginOrRefuse(deps, input, ctx);
  if ("end" in begun) return begun.end;
  const { planned, started, recorded, unwritten } = begun;
  const machines = await machinesFor(deps.context, planned);
  const runDeps = deps.runDeps({ ...planned, machines }, input, ctx);
  const { claim, progress } = started;
  const writer = new ProgressWriter(deps.context, { claim, recorded, unwritten, giveUp: runDeps.giveUp });
  const run = new WorkflowRun(runDeps, { started, ctx, writer });
  const unwatch = deps.watch(ctx.run.id, run);
  try {
    const end = await run.run();
    if (end === "stopped") return { state: "yielded" };
    if (end === "lost") return { state: "cancelled", by: "claimLost" };
    const outcome = outcomeOfWorkflow(planned.plan, progress, ctx.abortReason());
    if (outcome.state !== "succeeded") return outcome;
    // A store that is busy just now must not make a failure of what the journal calls done.
    const read = () => deps.context.ledger.tasksOf(ctx.run.id);
    return withFilesOf(outcome, await untilStored(deps.context, "read tasks", read, runDeps.giveUp));
  } finally {
    unwatch();
  }
}

interface Begun {
  planned: PlannedWorkflow;
  started: StartedWorkflow;
  /** Entries that the journal holds already. */
  recorded: number;
  /** Entries that it does not hold yet. */
  unwritten: readonly string[];
}

async function beginOrRefuse(
  deps: RunWorkflowDeps,
  input: WorkInput,
  ctx: RunContext,
): Promise<Begun | { end: WorkEnd }> {
  const texts = await deps.context.ledger.journal(ctx.run.id);
  const known = readJournal(texts);
  if (known) {
    if (!(await ctx.begin())) return { end: { state: "cancelled", by: "claimLost" } };
    const planned = await planUnchecked(deps, known.beginning.document);
    return begunWith(planned, ctx.run, { progress: known.progress, recorded: texts.length, unwritten: [] });
  }
  try {
    return await beginAnew(deps, input, ctx);
  } catch (error) {
    if (isFault(error)) return { end: preflightFailure(sayFault(error)) };
    return { end: { state: "failed", error: { code: "internal", message: messageOf(error) } } };
  }
}

async function beginAnew(
  deps: RunWorkflowDeps,
  { job }: WorkInput,
  ctx: RunContext,
): Promise<Begun | { end: WorkEnd }> {
  const { run } = ctx;
  const retry = readRetry(run);
  const earlier = retry && readJournal(await deps.context.ledger.journal(retry.run));
  if (retry && !earlier)
    throw new Fault("input.not-found", `the journal of run ${retry.run} is gone`, {
      hint: "Retention has pruned it: run the workflow anew.",
    });
  const reference: WorkflowReference = job.work.kind === "workflow" ? job.work.workflow : {};
  const planned = earlier
    ? await planUnchecked(deps, earlier.beginning.document)
    : await planChecked(deps, await readWorkflow(deps.context, reference));
  const given = earlier?.beginning.start.params ?? fillParams(planned.workflow, reference.params ?? {});
  const now = deps.context.clock.now();
  const start = startOf(run, { params: given, now, trigger: triggerOf(run) });
  const progress = newProgress(start);
  const group = groupOf(planned, progress);
  if (group && !run.admission?.group) {
    const admission: Admission = { ...run.admission, enqueuedAt: run.createdAt, group };
    return { end: { state: "yielded", queue: WORKFLOWS_QUEUE, admission } };
  }
  if (!(await ctx.begin())) return { end: { state: "cancelled", by: "beforeStart" } };
  await openBudget(deps, planned, run);
  const beginning: Beginning = {
    ...{ kind: "begin", document: planned.document, start },
    ...(retry && { from: retry.run }),
  };
  const kept = retry && earlier ? retriedEntries(planned.plan, earlier.entries, retry) : [];
  return begunWith(planned, run, { ...progressAfter(progress, kept), beginning });
}

/** Taken-over entries belong to the beginning: written with it. */
function progressAfter(progress: Progress, kept: readonly JournalEntry[]) {
  return {
    progress: kept.length === 0 ? progress : foldJournal(progress.start, kept),
    recorded: 0,
    unwritten: kept.map(formatEntry),
  };
}

function begunWith(
  planned: PlannedWorkflow,
  run: Run,
  parts: { progress: Progress; recorded: number; unwritten: readonly string[]; beginning?: Beginning },
): Begun {
  const { progress, recorded, unwritten, beginning } = parts;
  const claim: Claim = { runId: run.id, owner: run.owner ?? "", token: run.token };
  return {
    ...{ planned, recorded },
    unwritten: beginning ? [formatEntry(beginning), ...unwritten] : unwritten,
    started: { workflow: planned.workflow, plan: planned.plan, claim, progress },
  };
}

async function openBudget({ context }: WorkflowDeps, { workflow }: PlannedWorkflow, run: Run): Promise<void> {
  const { tokens, usd } = workflow.budget;
  if (tokens === undefined && usd === undefined) return;
  await context.ledger.openBudget(run.rootId, {
    maxTokens: tokens,
    maxMicroUsd: usd === undefined ? undefined : Math.round(usd * 1_000_000),
  });
}
