// An attempt has ended, or its owner is gone: what now? Retry, fallback, a person's word, or the end of the unit
// (peers.md §5.2, 6, 10 and 12; SEMANTICS L3, L6, W5).
//
// I1. `unknown` is not `failed`: a lost attempt runs again only where repeating was declared safe, at most twice.
// I2. A retry repeats the same executor; then the fallbacks come, each with attempts of its own; then `onFailure`.

import { createHash } from "node:crypto";
import { backoffMs } from "../../kernel/backoff.ts";
import type { Instant } from "../../kernel/time.ts";
import type { Task } from "../../records/workflow.ts";
import { pickOutputs } from "./pick-outputs.ts";
import type { AttemptOutcome, Decision, Progress, TaskError, UnitState } from "./progress.ts";

/** @source SEMANTICS L6. */
const MOST_RERUNS = 2;

export interface Judged {
  task: Task;
  unit: string;
  state: UnitState;
  progress: Progress;
  now: Instant;
  /** The run is being cancelled, and this unit with it. */
  isCancelled: boolean;
  /** What is wrong with a result; undefined when the task's `schema` accepts it. */
  refuseResult(result: unknown): string | undefined;
}

/** What follows from an attempt's end. */
export function judgeOutcome(judged: Judged): Decision {
  const { unit, now, state, task } = judged;
  const outcome = read(state.outcome ?? { state: "cancelled" }, judged);
  switch (outcome.state) {
    case "succeeded":
    case "partiallySucceeded": {
      const result = outcome.result ?? null;
      const outputs = pickOutputs(task.outputs, result);
      const hasWarning = statusOf(result) === "warning" || undefined;
      return { kind: "end", unit, at: now, state: outcome.state, result, outputs, hasWarning };
    }
    case "cancelled":
      return { kind: "end", unit, at: now, state: "cancelled", reason: state.stopping ?? "cancelled" };
    case "offline":
    case "failed":
    case "timedOut":
      return judgeFailure(judged, outcome);
  }
}

/** What follows from a lost owner (I1). One that had not begun simply starts again (L3). */
export function judgeLoss(judged: Judged): Decision {
  const { unit, state, task, now } = judged;
  if (state.reason === "queued") return startAgain(judged, state.executor);
  const isSafe = task.effects !== "external" || task.onUnknown === "rerun";
  if (isSafe && state.reruns < MOST_RERUNS) return startAgain(judged, state.executor);
  if (task.onUnknown === "fail" && !isSafe) return failed(judged, LOST);
  return { kind: "wait", unit, at: now, reason: "effect", executor: state.executor };
}

const LOST: TaskError = {
  code: "unknown",
  message: "its node died while it ran, and nobody knows how far it came",
};

/** A person's word about an approval or about an attempt whose effect is unknown. */
export function judgeResolution(judged: Judged): Decision | undefined {
  const { unit, now, state } = judged;
  const word = state.resolution;
  if (!word) return undefined;
  const isApproval = state.reason === "approval";
  if (word.as === "rerun" && !isApproval) return startAgain(judged, state.executor);
  if (word.as === "succeeded") {
    const result = word.result ?? (isApproval ? { approved: true, by: word.by } : null);
    return { kind: "end", unit, at: now, state: "succeeded", reason: `by ${word.by}`, result };
  }
  if (word.as === "rerun") return undefined;
  const message = isApproval ? `refused by ${word.by}` : `called failed by ${word.by}`;
  return failed(judged, { code: isApproval ? "rejected" : "unknown", message });
}

/** The next attempt, on this executor or, where it is offline, on the first fallback that is not. */
export function startAgain({ unit, state, now }: Judged, executor: number): Decision {
  return { kind: "start", unit, at: now, attempt: state.attempt + 1, executor };
}

/** The executor to use from position `from` on: one that is known to be offline is passed over where another is not. */
export function onlineFrom(task: Task, progress: Progress, from: number): number {
  if (!task.fallbackOn.includes("offline")) return from;
  const names = [task.work.kind === "executor" ? task.work.executor : undefined, ...task.fallback];
  const found = names.findIndex(
    (name, at) => at >= from && (name === undefined || !progress.offline.has(name)),
  );
  return found < 0 ? from : found;
}

type Failure = Extract<AttemptOutcome, { error: TaskError }>;

function judgeFailure(judged: Judged, outcome: Failure): Decision {
  const { task, unit, state, now } = judged;
  if (judged.isCancelled || state.stopping === "cancelled" || state.stopping === "failFast")
    return { kind: "end", unit, at: now, state: "cancelled", reason: state.stopping ?? "cancelled" };
  const next = nextExecutor(judged, outcome);
  if (outcome.state === "offline" && next !== undefined) return startAgain(judged, next);
  const isRetried = state.tries <= task.retry.max && isCovered(task, outcome);
  if (isRetried) {
    const until = now + delayMs(judged);
    return { kind: "wait", unit, at: now, reason: "retry", until, executor: state.executor };
  }
  if (next !== undefined) return startAgain(judged, next);
  const end = outcome.state === "timedOut" ? "timedOut" : "failed";
  return { kind: "end", unit, at: now, state: end, error: outcome.error, reason: outcome.error.code };
}

function nextExecutor({ task, state, progress }: Judged, outcome: Failure): number | undefined {
  const cause = outcome.state === "offline" ? "offline" : "failed";
  if (!task.fallbackOn.includes(cause) || state.executor >= task.fallback.length) return undefined;
  return onlineFrom(task, progress, state.executor + 1);
}

/** L6: the words of `on` and `notOn`; an empty `on` is all of them. */
function isCovered({ retry }: Task, outcome: Failure): boolean {
  const words = new Set<string>(outcome.state === "timedOut" ? ["timeout"] : ["failed"]);
  if (outcome.state === "offline" || outcome.error.code === "unavailable") words.add("unavailable");
  if (outcome.error.exitCode !== undefined) words.add(`exit:${outcome.error.exitCode}`);
  if (NEVER_RETRIED.has(outcome.error.code) || retry.notOn.some((word) => words.has(word))) return false;
  return retry.on.length === 0 || retry.on.some((word) => words.has(word));
}

/** What another attempt with the same input cannot change. */
const NEVER_RETRIED = new Set(["template", "budget", "preflight"]);

/** Jitter is a stable function of unit and attempt, so that the same journal gives the same decisions. */
function delayMs({ task, unit, state, progress }: Judged): number {
  const { delayMs: delay, backoff, maxDelayMs, hasJitter } = task.retry;
  const digest = createHash("sha256").update(`${progress.start.uuid}/${unit}/${state.attempt}`).digest();
  const random = hasJitter ? digest.readUInt32BE(0) / 2 ** 32 : 0.5;
  return backoffMs(Math.max(1, state.tries), { delayMs: delay, factor: backoff, maxDelayMs }, random);
}

/** `status: error` inside a result fails the task; a result that its schema refuses does as well (peers.md §5.2, 12). */
function read(outcome: AttemptOutcome, judged: Judged): AttemptOutcome {
  if (outcome.state !== "succeeded") return outcome;
  if (statusOf(outcome.result) === "error") {
    const { error, message } = outcome.result as Record<string, unknown>;
    const text = [error, message].find((part) => typeof part === "string");
    return {
      state: "failed",
      error: { code: "status", message: String(text ?? "its result says status: error") },
    };
  }
  const refusal = judged.refuseResult(outcome.result ?? null);
  return refusal === undefined ? outcome : { state: "failed", error: { code: "schema", message: refusal } };
}

function statusOf(result: unknown): unknown {
  return typeof result === "object" && result !== null && "status" in result ? result.status : undefined;
}

function failed({ unit, now }: Judged, error: TaskError): Decision {
  return { kind: "end", unit, at: now, state: "failed", error, reason: error.code };
}
