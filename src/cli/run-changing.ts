// `run cancel | retry | resolve`.

import type { Context } from "../app/context.ts";
import type { RunDocument } from "../app/documents.ts";
import { nodesUp } from "../app/nodes.ts";
import { resolveRun } from "../app/resolve-run.ts";
import { cancelRun, findRun, retryRun } from "../app/runs.ts";
import { Fault } from "../kernel/errors.ts";
import { makeAgentLines } from "./agent-lines.ts";
import type { Options, RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { type Io, print } from "./io.ts";
import { isSet, numberOption, textOption } from "./options.ts";
import { endText, exitOf } from "./run-end.ts";

export const cancel: RunCommand = async ({ args: [id = ""], io, open }) => {
  const run = await cancelRun(await open(), id);
  print(io, run, () =>
    run.state === "cancelling" ? `Run ${run.id} is being ended.` : `Run ${run.id} is ${run.state}.`,
  );
  return EXIT.ok;
};

export const retry: RunCommand = async ({ args: [id = ""], options, io, open }) => {
  const context = await open();
  const forkTurns = numberOption(options, "fork", { min: 0, max: 100_000 });
  if (isSet(options, "replay") || forkTurns !== undefined) {
    if (isSet(options, "sameKey")) throw sameKeyOfReplay();
    return replay(context, id, { forkTurns, io });
  }
  const run = await retried(context, id, options);
  print(io, run, () => `Queued as run ${run.id}. See \`nightshift run show ${run.id}\`.`);
  await noteNoNode(context, io);
  return EXIT.ok;
};

async function retried(context: Context, id: string, options: Options): Promise<RunDocument> {
  const task = textOption(options, "from");
  const isDownstream = isSet(options, "downstream");
  if (task === undefined) {
    if (isDownstream)
      throw new Fault("input.usage", "--downstream says how far to go from a task, and no task is named.", {
        hint: "Write --from TASK --downstream.",
      });
    return retryRun(context, id, { isSameKey: isSet(options, "sameKey") });
  }
  const { retryFromTask } = await import("../app/workflows/retry-run.ts");
  return retryFromTask(context, await findRun(context, id), { task, isDownstream });
}

function sameKeyOfReplay(): Fault {
  return new Fault("input.usage", "A replay is a run of its own and keeps no idempotency key.", {
    hint: "Leave --same-key out.",
  });
}

/** From the recording, here and now; with `--fork N` live after N turns. */
async function replay(
  context: Context,
  id: string,
  { forkTurns, io }: { forkTurns: number | undefined; io: Io },
): Promise<number> {
  const { replayRun } = await import("../app/replay-run.ts");
  const lines = makeAgentLines(io);
  const run = await replayRun(context, id, {
    ...(forkTurns !== undefined && { forkTurns }),
    signal: io.signal,
    onEvent: lines.on,
  });
  lines.end();
  print(io, run, () => endText(run, { isTold: lines.hasSpoken }));
  return io.signal.aborted ? EXIT.interrupted : exitOf(run);
}

/** Queued work waits for a node: a person should know that there is none. */
async function noteNoNode(context: Context, io: Io): Promise<void> {
  if ((await nodesUp(context)).length === 0)
    io.note("No node is up to run it: `nightshift up`, or `nightshift tick` for one pass.");
}

const RESOLUTIONS = ["succeeded", "failed", "rerun"] as const;

export const resolve: RunCommand = async ({ args: [id = ""], options, io, open }) => {
  const word = textOption(options, "as");
  const as = RESOLUTIONS.find((known) => known === word);
  if (!as) {
    throw new Fault("input.usage", `--as "${word ?? ""}" is none of ${RESOLUTIONS.join(", ")}.`, {
      hint: "Say what you know: --as succeeded, --as failed, or --as rerun.",
    });
  }
  const note = textOption(options, "note");
  const context = await open();
  const run = await resolveRun(context, id, { as, ...(note !== undefined && { note }) });
  print(io, run, () => `Run ${run.id} is resolved as ${as}.`);
  if (as === "rerun") await noteNoNode(context, io);
  return EXIT.ok;
};
