// `workflow list | check | graph`.

import { checkWorkflow, drawWorkflow, GRAPH_FORMATS, listWorkflows } from "../app/workflows/workflows.ts";
import { Fault } from "../kernel/errors.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { print, table } from "./io.ts";
import { textOption } from "./options.ts";

export const list: RunCommand = async ({ io, open }) => {
  const workflows = await listWorkflows(await open());
  print(io, workflows, () =>
    workflows.length === 0
      ? "No workflows yet: put a YAML file into workflows/ of the home."
      : table(
          ["NAME", "TASKS", "PARAMS", "STATE"],
          workflows.map(({ name, tasks, params, error }) => [
            ...[name, String(tasks), params.join(", ")],
            error === null ? "ok" : (error.split("\n")[0] ?? ""),
          ]),
        ),
  );
  return EXIT.ok;
};

export const check: RunCommand = async ({ args: [name = ""], io, open }) => {
  const { document, warnings } = await checkWorkflow(await open(), name);
  for (const warning of warnings) io.note(warning);
  const { tasks } = document;
  print(io, { name: document.name, tasks: tasks.length, warnings }, () => {
    const count = tasks.length === 1 ? "1 task" : `${tasks.length} tasks`;
    return `${document.name}: ${count}, nothing is wrong with it.`;
  });
  return EXIT.ok;
};

export const graph: RunCommand = async ({ args: [name], options, io, open }) => {
  const word = textOption(options, "format") ?? "text";
  const format = GRAPH_FORMATS.find((known) => known === word);
  if (!format)
    throw new Fault("input.usage", `--format "${word}" is none of ${GRAPH_FORMATS.join(", ")}.`, {
      hint: "Write --format text, mermaid or svg.",
    });
  const runId = textOption(options, "run");
  if (name === undefined && runId === undefined)
    throw new Fault("input.usage", "Neither a workflow nor --run is named.", {
      hint: "See `nightshift workflow list`.",
    });
  const text = await drawWorkflow(await open(), { name, runId, format });
  print(io, { format, graph: text }, () => text.trimEnd());
  return EXIT.ok;
};
