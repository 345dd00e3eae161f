// `job pause | resume | remove`.

import { pauseJob, removeJob, resumeJob } from "../app/jobs.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { print } from "./io.ts";
import { stateText } from "./job-text.ts";
import { isSet, laterOption, textOption } from "./options.ts";

export const pause: RunCommand = async ({ args: [id = ""], options, io, open }) => {
  const context = await open();
  const until = laterOption(options, "until", context.clock.now());
  const reason = textOption(options, "reason");
  const job = await pauseJob(context, id, {
    ...(reason !== undefined && { reason }),
    ...(until !== undefined && { until }),
  });
  print(io, job, () => `Job ${job.id} is ${stateText(job)}.`);
  return EXIT.ok;
};

export const resume: RunCommand = async ({ args: [id = ""], io, open }) => {
  const job = await resumeJob(await open(), id);
  print(io, job, () => `Job ${job.id} is ${stateText(job)}; next slot: ${job.next ?? "none"}.`);
  return EXIT.ok;
};

export const remove: RunCommand = async ({ args: [id = ""], options, io, open }) => {
  const removed = await removeJob(await open(), id, { isCancelling: isSet(options, "cancel") });
  print(
    io,
    removed,
    () =>
      `Removed job ${removed.id}${removed.keptAt ? `; its text is kept as ${removed.keptAt}` : ""}. Its history stays.`,
  );
  return EXIT.ok;
};
