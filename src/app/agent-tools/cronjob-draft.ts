// From a model's words to a job's document, or to the keys of one that change.

import { slugify } from "../../kernel/ids.ts";
import { withoutAbsent } from "../../kernel/without-absent.ts";
import type { Origin } from "../../records/delivery.ts";
import type { JobDocument, WorkDocument } from "../../records/job.ts";
import type { UpdateOptions } from "../job-editing.ts";
import type { CronjobInput } from "./cronjob-schema.ts";

/** The document of a new job. Throws nothing: its codec judges it. */
export function draftOf(input: CronjobInput, origin: Origin | undefined): JobDocument {
  const { schedule = "manual", until, repeat } = input;
  return {
    id: input.id ?? idFrom(input),
    ...commonFields(input),
    ...(isByHand(schedule) ? {} : { schedule }),
    ...(repeat === undefined || repeat === "forever" ? {} : { repeat }),
    ...(until === undefined ? {} : { until }),
    run: workOf(input),
    ...(origin && { origin }),
  };
}

function workOf({ prompt, script, args, ...input }: CronjobInput): WorkDocument {
  if (prompt === undefined) return { script, ...(args && { args }) };
  return { agent: { prompt, ...(script !== undefined && { script }), ...agentFields(input) } };
}

/** The keys that change, at the root and of the agent. */
export function patchOf(
  input: CronjobInput,
  before: Pick<JobDocument, "run">,
): { patch: Partial<JobDocument>; agent: NonNullable<UpdateOptions["agent"]> } {
  const { schedule, repeat, until, prompt, script, args } = input;
  const isScriptJob = before.run.agent === undefined;
  const patch: Partial<JobDocument> = {
    ...commonFields(input),
    ...(schedule === undefined ? {} : { schedule: isByHand(schedule) ? undefined : schedule }),
    ...(repeat === undefined ? {} : { repeat: repeat === "forever" ? undefined : repeat }),
    ...(until === undefined ? {} : { until }),
  };
  const agent = { ...(prompt !== undefined && { prompt }), ...agentFields(input) };
  if (!isScriptJob) return { patch, agent: { ...agent, ...(script !== undefined && { script }) } };
  if (script === undefined && args === undefined) return { patch, agent };
  const kept = { script: script ?? before.run.script, args: args ?? before.run.args };
  return { patch: { ...patch, run: { script: kept.script, ...(kept.args && { args: kept.args }) } }, agent };
}

function commonFields(input: CronjobInput): Partial<JobDocument> {
  const { name, description, timezone, workdir, deliver, onFailure, overlap, catchUp } = input;
  return withoutAbsent({ name, description, timezone, workdir, deliver, onFailure, overlap, catchUp });
}

function agentFields({ skills, toolsets, contextFrom, maxTurns }: Partial<CronjobInput>) {
  return withoutAbsent({ skills, toolsets, contextFrom, maxTurns });
}

/** A job that no schedule fires. */
function isByHand(schedule: string): boolean {
  return ["manual", "none", "by hand"].includes(schedule.trim().toLowerCase());
}

function idFrom({ name, script, prompt }: CronjobInput): string {
  const stem = script?.replace(/^.*\//, "").replace(/\.[a-z]+$/i, "");
  return slugify(name ?? (prompt === undefined ? stem : prompt.slice(0, 50)) ?? "job", "job");
}
