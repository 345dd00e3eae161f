// `run cancel | retry | resolve`.

import type { Context } from "../app/context.ts";
import { nodesUp } from "../app/nodes.ts";
import { cancelRun, resolveRun, retryRun } from "../app/runs.ts";
import { Fault } from "../kernel/errors.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { type Io, print } from "./io.ts";
import { isSet, textOption } from "./options.ts";

export const cancel: RunCommand = async ({ args: [id = ""], io, open }) => {
  const run = await cancelRun(await open(), id);
  print(io, run, () =>
    run.state === "cancelling" ? `Run ${run.id} is being ended.` : `Run ${run.id} is ${run.state}.`,
  );
  return EXIT.ok;
};

export const retry: RunCommand = async ({ args: [id = ""], options, io, open }) => {
  const context = await open();
  const run = await retryRun(context, id, { isSameKey: isSet(options, "sameKey") });
  print(io, run, () => `Queued as run ${run.id}. See \`nightshift run show ${run.id}\`.`);
  await noteNoNode(context, io);
  return EXIT.ok;
};

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
