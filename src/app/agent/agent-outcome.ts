// What an agent's end means to the run (DESIGN §6). Pure.

import { type FinalReply, readFinalReply } from "../../agent/loop/final-reply.ts";
import type { LoopEnd } from "../../agent/loop/loop-types.ts";
import { classOfModelError } from "../../agent/models/model-error.ts";
import { isFault } from "../../kernel/errors.ts";
import { outcomeOfAbort } from "../../records/abort-outcome.ts";
import type { ModelErrorClass } from "../../records/model.ts";
import type { Outcome, Usage } from "../../records/outcome.ts";
import type { AbortReason } from "../../records/run-context.ts";

/** A model that may answer later is `unavailable`, the word of `retry.on` (L6). */
const UNAVAILABLE: readonly ModelErrorClass[] = ["network", "timeout", "server", "rateLimit"];

/** The outcome of our own loop; a partial answer is kept whatever ended it. */
export function outcomeOfLoop(end: LoopEnd, abortReason: AbortReason | undefined): Outcome {
  const usage = usageOf(end);
  const cut = end.isCut ? { isTruncated: true } : {};
  const kept = { ...(end.text && { output: end.text }), ...cut, usage };
  switch (end.reason) {
    case "answered":
      return { ...outcomeOfReply(end.text), ...cut, usage };
    case "maxTurns":
      return { ...withReason(outcomeOfReply(end.text), "maxTurns"), ...cut, usage };
    case "interrupted":
      return {
        ...outcomeOfAbort(abortReason ?? { kind: "claimLost" }, {
          stdout: end.text,
          stderr: "",
          isTruncated: end.isCut,
        }),
        usage,
      };
    case "empty":
    case "malformedCalls":
      return { state: "failed", ...kept, error: { code: end.reason, message: end.why } };
    case "failed":
      return { state: "failed", ...kept, error: { code: codeOfModelFailure(end.error), message: end.why } };
  }
}

/** What the last words say: an answer, `[SILENT]`, `[FAILED] why`, or nothing at all, which is a failure. */
export function outcomeOfReply(text: string): Outcome {
  const reply = readFinalReply(text);
  switch (reply.kind) {
    case "text":
      return { state: "succeeded", output: reply.text, isSilent: false };
    case "silent":
      return { state: "succeeded", output: reply.text, isSilent: true };
    case "failed":
      return failedByAgent(reply);
    case "none":
      return { state: "failed", error: { code: "empty", message: "the agent gave no text at all" } };
  }
}

function failedByAgent({ why, text }: Extract<FinalReply, { kind: "failed" }>): Outcome {
  return {
    state: "failed",
    ...(text.trim() !== "" && { output: text }),
    error: { code: "agent", message: `the agent says it failed: ${why}` },
  };
}

function withReason(outcome: Outcome, reason: string): Outcome {
  return outcome.state === "succeeded" && !outcome.isSilent ? { ...outcome, reason } : outcome;
}

/** The code of a call's failure: `unavailable` where a later one may do. */
export function codeOfModelFailure(error: unknown): string {
  if (isFault(error)) return error.code === "budget.spent" ? "budget" : error.code;
  if (error === undefined) return "model";
  const errorClass = classOfModelError(error);
  return UNAVAILABLE.includes(errorClass) ? "unavailable" : `model.${errorClass}`;
}

function usageOf({ usage, costUsd, calls, turns }: LoopEnd): Usage {
  return {
    tokensIn: usage.inputTokens,
    tokensOut: usage.outputTokens,
    ...(costUsd !== undefined && { costUsd }),
    modelCalls: calls,
    turns,
  };
}
