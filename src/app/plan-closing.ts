// What an outcome means for the ledger row, and whether another attempt follows (L1, L6, L13). Pure.

import { backoffMs } from "../kernel/backoff.ts";
import { assertNever } from "../kernel/errors.ts";
import type { Instant } from "../kernel/time.ts";
import type { Effects, RetryPolicy } from "../records/job.ts";
import type { NextAttempt } from "../records/ledger/claims.ts";
import type { Outcome } from "../records/outcome.ts";
import type { Run, TerminalState } from "../records/run.ts";

/** A slot's work is repeated after `unknown` at most this often. @source SEMANTICS L6 */
export const MAX_RERUNS = 2;

export interface ClosingInput {
  run: Run;
  outcome: Outcome;
  /** Whether `running` had been committed: before that, a failed check is `blocked`, not `failed`. */
  hasBegun: boolean;
  retry: RetryPolicy;
  /** Every attempt so far with this dedupe key, this one included; needed only where another may follow. */
  attempts: readonly Pick<Run, "attempt" | "trigger">[];
  finishedAt: Instant;
  /** For the next attempt. */
  nextId: string;
  random: number;
}

export interface ClosingPlan {
  state: TerminalState;
  reason: string | undefined;
  next: NextAttempt | undefined;
}

/** The row's last state, its reason, and the next attempt if the policy or the declared effects allow one. */
export function planClosing(input: ClosingInput): ClosingPlan {
  const { state, reason } = stateOf(input);
  return { state, reason, next: nextAttempt(input, state) };
}

function stateOf({ outcome, hasBegun }: ClosingInput): { state: TerminalState; reason: string | undefined } {
  switch (outcome.state) {
    case "succeeded":
      return {
        state: outcome.isPartial ? "partiallySucceeded" : "succeeded",
        reason: outcome.reason ?? (outcome.isSilent ? "silent" : undefined),
      };
    case "failed":
      return { state: hasBegun ? "failed" : "blocked", reason: outcome.error.code };
    case "cancelled":
      return { state: "cancelled", reason: outcome.by };
    case "timedOut":
      return { state: "timedOut", reason: outcome.limit };
    case "unknown":
      return { state: "unknown", reason: outcome.why };
    default:
      return assertNever(outcome);
  }
}

function nextAttempt(input: ClosingInput, state: TerminalState): NextAttempt | undefined {
  const { run, outcome, attempts, finishedAt } = input;
  // Its workflow decides what follows (peers.md §5.2).
  if (run.parentId !== undefined) return undefined;
  const followUp = { id: input.nextId, idempotencyKey: run.idempotencyKey };
  const isStopped = outcome.state === "cancelled" && outcome.by === "nodeStopped";
  if (state === "unknown" || isStopped) {
    const reruns = attempts.filter((attempt) => attempt.trigger === "rerun").length;
    const isAllowed = isRepeatable(run.effects) && (isStopped || reruns < MAX_RERUNS);
    return isAllowed ? { ...followUp, trigger: "rerun", readyAt: finishedAt } : undefined;
  }
  const retries = attempts.filter((attempt) => attempt.trigger === "retry").length;
  if (!isRetried(outcome, input.retry) || !input.hasBegun || retries >= input.retry.max) return undefined;
  const { delayMs, backoff, maxDelayMs } = input.retry;
  const waitMs = backoffMs(retries + 1, { delayMs, factor: backoff, maxDelayMs }, input.random);
  return { ...followUp, trigger: "retry", readyAt: finishedAt + waitMs };
}

/** Law 4: repeated only where repeating was declared safe. */
export function isRepeatable(effects: Effects): boolean {
  return effects === "none" || effects === "idempotent";
}

function isRetried(outcome: Outcome, policy: RetryPolicy): boolean {
  const words = retryWords(outcome);
  if (words.length === 0) return false;
  if (policy.notOn.some((word) => words.includes(word))) return false;
  return policy.on.length === 0 || policy.on.some((word) => words.includes(word));
}

/** The words of `retry.on` that an outcome answers to; none = never retried (L6: `failed` and `timedOut` only). */
function retryWords(outcome: Outcome): string[] {
  if (outcome.state === "timedOut") return ["timeout"];
  if (outcome.state !== "failed") return [];
  const { code, exitCode } = outcome.error;
  return [
    "failed",
    ...(code === "unavailable" || code === "offline" ? ["unavailable"] : []),
    ...(exitCode === undefined ? [] : [`exit:${exitCode}`]),
  ];
}
