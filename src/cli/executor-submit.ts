// `executor submit`: one task of an executor that is no job's, queued or run here.

import { readParam } from "../app/workflows/begin-run.ts";
import { submitTask } from "../app/workflows/submit.ts";
import { awaitRun, isHereWanted } from "./await-run.ts";
import type { RunCommand } from "./command.ts";
import { numberOption, textOption, textsOption } from "./options.ts";
import { deliverOption, jsonParams } from "./work-options.ts";

export const submit: RunCommand = async (call) => {
  const { args, options, open } = call;
  const priority = numberOption(options, "priority", { min: -1_000_000, max: 1_000_000 });
  const [queue, version] = [textOption(options, "queue"), textOption(options, "version")];
  const params = { ...jsonParams(options), ...Object.fromEntries(textsOption(options, "param").map(param)) };
  const context = await open();
  const isForHere = await isHereWanted(context, options);
  const queued = await submitTask(
    { context, executors: context.executors },
    {
      ...{ executor: args[0] ?? "", params, isForHere },
      ...(queue !== undefined && { queue }),
      ...(version !== undefined && { version }),
      ...(priority !== undefined && { priority }),
      ...deliverOption(options),
    },
  );
  return awaitRun(call, context, { queued, isForHere });
};

/** Of an executor no types are known before its schema is asked: JSON where it is JSON, else text. */
function param(text: string): [string, unknown] {
  const [name, value] = readParam({ params: {} }, text);
  try {
    return [name, JSON.parse(String(value))];
  } catch {
    return [name, value];
  }
}
