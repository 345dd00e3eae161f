// `job update`: patches only the keys named, under a version check.

import { updateJob } from "../app/job-editing.ts";
import { Fault } from "../kernel/errors.ts";
import { withoutAbsent } from "../kernel/without-absent.ts";
import type { JobDocument } from "../records/job.ts";
import { agentFields } from "./agent-options.ts";
import type { Options, RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { print } from "./io.ts";
import { isByHand } from "./job-add.ts";
import { fieldsFromOptions } from "./job-draft.ts";
import { echoText } from "./job-text.ts";
import { listOption, numberOption, textOption } from "./options.ts";

export const update: RunCommand = async ({ args: [id = ""], options, io, open }) => {
  const patch = { ...fieldsFromOptions(options), ...switches(options) };
  const agent = withoutAbsent({ prompt: textOption(options, "prompt"), ...agentFields(options) });
  if (Object.keys(patch).length + Object.keys(agent).length === 0) {
    throw new Fault("input.usage", "Nothing to change was named.", {
      hint: "See `nightshift job update --help`, or use `job edit`.",
    });
  }
  const expectVersion = numberOption(options, "ifVersion", { min: 1, max: Number.MAX_SAFE_INTEGER });
  const echo = await updateJob(await open(), id, patch, {
    agent,
    ...(expectVersion !== undefined && { expectVersion }),
  });
  print(io, echo, () => echoText("Changed", echo));
  return EXIT.ok;
};

function switches(options: Options): Partial<JobDocument> {
  const schedule = textOption(options, "schedule");
  const enabled = textOption(options, "enabled");
  if (enabled !== undefined && enabled !== "true" && enabled !== "false") {
    throw new Fault("input.usage", `--enabled "${enabled}" is neither true nor false.`, {
      hint: "Write true or false.",
    });
  }
  const unset = Object.fromEntries(
    (listOption(options, "unset") ?? []).map((key) => [
      key.replace(/[-_]([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      undefined,
    ]),
  );
  return {
    ...unset,
    ...(schedule !== undefined && { schedule: isByHand(schedule) ? undefined : schedule }),
    ...(enabled !== undefined && { enabled: enabled === "true" }),
  };
}
