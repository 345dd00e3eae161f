// What `cronjob` says back: short for lists, whole for one job, and always what was understood (law 10).

import { parseInstant } from "../../kernel/time.ts";
import type { ToolResult } from "../../records/tool.ts";
import { parseSchedule } from "../../schedule/grammar.ts";
import type { JobShowDocument } from "../documents.ts";
import type { JobEcho } from "../job-echo.ts";

/** Jobs in one answer: beyond it a list helps nobody. */
const MAX_LISTED = 200;

export function listAnswer(jobs: readonly JobShowDocument[], now: number): ToolResult {
  const omitted = Math.max(0, jobs.length - MAX_LISTED);
  return {
    error: null,
    jobs: jobs.slice(0, MAX_LISTED).map((job) => briefly(job, now)),
    ...(omitted > 0 && {
      omitted,
      note: `${omitted} more jobs are not shown; name a state, or show one by id.`,
    }),
  };
}

function briefly(job: JobShowDocument, now: number): Record<string, unknown> {
  const { id, name, state, stateReason, next, lastRun } = job;
  return {
    id,
    ...(name !== undefined && { name }),
    when: understood(job, now),
    does: job.run.agent ? "agent" : (job.run.script ?? "workflow or task"),
    state,
    ...(stateReason !== null && { stateReason }),
    next,
    lastRun: lastRun && { id: lastRun.id, state: lastRun.state, finishedAt: lastRun.finishedAt },
  };
}

/** One job in full. */
export function showAnswer(job: JobShowDocument, now: number): ToolResult {
  return { error: null, understood: understood(job, now), job };
}

/** What creating or changing did (law 10). */
export function echoAnswer(what: "created" | "changed", echo: JobEcho, extra: readonly string[]): ToolResult {
  const { understood: display, nextSlots, deliverTo, warnings, ...job } = echo;
  return {
    error: null,
    [what]: job.id,
    understood: display,
    timezone: job.timezone,
    next: nextSlots,
    deliverTo,
    state: job.state,
    stateReason: job.stateReason,
    warnings: [...warnings, ...extra],
    job,
  };
}

/** O4: without an origin and without a target of its own, a result stays where it was made. */
export function localOnlyWarning(echo: JobEcho): string[] {
  const isLocalOnly = echo.deliverTo.every((target) => target === "local");
  if (echo.origin !== undefined || !isLocalOnly) return [];
  return [
    "local only: no origin is known, so results stay on this machine (`nightshift run show`, the home's output/); name `deliver` to send them somewhere.",
  ];
}

/** Its schedule in words, in its own zone. */
function understood({ schedule, timezone }: JobShowDocument, now: number): string {
  if (schedule === undefined) return "by hand";
  const anchor =
    typeof schedule === "object" && schedule.kind === "every"
      ? parseInstant(schedule.anchor ?? "")
      : undefined;
  try {
    return parseSchedule(schedule, { zone: timezone, now, anchor: anchor ?? now }).display;
  } catch {
    return "unreadable";
  }
}
