// Hermes Agent's jobs.json → our job documents, with a report of everything that could not be carried over.
//
// I1. A record is imported as far as it can be and says what was lost; a file that is corrupt is a fault (hermes-text.ts).
// I2. Runtime claims of a process that is gone are dropped; history stays with Hermes.
// I3. Ids are kept, since `context_from` of other jobs and a person's notes refer to them.
// @source the record and its tolerant reading as Hermes Agent writes and reads them in autumn 2026.

import { slugify } from "../kernel/ids.ts";
import { readHermesOrigin, readHermesTargets } from "./hermes-deliver.ts";
import { type HermesSchedule, type HermesTime, readHermesSchedule } from "./hermes-schedule.ts";
import { isRecord, readHermesRecords, textOf } from "./hermes-text.ts";
import { readHermesWork } from "./hermes-work.ts";
import type { JobDocument } from "./job.ts";
import { JOB_ID } from "./job-schema.ts";

export interface HermesJob {
  document: JobDocument;
  /** Import it paused, for this reason. */
  paused?: string;
  /** Import it completed, for this reason: it must not fire. */
  completed?: string;
  /** What was lost or read otherwise, one sentence each. */
  warnings: string[];
}

export interface HermesImport {
  jobs: HermesJob[];
  warnings: string[];
}

/**
 * Reads a jobs.json of any known shape. `systemZone` is the zone of naive stamps and of cron schedules.
 * @throws Fault `input.invalid` when the text is corrupt: never an empty list in its place.
 */
export function readHermesJobs(text: string, time: HermesTime): HermesImport {
  const { records, warnings } = readHermesRecords(text);
  const taken = new Set<string>();
  const jobs = records.map(({ key, record }) => {
    const job = readJob(record, key, time);
    const id = freeId(job.document.id, taken);
    if (id !== job.document.id)
      job.warnings.push(`The id ${job.document.id} is taken by another record; it is ${id}.`);
    job.document.id = id;
    taken.add(id);
    return job;
  });
  return { jobs, warnings };
}

function readJob(record: Record<string, unknown>, key: string | undefined, time: HermesTime): HermesJob {
  const { id, warnings } = readId(record, key);
  const schedule = readHermesSchedule(record, time);
  const origin = readHermesOrigin(record.origin);
  const deliver = readHermesTargets(record.deliver, origin.origin);
  const failures = readFailureTargets(record, origin.origin);
  const work = readHermesWork(record);
  const repeat = readRepeat(record.repeat, schedule);
  const paused = pausedReason(record, work.paused);
  const completed = schedule.completed ?? repeat.completed ?? completedReason(record);
  const document: JobDocument = {
    id,
    name: textOf(record.name) ?? work.name ?? id,
    ...(schedule.schedule === undefined ? {} : { schedule: schedule.schedule, timezone: time.systemZone }),
    run: work.run,
    ...(deliver.targets === undefined ? {} : { deliver: deliver.targets }),
    ...(failures.targets === undefined ? {} : { onFailure: failures.targets }),
    ...(repeat.repeat === undefined ? {} : { repeat: repeat.repeat }),
    ...(work.workdir === undefined ? {} : { workdir: work.workdir }),
    ...(record.enabled === false && textOf(record.state) !== "paused" && !completed
      ? { enabled: false }
      : {}),
    ...(origin.origin === undefined ? {} : { origin: origin.origin }),
  };
  const notes = [schedule, origin, deliver, failures, work, repeat].flatMap((part) => part.warnings);
  return {
    document,
    ...(paused === undefined ? {} : { paused }),
    ...(completed === undefined ? {} : { completed }),
    warnings: [...warnings, ...notes, ...unknownKeys(record)],
  };
}

function readId(
  record: Record<string, unknown>,
  key: string | undefined,
): { id: string; warnings: string[] } {
  const own = textOf(record.id) ?? textOf(record.job_id) ?? key;
  if (own !== undefined && JOB_ID.test(own)) return { id: own, warnings: [] };
  const id = slugify(own ?? textOf(record.name) ?? textOf(record.prompt) ?? "", "hermes-job");
  return {
    id,
    warnings: [own === undefined ? `It had no id; it is ${id}.` : `Its id "${own}" became ${id}.`],
  };
}

function freeId(id: string, taken: ReadonlySet<string>): string {
  let free = id;
  for (let count = 2; taken.has(free); count++) free = `${id.slice(0, 58)}-${count}`;
  return free;
}

/** `failure_deliver: local` suppresses failure notices there. */
function readFailureTargets(
  record: Record<string, unknown>,
  origin: Parameters<typeof readHermesTargets>[1],
) {
  if (textOf(record.failure_deliver) === "local") return { targets: [], warnings: [] };
  return readHermesTargets(record.failure_deliver, origin);
}

const UNLIMITED = /^(forever|infinite|inf|none|unlimited|)$/i;
const SINGLE = /^(once|one|1x)$/i;

/** What is left of `repeat {times, completed}`, or of the words and numbers older files hold. */
function readRepeat(
  value: unknown,
  schedule: HermesSchedule,
): { repeat?: number; completed?: string; warnings: string[] } {
  const times = timesOf(isRecord(value) ? value.times : value);
  const done = isRecord(value) && Number.isFinite(Number(value.completed)) ? Number(value.completed) : 0;
  if (times === "unreadable")
    return { warnings: [`Its repeat ${JSON.stringify(value)} could not be read; it repeats without end.`] };
  if (times === undefined || schedule.isOnce) return { warnings: [] };
  if (times > done) return { repeat: times - done, warnings: [] };
  return { completed: `it had run ${done} of ${times} times under Hermes`, warnings: [] };
}

function timesOf(times: unknown): number | undefined | "unreadable" {
  if (times === null || times === undefined) return undefined;
  const text = String(times).trim();
  if (UNLIMITED.test(text)) return undefined;
  if (SINGLE.test(text)) return 1;
  if (!/^-?\d+$/.test(text)) return "unreadable";
  return Number(text) > 0 ? Number(text) : undefined;
}

function pausedReason(record: Record<string, unknown>, workReason: string | undefined): string | undefined {
  const state = textOf(record.state);
  if (state === "paused") return textOf(record.paused_reason) ?? "paused under Hermes";
  if (state === "error") return `in error under Hermes: ${textOf(record.last_error) ?? "no reason was kept"}`;
  return workReason;
}

function completedReason(record: Record<string, unknown>): string | undefined {
  return textOf(record.state) === "completed" ? "completed under Hermes" : undefined;
}

/** What this import reads, and what belongs to a running Hermes and is dropped with it. */
const READ_KEYS =
  "id job_id name prompt skills skill model provider base_url script no_agent context_from schedule schedule_display repeat enabled state paused_at paused_reason deliver failure_deliver origin enabled_toolsets workdir reasoning_effort monitor_script monitor_url attach_to_session profile";
const RUNTIME_KEYS =
  "provider_snapshot model_snapshot monitor_state created_at next_run_at last_run_at last_status last_error last_delivery_error last_delivery_unverified failure_streak run_claim fire_claim pending_slot last_dispatch manual_run_at manual_run_prompt preflight_alerted drift_alerted last_fire_error last_delivery_queued unreachable_retry quota_hold quota_hold_until updated_at";
const KNOWN_KEYS = new Set(`${READ_KEYS} ${RUNTIME_KEYS}`.split(" "));

function unknownKeys(record: Record<string, unknown>): string[] {
  const lost = ["monitor_script", "monitor_url", "attach_to_session", "profile"].filter((key) => {
    const value = record[key];
    return value !== undefined && value !== null && value !== false && value !== "";
  });
  const unknown = Object.keys(record).filter((key) => !KNOWN_KEYS.has(key));
  return [...lost, ...unknown].map(
    (key) => `${key}: ${clip(JSON.stringify(record[key]))} was not carried over.`,
  );
}

function clip(text: string | undefined): string {
  return text !== undefined && text.length > 120 ? `${text.slice(0, 119)}…` : String(text);
}
