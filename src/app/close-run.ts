// From an outcome to a closing: archive the output, plan state and next attempt, settle what people are told.

import { join } from "node:path";
import { digestUnknowns } from "../deliver/digest.ts";
import { type SettledRun, settleRun } from "../deliver/settle.ts";
import { messageOf } from "../kernel/errors.ts";
import { makeId } from "../kernel/ids.ts";
import type { Instant } from "../kernel/time.ts";
import type { IncidentFacts } from "../records/incident.ts";
import type { Job } from "../records/job.ts";
import type { Settlement } from "../records/ledger/claims.ts";
import type { Outcome, Usage } from "../records/outcome.ts";
import type { Run } from "../records/run.ts";
import { usageFromBudget, usageFromEvents } from "../records/usage.ts";
import type { OutputFiles } from "../store/files/output-files.ts";
import type { Context } from "./context.ts";
import { eventsOfRun } from "./events-of-run.ts";
import { jobOfRunOrNothing } from "./job-of-run.ts";
import { makeKeepMedia } from "./keep-media.ts";
import type { LiveRun } from "./live-run.ts";
import { type ClosingPlan, planClosing } from "./plan-closing.ts";
import type { EndedRun, RecoveryDeps, UnknownPlan, UnknownPlans } from "./recovery.ts";
import type { CloseRun } from "./runner-deps.ts";
import { fraction } from "./system.ts";

const NO_RETRY = { max: 0, delayMs: 0, backoff: 1, maxDelayMs: 0, on: [], notOn: [] } as const;

/** The runner's `planClose`. The file is whole before the closing names it (U2); a disk that cannot take it fails no run. */
export function makePlanClose(context: Context, files: OutputFiles): CloseRun {
  const keepMedia = makeKeepMedia(context);
  return async ({ live, outcome: ended, finishedAt }) => {
    const { run } = live.claimed;
    // Work that keeps its files itself has done so; the others' folder is looked into as long as it is there.
    const folder = join(context.home.paths.workspacesFolder, run.id);
    const source = { kind: "folders", cwd: folder, folders: [folder], redact: context.redact } as const;
    const outcome = await keepMedia(ended, source, run);
    const { usage, ...bare } = outcome;
    const plan = await planFor(context, { run, outcome, job: live.job, hasBegun: live.hasBegun, finishedAt });
    const outputFile = await archive(context, files, { live, outcome, plan, finishedAt });
    return {
      ...plan,
      outcome: withoutFileContent(bare, outputFile),
      ...(usage && { usage }),
      lastActivityAt: live.lastActivityAt,
      known: live.run,
      ...(outputFile !== undefined && { outputFile }),
      ...(live.processes.length > 0 && { endedProcesses: endedProcesses(live, outcome) }),
      ...(run.isSuspect && plan.state === "succeeded" && { strike: "clear" as const }),
      settle: settleWith(context, { job: live.job, outcome, isLastAttempt: plan.next === undefined }),
    };
  };
}

/** Work leaves nothing running (work.ts). Only a run of one process says by its outcome how that ended. */
function endedProcesses({ processes }: LiveRun, outcome: Outcome) {
  const exitCode = processes.length === 1 ? exitCodeOf(outcome) : undefined;
  return processes.map(({ id }) => ({ id, exitCode }));
}

/** Recovery's `planUnknowns`: one alert, or one digest for all that died together (O1). */
export function makePlanUnknowns(context: Context): RecoveryDeps["planUnknowns"] {
  return async (ended, finishedAt) => {
    const planned = await Promise.all(ended.map((one) => planUnknown(context, one, finishedAt)));
    const isDigested =
      planned.filter(({ plan, job }) => plan.next === undefined && job !== undefined).length > 1;
    if (isDigested) return digestedPlans(context, planned);
    return {
      plans: planned.map((one) => ({ ...one.plan, settle: settleUnknown(context, one, false) })),
      leftover: () => [],
    };
  };
}

/**
 * Streaks are settled one by one; the last to be settled puts the digest of those whose cause people do not know yet, in
 * the same transaction. Where somebody else closed just that one, the digest is left over for the caller to put.
 */
function digestedPlans(context: Context, planned: readonly PlannedUnknown[]): UnknownPlans {
  const news: Parameters<typeof digestUnknowns>[0][number][] = [];
  let isPut = false;
  const digest = () => digestUnknowns(news, (job) => context.rowsFor(job.origin));
  const plans = planned.map((one, index): UnknownPlan => {
    const settle = settleUnknown(context, one, true);
    return {
      ...one.plan,
      settle: (streak, run, incidents) => {
        // The transaction may be tried again from its first row.
        if (index === 0) news.length = 0;
        const settlement = settle(streak, run, incidents);
        if (one.job && one.plan.next === undefined && settlement.isNews)
          news.push({ job: one.job, run, outcome: one.ended.outcome });
        if (index < planned.length - 1) return settlement;
        isPut = true;
        return { ...settlement, deliveries: [...settlement.deliveries, ...digest()] };
      },
    };
  });
  return { plans, leftover: () => (isPut ? [] : digest()) };
}

interface PlannedUnknown {
  ended: EndedRun;
  job: Job | undefined;
  plan: ClosingPlan & Pick<UnknownPlan, "usage">;
}

async function planUnknown(context: Context, ended: EndedRun, finishedAt: Instant): Promise<PlannedUnknown> {
  const { run } = ended.taken;
  const job = jobOfRunOrNothing(context, ended.taken);
  const plan = await planFor(context, { run, outcome: ended.outcome, job, hasBegun: true, finishedAt });
  const usage = await usageOfDead(context, run, job);
  return { ended, job, plan: { ...plan, ...(usage && { usage }) } };
}

/** Whoever counted is dead: the run's log tells of each call that ended, the tree's budget of what was set aside too (S3). */
async function usageOfDead(
  context: Context,
  { id, rootId }: Run,
  job: Job | undefined,
): Promise<Usage | undefined> {
  const mayTell = !job || job.work.kind === "agent";
  const told = mayTell ? usageFromEvents(await eventsOfRun(context, id)) : undefined;
  const budget = id === rootId ? await context.ledger.budget(id) : undefined;
  return budget ? { ...told, ...usageFromBudget(budget) } : told;
}

function settleUnknown(context: Context, { ended, job, plan }: PlannedUnknown, isDigested: boolean): Settle {
  return settleWith(context, {
    job,
    outcome: ended.outcome,
    isLastAttempt: plan.next === undefined,
    isDigested,
  });
}

type Settle = (streak: Settlement["streak"], run: Run, incidents?: IncidentFacts) => SettledRun;

function settleWith(
  context: Context,
  input: { job: Job | undefined; outcome: Outcome; isLastAttempt: boolean; isDigested?: boolean },
): Settle {
  return (streak, run, incidents) => {
    const { job, outcome, isLastAttempt, isDigested = false } = input;
    if (!job) return { streak, deliveries: [] };
    return settleRun(
      { job, run, outcome, streak, incidents, isLastAttempt, isDigested },
      context.rowsFor(job.origin),
    );
  };
}

interface PlanFacts {
  run: Run;
  outcome: Outcome;
  job: Job | undefined;
  hasBegun: boolean;
  finishedAt: Instant;
}

async function planFor(
  context: Context,
  { run, outcome, job, hasBegun, finishedAt }: PlanFacts,
): Promise<ClosingPlan> {
  // Most runs succeed: only where another attempt may follow are the earlier ones read.
  const mayRepeat = outcome.state !== "succeeded";
  const attempts = mayRepeat ? await context.ledger.attempts(run.dedupeKey) : [];
  return planClosing({
    run,
    outcome,
    hasBegun,
    retry: job?.retry ?? NO_RETRY,
    attempts,
    finishedAt,
    nextId: mayRepeat ? makeId(finishedAt, context.random) : "",
    random: mayRepeat ? fraction(context.random) : 0,
  });
}

async function archive(
  context: Context,
  files: OutputFiles,
  {
    live,
    outcome,
    plan,
    finishedAt,
  }: { live: LiveRun; outcome: Outcome; plan: ClosingPlan; finishedAt: Instant },
): Promise<string | undefined> {
  const { run } = live.claimed;
  const body = outputBody(outcome);
  // An agent's conversation lies beside its output, so there must be one to lie beside.
  const hasConversation = outcome.usage?.turns !== undefined;
  if ((body.trim() === "" && !hasConversation) || live.abortReason?.kind === "claimLost") return undefined;
  try {
    return await files.write({
      jobId: run.jobId,
      runId: run.id,
      slot: run.slot,
      createdAt: run.createdAt,
      state: plan.state,
      reason: plan.reason,
      startedAt: live.startedAt,
      finishedAt,
      exitCode: exitCodeOf(outcome),
      isTruncated: outcome.isTruncated,
      body,
    });
  } catch (error) {
    context.log.error("output-not-archived", { runId: run.id, error: messageOf(error) });
    return undefined;
  }
}

function outputBody(outcome: Outcome): string {
  const output = outcome.output ?? "";
  if (outcome.state !== "failed" || !outcome.error.stderrTail) return output;
  return `${output}${output === "" || output.endsWith("\n") ? "" : "\n"}\n--- stderr ---\n${outcome.error.stderrTail}`;
}

/** The ledger keeps the beginning of what the file holds in full: rows stay small, nothing is lost. */
function withoutFileContent(outcome: Outcome, outputFile: string | undefined): Outcome {
  if (
    outputFile === undefined ||
    outcome.output === undefined ||
    outcome.output.length <= ROW_OUTPUT_CHARACTERS
  )
    return outcome;
  return { ...outcome, output: outcome.output.slice(0, ROW_OUTPUT_CHARACTERS), isTruncated: true };
}

const ROW_OUTPUT_CHARACTERS = 16_000;

function exitCodeOf(outcome: Outcome): number | undefined {
  if (outcome.state === "succeeded") return 0;
  return outcome.state === "failed" ? outcome.error.exitCode : undefined;
}
