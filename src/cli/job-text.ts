// How jobs look to a person.

import type { JobShowDocument } from "../app/documents.ts";
import type { JobEcho } from "../app/job-echo.ts";

/** Law 10: what was understood, the next three fires, where the result goes, and what to know. */
export function echoText(verb: string, echo: JobEcho): string {
  const lines = [
    `${verb} job ${echo.id}: ${echo.understood}`,
    `  next      ${echo.nextSlots.length > 0 ? echo.nextSlots.join(", ") : "no slot to come"}`,
    `  result    ${echo.deliverTo.length > 0 ? `goes to ${echo.deliverTo.join(", ")}` : "is kept, delivered nowhere"}`,
    `  state     ${stateText(echo)}`,
    ...(echo.source ? [`  file      ${echo.source}`] : []),
    ...echo.warnings.map((warning) => `  note      ${warning}`),
  ];
  return lines.join("\n");
}

export function stateText(job: Pick<JobShowDocument, "state" | "stateReason">): string {
  return job.stateReason ? `${job.state}: ${job.stateReason}` : job.state;
}

/** The schedule as it stands in the document. */
export function scheduleText({ schedule }: Pick<JobShowDocument, "schedule">): string {
  if (schedule === undefined) return "by hand";
  if (typeof schedule === "string") return schedule;
  if (schedule.kind === "at") return `at ${schedule.at}`;
  return schedule.kind === "every" ? `every ${schedule.every}` : schedule.cron;
}

/** What it runs, in a word or two. */
export function workText({ run }: Pick<JobShowDocument, "run">): string {
  if (run.script !== undefined) return run.script;
  if (run.task) return `task ${run.task.executor}`;
  return run.agent ? "agent" : "workflow";
}
