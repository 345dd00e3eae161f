// What a script's end means (DESIGN §6). Pure: exit, abort reason and kept output in, Outcome out.

import { assertNever, isFault, messageOf } from "../kernel/errors.ts";
import type { Outcome } from "../records/outcome.ts";
import type { AbortReason } from "../records/run-context.ts";
import type { CommandExit } from "./spawn-held.ts";

/** Characters of stderr that go into the ledger with a failure; the live log has more. */
const STDERR_TAIL = 8_000;
const LAST_LINE = 200;

/** What was kept of the output, already redacted. */
export interface KeptOutput {
  stdout: string;
  stderr: string;
  isTruncated: boolean;
}

const NOTHING: KeptOutput = { stdout: "", stderr: "", isTruncated: false };

/** Exit 0: stdout verbatim, silent when blank. Otherwise `exit` or `signal`, with the tail of stderr. */
export function outcomeOfExit(exit: CommandExit, kept: KeptOutput): Outcome {
  const part = partOf(kept);
  if (exit.exitCode === 0)
    return { state: "succeeded", ...part, output: kept.stdout, isSilent: kept.stdout.trim() === "" };
  const stderrTail = kept.stderr.slice(-STDERR_TAIL);
  const last = lastLine(stderrTail);
  const told = last && `: ${last}`;
  const tail = stderrTail && { stderrTail };
  if (exit.exitCode !== undefined) {
    const { exitCode } = exit;
    return {
      state: "failed",
      ...part,
      error: { code: "exit", message: `exited ${exitCode}${told}`, exitCode, ...tail },
    };
  }
  const signal = exit.signal ?? "an unknown signal";
  return {
    state: "failed",
    ...part,
    error: { code: "signal", message: `ended by ${signal}${told}`, signal, ...tail },
  };
}

/** An aborted run, with the output it had. A reason we do not know is a bug of the caller, told as `unknown`. */
export function outcomeOfAbort(reason: AbortReason, kept: KeptOutput = NOTHING): Outcome {
  const part = partOf(kept);
  switch (reason.kind) {
    case "cancel":
      return { state: "cancelled", ...part, by: reason.by };
    case "nodeStopped":
      return { state: "cancelled", ...part, by: "nodeStopped" };
    case "claimLost":
      return { state: "unknown", ...part, why: "claim lost" };
    case "idleTimeout":
    case "totalTimeout":
      return {
        state: "timedOut",
        ...part,
        limit: reason.kind === "idleTimeout" ? "idle" : "total",
        limitMs: reason.limitMs,
        lastActivity: reason.lastActivity,
        lastActivityAt: reason.lastActivityAt,
      };
    default:
      return assertNever(reason);
  }
}

/** Something that could be known before: the script, its interpreter, its folder. */
export function outcomeOfPreflight(error: unknown): Outcome {
  const message = isFault(error) ? `${error.message}. ${error.hint}` : messageOf(error);
  return { state: "failed", error: { code: "preflight", message } };
}

/** The machine would not start it. */
export function outcomeOfSpawn(message: string): Outcome {
  return { state: "failed", error: { code: "spawn", message: `could not be started: ${message}` } };
}

function partOf(kept: KeptOutput): { output?: string; isTruncated?: boolean } {
  return { ...(kept.stdout && { output: kept.stdout }), ...(kept.isTruncated && { isTruncated: true }) };
}

function lastLine(text: string): string {
  const line =
    text
      .trimEnd()
      .split(/[\r\n]/)
      .at(-1)
      ?.trim() ?? "";
  return line.length > LAST_LINE ? `${line.slice(0, LAST_LINE)}…` : line;
}
