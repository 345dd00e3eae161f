// What the end of a run means for people: which messages, and where the job's streak of failures stands. Pure.
//
// I1. A failed delivery is no failure of the run, and a silent success is still a success: it ends a streak (law 5).
// I2. Alerts are put when a slot's last attempt has ended (O1); earlier attempts leave the streak as it is.
// I3. Equal failures in a row alert once, then when the cause changes, then on recovery (O1): incidents.ts decides.

import type { Streak } from "../records/definition.ts";
import type { NewDelivery } from "../records/delivery.ts";
import type { Incident, IncidentFacts } from "../records/incident.ts";
import type { Job } from "../records/job.ts";
import type { Settlement } from "../records/ledger/claims.ts";
import { withoutMediaLines } from "../records/media.ts";
import type { Outcome } from "../records/outcome.ts";
import type { Run } from "../records/run.ts";
import { causeOf } from "./cause.ts";
import { fillFrame } from "./frame.ts";
import { DEFAULT_ALERTS, type IncidentPlan, planFailure, planRecovery } from "./incidents.ts";
import { alertText, headline, recoveryText } from "./messages.ts";
import { mirrorRows } from "./mirror.ts";
import { type Message, type RowContext, rowsOf } from "./outbox-rows.ts";
import { LOCAL } from "./route.ts";

export type SettledJob = Pick<Job, "id" | "name" | "timezone" | "deliver" | "onFailure"> &
  Partial<Pick<Job, "autoPause">>;

export interface SettleInput {
  job: SettledJob;
  /** The row as it will stand. */
  run: Run;
  outcome: Outcome;
  /** As the closing transaction finds it. */
  streak: Streak;
  /** The job's incidents, as the closing transaction finds them. Absent = none are known. */
  incidents?: IncidentFacts | undefined;
  /** No retry and no rerun follows. */
  isLastAttempt: boolean;
  /** The alert goes out in a digest made by the caller (`digestUnknowns`): only the streak is settled here. */
  isDigested?: boolean;
}

/** A settlement, and whether a failure is news (for whoever makes the digest). */
export type SettledRun = Settlement & { isNews?: boolean };

const NO_INCIDENTS: IncidentFacts = { incidents: [], toldLately: { count: 0, firstAt: undefined } };

/** Deliveries, streak and incidents of one closing. Recovery stands before the result, so it arrives first. */
export function settleRun(input: SettleInput, context: RowContext): SettledRun {
  if (isSuccess(input.run)) return settleSuccess(input, context);
  if (isFailure(input.run, input.outcome) && input.isLastAttempt) return settleFailure(input, context);
  return { streak: input.streak, deliveries: [] };
}

function settleSuccess(input: SettleInput, context: RowContext): SettledRun {
  const { job, run, outcome, streak } = input;
  const deliveries: NewDelivery[] = [];
  const recovery = recoveryOf(input, context);
  if (recovery.isNews) {
    const text = recoveryText({ job, run, failures: streak.failures });
    deliveries.push(...rowsOf(messageOf(run, "recovery", { selectors: job.onFailure, text }), context));
  }
  const isSilent = outcome.state === "succeeded" && outcome.isSilent;
  if (!isSilent) {
    const { output = "", media } = outcome;
    const text = media ? withoutMediaLines(output) : output;
    const frame = context.frame && fillFrame(context.frame, { job, run });
    const message = messageOf(run, "result", { selectors: job.deliver, text, media, frame });
    const results = rowsOf(message, context).map((row) => keptAlready(row, run));
    deliveries.push(...results, ...mirrorRows({ ...message, title: job.name }, results, context));
  }
  return {
    streak: { failures: 0, cause: undefined, isAlerted: false },
    deliveries,
    ...withIncidents(recovery.incidents),
  };
}

/** The archived output was whole before this closing names it (U2): `local` has its result without another try. */
function keptAlready(row: NewDelivery, { outputFile: id, finishedAt: at }: Run): NewDelivery {
  const isKept = row.state === "queued" && row.target.text === LOCAL.text && row.media === undefined;
  if (!isKept || id === undefined || at === undefined) return row;
  return { ...row, state: "delivered", receipt: { id, at } };
}

function recoveryOf(
  { run, streak, incidents = NO_INCIDENTS }: SettleInput,
  context: RowContext,
): IncidentPlan {
  const plan = planRecovery(incidents, run.finishedAt ?? run.createdAt, context.alerts ?? DEFAULT_ALERTS);
  // A streak from before incidents were kept, or work that is no job's.
  if (incidents.incidents.length > 0) return plan;
  return { ...plan, isNews: streak.isAlerted };
}

function settleFailure(input: SettleInput, context: RowContext): SettledRun {
  const { job, run, outcome, streak, isDigested = false } = input;
  const cause = causeOf(run, outcome);
  const failures = streak.failures + 1;
  const isPaused = job.autoPause !== undefined && failures % job.autoPause === 0;
  const plan = incidentOf(input, context, { cause, isPaused });
  const incident = plan.incidents.at(-1);
  const isKnown = streak.isAlerted && streak.cause === cause;
  const isAlerted = isKnown || incident?.told === "failing" || plan.isNews;
  const settled: SettledRun = {
    streak: { failures, cause, isAlerted },
    deliveries: [],
    isNews: plan.isNews,
    ...withIncidents(plan.incidents),
    ...(isPaused && {
      pause: { reason: `${failures} failures in a row, the last: ${headline(run, outcome)}` },
    }),
  };
  if (!plan.isNews || isDigested) return settled;
  const text = alertText({ job, run, outcome, failures, incident, digestAt: plan.digestAt, isPaused });
  const message = messageOf(run, "alert", { selectors: job.onFailure, text });
  return { ...settled, deliveries: rowsOf(message, context) };
}

function incidentOf(
  { job, run, outcome, streak, incidents = NO_INCIDENTS, isDigested }: SettleInput,
  context: RowContext,
  { cause, isPaused }: { cause: string; isPaused: boolean },
): IncidentPlan {
  const hasListeners = job.onFailure.length > 0;
  const isKnown = streak.isAlerted && streak.cause === cause;
  // Work that is no job's (an agent's run from the command line) has no history: each of its failures is news.
  if (run.jobId === undefined)
    return { incidents: [], isNews: hasListeners && !isKnown, digestAt: undefined };
  const error = headline(run, outcome);
  const at = run.finishedAt ?? run.createdAt;
  const plan = planFailure(
    incidents,
    { jobId: run.jobId, cause, error: context.redact(error), runId: run.id, at },
    {
      limits: context.alerts ?? DEFAULT_ALERTS,
      hasListeners,
      urgency: isPaused ? "always" : isDigested ? "unheld" : "usual",
    },
  );
  // A streak from before incidents were kept: people know already.
  const isNews = plan.isNews && !(isKnown && incidents.incidents.length === 0 && !isPaused);
  return { ...plan, isNews };
}

function withIncidents(incidents: readonly Incident[]): Pick<Settlement, "incidents"> {
  return incidents.length === 0 ? {} : { incidents };
}

/** A rerun of an `unknown` keeps its dedupeKey, so an alert's subject names the attempt: its failure is another fact. */
function messageOf(
  run: Run,
  kind: "result" | "alert" | "recovery",
  content: Pick<Message, "selectors" | "text" | "media" | "frame">,
): Message {
  const subject = kind === "result" ? run.dedupeKey : `${run.dedupeKey}@${run.attempt}`;
  return { subject, kind, runId: run.id, jobId: run.jobId, ...content };
}

function isSuccess(run: Run): boolean {
  return run.state === "succeeded" || run.state === "partiallySucceeded";
}

/** A person's cancel is no failure; a run that its stopping node took along is one (L13). */
function isFailure(run: Run, outcome: Outcome): boolean {
  if (run.state === "cancelled") {
    return run.reason === "nodeStopped" || (outcome.state === "cancelled" && outcome.by === "nodeStopped");
  }
  return ["failed", "timedOut", "unknown", "blocked"].includes(run.state);
}
