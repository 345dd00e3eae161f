// `job run`: queues a run and prints its id; with no live node, or with --here, this process runs it (U2).

import { queueRun } from "../app/jobs.ts";
import { awaitRun, isHereWanted, waitOption } from "./await-run.ts";
import type { RunCommand } from "./command.ts";

export const run: RunCommand = async (call) => {
  const { args, options, open } = call;
  // A mistake is said before anything is queued.
  waitOption(options);
  const context = await open();
  const isForHere = await isHereWanted(context, options);
  const queued = await queueRun(context, args[0] ?? "", { isForHere });
  return awaitRun(call, context, { queued, isForHere });
};
