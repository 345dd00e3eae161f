// `workflow run`: a run of a workflow that is no job's, queued or run here.

import { readParam } from "../app/workflows/begin-run.ts";
import { submitWorkflow } from "../app/workflows/submit.ts";
import { checkWorkflow } from "../app/workflows/workflows.ts";
import { awaitRun, isHereWanted } from "./await-run.ts";
import type { RunCommand } from "./command.ts";
import { textsOption } from "./options.ts";
import { deliverOption, jsonParams } from "./work-options.ts";

export const run: RunCommand = async (call) => {
  const { args, options, io, open } = call;
  const context = await open();
  const planned = await checkWorkflow(context, args[0] ?? "");
  for (const warning of planned.warnings) io.note(warning);
  const given = textsOption(options, "param").map((text) => readParam(planned.workflow, text));
  const params = { ...jsonParams(options), ...Object.fromEntries(given) };
  const isForHere = await isHereWanted(context, options);
  const deps = { context, executors: context.executors };
  const queued = await submitWorkflow(deps, planned, { params, isForHere, ...deliverOption(options) });
  return awaitRun(call, context, { queued, isForHere });
};
