// After something was queued: run it here where nobody else will, wait for its end where that is wanted (U1, U2).

import type { Context } from "../app/context.ts";
import { isOpen, type RunDocument } from "../app/documents.ts";
import { runHere } from "../app/node.ts";
import { nodesUp } from "../app/nodes.ts";
import { findRun, newestAttempt, showRun } from "../app/runs.ts";
import { waitForEnd } from "../app/wait-for-end.ts";
import { Fault } from "../kernel/errors.ts";
import { parseDuration } from "../kernel/time.ts";
import type { Run } from "../records/run.ts";
import type { Call, Options } from "./command.ts";
import { EXIT } from "./errors.ts";
import { print } from "./io.ts";
import { isSet } from "./options.ts";
import { endText, exitOf } from "./run-end.ts";

/** `--here`, or no node is up. */
export async function isHereWanted(context: Context, options: Options): Promise<boolean> {
  return isSet(options, "here") || (await nodesUp(context)).length === 0;
}

/** Prints the run's id, or its end; returns the exit code. Throws `input.usage` for a `--wait` that is no duration. */
export async function awaitRun(
  { io, options }: Pick<Call, "io" | "options">,
  context: Context,
  { queued, isForHere }: { queued: RunDocument; isForHere: boolean },
): Promise<number> {
  const waitMs = waitOption(options);
  if (!isForHere && waitMs === undefined) {
    print(io, queued, () => `Queued as run ${queued.id}. See \`nightshift run show ${queued.id}\`.`);
    return EXIT.ok;
  }
  if (isForHere)
    io.note(`Running ${queued.jobId === null ? "it" : `job ${queued.jobId}`} here as ${queued.id} …`);
  const isDone = isForHere && (await runHere({ context }, { id: queued.id, signal: io.signal }));
  // A node that was faster has it now; then this command waits for it like any other.
  const atMostMs = waitMs ?? Number.POSITIVE_INFINITY;
  if (!isDone && !(await waitForEnd(context, queued.id, { atMostMs, signal: io.signal }))) {
    io.note(`Run ${queued.id} has not ended yet. See \`nightshift run show ${queued.id}\`.`);
    if (io.isJson) print(io, await showRun(context, queued.id), () => "");
    return io.signal.aborted ? EXIT.interrupted : EXIT.waitRanOut;
  }
  const ended = await showRun(context, (await newestEnded(context, queued.id)).id);
  print(io, ended, () => endText(ended));
  return exitOf(ended);
}

/** `--wait` alone waits without an end. */
export function waitOption(options: Options): number | undefined {
  const { wait } = options;
  if (wait === undefined || wait === false) return undefined;
  if (typeof wait !== "string") return Number.POSITIVE_INFINITY;
  const ms = parseDuration(wait);
  if (ms !== undefined) return ms;
  throw new Fault("input.usage", `--wait "${wait}" is no duration.`, {
    hint: "Write a duration such as 30s or 5m.",
  });
}

/** The newest attempt that has ended: one run here, the last of all when it was waited for. */
async function newestEnded(context: Context, runId: string): Promise<Run> {
  const newest = await newestAttempt(context, runId);
  return isOpen(newest) ? findRun(context, runId) : newest;
}
