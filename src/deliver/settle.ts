// What the end of a run means for people: which messages, and where the job's streak of failures stands. Pure.
//
// I1. A failed delivery is no failure of the run, and a silent success is still a success: it ends a streak (law 5).
// I2. Alerts are put when a slot's last attempt has ended (O1); earlier attempts leave the streak as it is.
// I3. Equal failures in a row alert once, then when the cause changes, then on recovery (O1).

import type { Streak } from "../records/definition.ts";
import type { NewDelivery } from "../records/delivery.ts";
import type { Job } from "../records/job.ts";
import type { Settlement } from "../records/ledger/claims.ts";
import type { Outcome } from "../records/outcome.ts";
import type { Run } from "../records/run.ts";
import { causeOf } from "./cause.ts";
import { alertText, recoveryText } from "./messages.ts";
import { mirrorRows } from "./mirror.ts";
import { type Message, type RowContext, rowsOf } from "./outbox-rows.ts";

export type SettledJob = Pick<Job, "id" | "name" | "timezone" | "deliver" | "onFailure">;

export interface SettleInput {
  job: SettledJob;
  /** The row as it will stand. */
  run: Run;
  outcome: Outcome;
  /** As the closing transaction finds it. */
  streak: Streak;
  /** No retry and no rerun follows. */
  isLastAttempt: boolean;
  /** The alert goes out in a digest made by the caller (`digestUnknowns`): only the streak is settled here. */
  isDigested?: boolean;
}

/** Deliveries and streak of one closing. Recovery stands before the result, so it arrives first. */
export function settleRun(input: SettleInput, context: RowContext): Settlement {
  if (isSuccess(input.run)) return settleSuccess(input, context);
  if (isFailure(input.run, input.outcome) && input.isLastAttempt) return settleFailure(input, context);
  return { streak: input.streak, deliveries: [] };
}

function settleSuccess({ job, run, outcome, streak }: SettleInput, context: RowContext): Settlement {
  const deliveries: NewDelivery[] = [];
  if (streak.isAlerted) {
    const text = recoveryText({ job, run, failures: streak.failures });
    deliveries.push(...rowsOf(messageOf(run, "recovery", { selectors: job.onFailure, text }), context));
  }
  const isSilent = outcome.state === "succeeded" && outcome.isSilent;
  if (!isSilent) {
    const text = outcome.output ?? "";
    const message = messageOf(run, "result", { selectors: job.deliver, text });
    const results = rowsOf(message, context);
    deliveries.push(...results, ...mirrorRows({ ...message, title: job.name }, results, context));
  }
  return { streak: { failures: 0, cause: undefined, isAlerted: false }, deliveries };
}

function settleFailure(input: SettleInput, context: RowContext): Settlement {
  const { job, run, outcome, streak } = input;
  const cause = causeOf(run, outcome);
  const failures = streak.failures + 1;
  const isKnown = streak.isAlerted && streak.cause === cause;
  const isAlerted = isKnown || job.onFailure.length > 0;
  const next: Streak = { failures, cause, isAlerted };
  if (isKnown || input.isDigested) return { streak: next, deliveries: [] };
  const text = alertText({ job, run, outcome, failures });
  const message = messageOf(run, "alert", { selectors: job.onFailure, text });
  return { streak: next, deliveries: rowsOf(message, context) };
}

/** A rerun of an `unknown` keeps its dedupeKey, so an alert's subject names the attempt: its failure is another fact. */
function messageOf(
  run: Run,
  kind: "result" | "alert" | "recovery",
  content: Pick<Message, "selectors" | "text">,
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
