// `run cancel | retry | resolve`.

import { cancelRun, resolveRun, retryRun } from "../app/runs.ts";
import { Fault } from "../kernel/errors.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { print } from "./io.ts";
import { isSet, textOption } from "./options.ts";

export const cancel: RunCommand = async ({ args: [id = ""], io, open }) => {
  const run = await cancelRun(await open(), id);
  print(io, run, () =>
    run.state === "cancelling" ? `Run ${run.id} is being ended.` : `Run ${run.id} is ${run.state}.`,
  );
  return EXIT.ok;
};

export const retry: RunCommand = async ({ args: [id = ""], options, io, open }) => {
  const run = await retryRun(await open(), id, { isSameKey: isSet(options, "sameKey") });
  print(io, run, () => `Queued as run ${run.id}. See \`nightshift run show ${run.id}\`.`);
  return EXIT.ok;
};

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
  const run = await resolveRun(await open(), id, { as, ...(note !== undefined && { note }) });
  print(io, run, () => `Run ${run.id} is resolved as ${as}.`);
  return EXIT.ok;
};
