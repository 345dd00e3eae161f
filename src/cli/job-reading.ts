// `job list | show | next`.

import { JOB_STATES, type JobShowDocument, type JobState } from "../app/documents.ts";
import { jobText } from "../app/job-editing.ts";
import { jobNext, listJobs, showJob } from "../app/jobs.ts";
import { unusedFiles } from "../app/unused-files.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { instant } from "./format.ts";
import { print, table } from "./io.ts";
import { scheduleText, stateText, workText } from "./job-text.ts";
import { numberOption, wordsOption } from "./options.ts";

export const list: RunCommand = async ({ options, io, open }) => {
  const states = wordsOption(options, "state", JOB_STATES);
  const context = await open();
  const all = await listJobs(context);
  const jobs = states ? all.filter((job) => states.includes(job.state)) : all;
  print(io, jobs, () => listText(jobs, all.length));
  if (!io.isJson && !states)
    for (const { source, why } of await unusedFiles(context)) io.note(`not used  ${source}: ${why}`);
  return EXIT.ok;
};

/** The table, and below it why some jobs do not fire. */
function listText(jobs: readonly JobShowDocument[], known: number): string {
  if (known === 0) return "No jobs. Add one: nightshift job add --help";
  if (jobs.length === 0) return "No job is in that state.";
  const reasons = jobs.filter(({ state, stateReason }) => stateReason && STANDING.includes(state));
  return [
    table(HEADER, jobs.map(row)),
    ...reasons.map(({ id, state, stateReason }) => `${state.padEnd(9)} ${id}: ${stateReason}`),
  ].join("\n");
}

/** States in which nothing fires until a person acts. */
const STANDING: readonly JobState[] = ["held", "quarantined"];

const HEADER = ["JOB", "SCHEDULE", "ZONE", "RUNS", "STATE", "NEXT", "LAST"];

function row(job: JobShowDocument): string[] {
  const last = job.lastRun
    ? `${job.lastRun.state} ${instant(job.lastRun.finishedAt ?? job.lastRun.startedAt)}`
    : "–";
  return [job.id, scheduleText(job), job.timezone, workText(job), job.state, instant(job.next), last];
}

export const show: RunCommand = async ({ args: [id = ""], io, open }) => {
  const context = await open();
  const job = await showJob(context, id);
  const text = await jobText(context, job.id);
  print(io, job, () =>
    [
      `job       ${job.id}${job.name ? ` (${job.name})` : ""}`,
      `state     ${stateText(job)}`,
      `zone      ${job.timezone}`,
      `version   ${job.version}`,
      `file      ${job.source}`,
      `next      ${job.next ?? "–"}`,
      `last run  ${job.lastRun ? `${job.lastRun.id} ${job.lastRun.state}` : "–"}`,
      "",
      text?.trimEnd() ?? "(its file is gone)",
    ].join("\n"),
  );
  return EXIT.ok;
};

export const next: RunCommand = async ({ args: [id = ""], options, io, open }) => {
  const count = numberOption(options, "count", { min: 1, max: 10_000 }) ?? 5;
  const found = await jobNext(await open(), id, count);
  print(io, found, () =>
    found.next.length > 0 ? found.next.join("\n") : `Job ${found.id} has no slot to come.`,
  );
  return EXIT.ok;
};
