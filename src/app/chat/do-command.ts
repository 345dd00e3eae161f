// What a command from a chat does, and what is answered. Refusals are answers, with what to do about them.

import { isFault, messageOf, sayFault } from "../../kernel/errors.ts";
import { slugify } from "../../kernel/ids.ts";
import type { Origin } from "../../records/delivery.ts";
import type { Context } from "../context.ts";
import type { JobShowDocument } from "../documents.ts";
import { parseDraft } from "../job-documents.ts";
import type { JobEcho } from "../job-echo.ts";
import { addJob, listJobs, pauseJob, queueRun, resumeJob } from "../jobs.ts";
import { type ChatCommand, USAGE } from "./chat-command.ts";

/** Named in one answer; the rest is counted. */
const MOST_JOBS = 40;
/** Ids that are tried for a job made of the same words: `-2`, `-3`, … */
const MOST_NAMES = 50;

/** The answer, in Markdown. Never throws; a bug is said to be one. */
export async function doCommand(context: Context, command: ChatCommand, origin: Origin): Promise<string> {
  try {
    return await answer(context, command, origin);
  } catch (error) {
    if (isFault(error)) return sayFault(error);
    context.log.error("chat-command-failed", { command: command.kind, error: messageOf(error) });
    return "Something went wrong inside Nightshift; `nightshift logs` says what.";
  }
}

async function answer(context: Context, command: ChatCommand, origin: Origin): Promise<string> {
  switch (command.kind) {
    case "jobs":
      return jobsText(await listJobs(context));
    case "run": {
      const run = await queueRun(context, command.job);
      return `Run ${run.id} of ${run.jobId} is queued.`;
    }
    case "pause": {
      const { reason } = command;
      const job = await pauseJob(context, command.job, { ...(reason !== undefined && { reason }) });
      return `${job.id} is ${job.state}.`;
    }
    case "resume": {
      const job = await resumeJob(context, command.job);
      return `${job.id} is ${job.state}${job.next ? `, next at ${job.next}` : ""}.`;
    }
    case "add":
      return echoText(await addFromChat(context, command, origin));
    case "help":
      return USAGE;
    case "unreadable":
      return `Write:\n${command.usage}`;
  }
}

function jobsText(jobs: readonly JobShowDocument[]): string {
  if (jobs.length === 0) return "There are no jobs.";
  const lines = jobs.slice(0, MOST_JOBS).map(({ id, state, next, lastRun }) => {
    const last = lastRun ? `, last ${lastRun.state}` : "";
    return `- ${id}: ${state}${next ? `, next at ${next}` : ""}${last}`;
  });
  const more = jobs.length - MOST_JOBS;
  return [...lines, ...(more > 0 ? [`- and ${more} more`] : [])].join("\n");
}

/** The chat, and its thread, is where the job came from: that is where its result goes. */
async function addFromChat(
  context: Context,
  { schedule, prompt }: Extract<ChatCommand, { kind: "add" }>,
  origin: Origin,
): Promise<JobEcho> {
  const id = await freeId(context, slugify(prompt.slice(0, 40), "job"));
  return addJob(context, parseDraft({ id, schedule, run: { agent: { prompt } }, origin }));
}

async function freeId(context: Context, base: string): Promise<string> {
  for (let number = 1; number <= MOST_NAMES; number++) {
    const id = number === 1 ? base : `${base}-${number}`;
    if (!(await context.ledger.job(id))) return id;
  }
  return base;
}

/** Law 10. */
function echoText({ id, understood, nextSlots, deliverTo, warnings }: JobEcho): string {
  return [
    `Added ${id}: ${understood}`,
    ...(nextSlots.length > 0 ? [`Next: ${nextSlots.join(", ")}`] : []),
    `Result: ${deliverTo.map((target) => (target === "origin" ? "here" : target)).join(", ")}`,
    ...warnings.map((warning) => `Note: ${warning}`),
  ].join("\n");
}
