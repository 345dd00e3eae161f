// What a script's end means (DESIGN §6). Pure: exit, abort reason and kept output in, Outcome out.

import { isFault, messageOf } from "../kernel/errors.ts";
import { type KeptOutput, partOf } from "../records/abort-outcome.ts";
import type { Outcome } from "../records/outcome.ts";
import type { CommandExit } from "./spawn-held.ts";

/** Characters of stderr that go into the ledger with a failure; the live log has more. */
const STDERR_TAIL = 8_000;
const LAST_LINE = 200;

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

/** Something that could be known before: the script, its interpreter, its folder. */
export function outcomeOfPreflight(error: unknown): Outcome {
  const message = isFault(error) ? `${error.message}. ${error.hint}` : messageOf(error);
  return { state: "failed", error: { code: "preflight", message } };
}

/** The machine would not start it. */
export function outcomeOfSpawn(message: string): Outcome {
  return { state: "failed", error: { code: "spawn", message: `could not be started: ${message}` } };
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
