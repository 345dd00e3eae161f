// `workflow run`, `executor submit`: work that is no job's, queued or run here.

import type { RunDocument } from "../app/documents.ts";
import { readParam } from "../app/workflows/begin-run.ts";
import { submitTask, submitWorkflow } from "../app/workflows/submit.ts";
import { checkWorkflow } from "../app/workflows/workflows.ts";
import { Fault } from "../kernel/errors.ts";
import { awaitRun, isHereWanted } from "./await-run.ts";
import type { Options, RunCommand } from "./command.ts";
import { numberOption, textOption, textsOption } from "./options.ts";

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

export const submit: RunCommand = async (call) => {
  const { options, open } = call;
  const name = textOption(options, "executor") ?? call.args[0];
  if (name === undefined)
    throw new Fault("input.usage", "No executor is named.", { hint: "See `nightshift executor list`." });
  const context = await open();
  const given = textsOption(options, "param").map((text) => textParam(text));
  const isForHere = await isHereWanted(context, options);
  const priority = numberOption(options, "priority", { min: -1_000_000, max: 1_000_000 });
  const [queue, version] = [textOption(options, "queue"), textOption(options, "version")];
  const queued: RunDocument = await submitTask(
    { context, executors: context.executors },
    {
      ...{ executor: name, params: { ...jsonParams(options), ...Object.fromEntries(given) }, isForHere },
      ...(queue !== undefined && { queue }),
      ...(version !== undefined && { version }),
      ...(priority !== undefined && { priority }),
      ...deliverOption(options),
    },
  );
  return awaitRun(call, context, { queued, isForHere });
};

/** Of an executor no types are known before its schema is asked: JSON where it is JSON, else text. */
function textParam(text: string): [string, unknown] {
  const [name, value] = readParam({ params: {} }, text);
  try {
    return [name, JSON.parse(String(value))];
  } catch {
    return [name, value];
  }
}

/** `--params {...}`. Throws `input.usage`. */
function jsonParams(options: Options): Record<string, unknown> {
  const text = textOption(options, "params");
  if (text === undefined) return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // Said below.
  }
  throw new Fault("input.usage", "--params is no JSON map.", { hint: `Write --params '{"line": "A"}'.` });
}

function deliverOption(options: Options): { deliver?: string[] } {
  const text = textOption(options, "deliver");
  return text === undefined ? {} : { deliver: [text] };
}
