// `job add`.

import { parseDraft } from "../app/job-documents.ts";
import { addJob } from "../app/jobs.ts";
import { readOriginFrom } from "../app/origin.ts";
import { Fault } from "../kernel/errors.ts";
import { slugify } from "../kernel/ids.ts";
import type { JobDocument } from "../records/job.ts";
import { refuseAgentOptions } from "./agent-options.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { print } from "./io.ts";
import { fieldsFromOptions } from "./job-draft.ts";
import { echoText } from "./job-text.ts";
import { isSet, textOption } from "./options.ts";

export const add: RunCommand = async ({ args: [schedule = "", prompt], options, io, open }) => {
  const fields = fieldsFromOptions(options, prompt);
  if (!fields.run?.agent) refuseAgentOptions(options);
  if (!fields.run) {
    throw new Fault("input.usage", "The job has no work.", {
      hint: "Add --script FILE (in the home's scripts/), or a prompt.",
    });
  }
  const context = await open();
  const origin = readOriginFrom(context, textOption(options, "origin"));
  const draft: JobDocument = parseDraft({
    id: textOption(options, "id") ?? idFrom(fields, prompt),
    ...(isByHand(schedule) ? {} : { schedule }),
    ...fields,
    run: fields.run,
    ...(origin && { origin }),
  });
  const paused = options.paused;
  const echo = await addJob(context, draft, {
    isDryRun: isSet(options, "dryRun"),
    ...(paused !== undefined && paused !== false && { paused: typeof paused === "string" ? paused : "" }),
  });
  print(io, echo, () => echoText(isSet(options, "dryRun") ? "Would add" : "Added", echo));
  return EXIT.ok;
};

/** A job that no schedule fires. */
export function isByHand(schedule: string): boolean {
  return ["manual", "none", "by hand"].includes(schedule.trim().toLowerCase());
}

function idFrom(fields: Partial<JobDocument>, prompt: string | undefined): string {
  const script = fields.run?.script?.replace(/^.*\//, "").replace(/\.[a-z]+$/i, "");
  return slugify(fields.name ?? script ?? prompt?.slice(0, 50) ?? fields.run?.task?.executor ?? "job", "job");
}
