// What people read: the text of each kind of message. Pure; redaction and splitting come after (outbox-rows.ts).
//
// I1. Every alert says what happened, to what, when in the job's own zone, and how to look further.

import { formatDuration, formatInstant, type Instant } from "../kernel/time.ts";
import type { Incident } from "../records/incident.ts";
import type { Outcome } from "../records/outcome.ts";
import type { Run } from "../records/run.ts";

/** The end of stderr that goes into an alert; the whole of it is in the run's log. */
const MAX_STDERR = 1_500;
/** Jobs named in one digest; the others are counted. */
const MAX_DIGEST_JOBS = 40;

/** What messages say of a job. */
export interface JobFacts {
  id: string;
  name: string;
  timezone: string;
}

/** What an alert tells of a failure. */
export interface AlertFacts {
  job: JobFacts;
  run: Run;
  outcome: Outcome;
  /** In a row, this one too. */
  failures: number;
  /** Undefined for work that is no job's. */
  incident?: Incident | undefined;
  /** Further alerts of this hour come as one digest at this instant. */
  digestAt?: Instant | undefined;
  /** The job was paused for failing too often. */
  isPaused?: boolean;
}

/** The text of a failure alert. */
export function alertText(facts: AlertFacts): string {
  const { job, run, outcome, incident } = facts;
  const lines = [`${titleOf(job)} ${headline(run, outcome)}`, whenLine(job, run)];
  if (run.attempt > 1) lines.push(`Attempts: ${run.attempt}, no further one follows.`);
  lines.push(...streakLines(facts));
  const stderr = outcome.state === "failed" ? outcome.error.stderrTail?.trim() : undefined;
  if (stderr) lines.push("", "stderr ends with:", fenced(tailOf(stderr, MAX_STDERR)));
  lines.push("", `Look further: nightshift run show ${run.id}`);
  if (incident) lines.push(`Be told no more of it: nightshift incident ack ${incident.id}`);
  if (run.state === "unknown")
    lines.push(`Decide: nightshift run resolve ${run.id} --as succeeded|failed|rerun`);
  return lines.join("\n");
}

/** What is new about this failure among those before it. */
function streakLines({ job, failures, incident, digestAt, isPaused }: AlertFacts): string[] {
  const lines: string[] = [];
  const isNewCause = (incident?.failures ?? 1) === 1;
  if (failures > 1) lines.push(`Failures in a row: ${failures}${isNewCause ? "; the cause is new" : ""}.`);
  if (incident && incident.openings > 1)
    lines.push(
      `It is back: seen ${incident.openings} times since ${formatInZone(incident.firstAt, job.timezone)}.`,
    );
  if (isPaused) lines.push(`The job is paused now. When it is mended: nightshift job resume ${job.id}`);
  if (digestAt !== undefined)
    lines.push(`Many alerts: further ones come as one message at ${formatInZone(digestAt, job.timezone)}.`);
  return lines;
}

/** The text that ends an alert. `failures` is how many came before this success. */
export function recoveryText(facts: { job: JobFacts; run: Run; failures: number }): string {
  const { job, run, failures } = facts;
  const count = failures === 1 ? "1 failure" : `${failures} failures in a row`;
  return [
    `${titleOf(job)} works again after ${count}.`,
    whenLine(job, run),
    "",
    `Look further: nightshift run show ${run.id}`,
  ].join("\n");
}

/** One line of a digest of missed slots. */
export interface MissedFacts {
  job: JobFacts;
  reason: string;
  first: Instant;
  last: Instant;
  count: number;
  isCountAtLeast: boolean;
}

/** One text for everything that a pass found missed, grouped by job, bounded. */
export function missedText(missed: readonly MissedFacts[]): string {
  const byJob = new Map<string, MissedFacts[]>();
  for (const facts of missed) byJob.set(facts.job.id, [...(byJob.get(facts.job.id) ?? []), facts]);
  const total = missed.reduce((sum, facts) => sum + facts.count, 0);
  const isAtLeast = missed.some((facts) => facts.isCountAtLeast);
  const lines = [
    `${isAtLeast ? "At least " : ""}${counted(total, "slot")} of ${counted(byJob.size, "job")} did not run.`,
    ...[...byJob.values()].slice(0, MAX_DIGEST_JOBS).map(missedLine),
  ];
  const more = byJob.size - MAX_DIGEST_JOBS;
  if (more > 0) lines.push(`- and ${counted(more, "more job")}`);
  lines.push("", "Look further: nightshift run list --state missed");
  return lines.join("\n");
}

/** One text for all runs whose end nobody saw, found at a start (O1). */
export function unknownText(unknowns: readonly { job: JobFacts; run: Run; outcome: Outcome }[]): string {
  const lines = unknowns
    .slice(0, MAX_DIGEST_JOBS)
    .map(({ job, run, outcome }) => `- ${titleOf(job)} ${headline(run, outcome)} (${run.id})`);
  const more = unknowns.length - MAX_DIGEST_JOBS;
  if (more > 0) lines.push(`- and ${counted(more, "more run")}`);
  return [
    `The end of ${counted(unknowns.length, "run")} was not seen.`,
    ...lines,
    "",
    "Look further: nightshift run list --state unknown",
    "Decide: nightshift run resolve <id> --as succeeded|failed|rerun",
  ].join("\n");
}

/** One text for news that was held back: what fails, and what works again. */
export function heldNewsText(held: readonly { job: JobFacts; incident: Incident }[]): string {
  const failing = held.filter(({ incident }) => incident.state !== "resolved");
  const working = held.filter(({ incident }) => incident.state === "resolved");
  const lines: string[] = [];
  if (failing.length > 0)
    lines.push(`${counted(failing.length, "more failure")}:`, ...boundedLines(failing, failingLine));
  if (working.length > 0) {
    if (failing.length > 0) lines.push("");
    lines.push("Over:", ...boundedLines(working, workingLine));
  }
  lines.push("", "Look further: nightshift incident list");
  return lines.join("\n");
}

function boundedLines<Fact>(facts: readonly Fact[], line: (fact: Fact) => string): string[] {
  const more = facts.length - MAX_DIGEST_JOBS;
  const shown = facts.slice(0, MAX_DIGEST_JOBS).map(line);
  return more > 0 ? [...shown, `- and ${more} more`] : shown;
}

function failingLine({ job, incident }: { job: JobFacts; incident: Incident }): string {
  const since = formatInZone(incident.openedAt, job.timezone);
  return `- ${titleOf(job)}, ${counted(incident.failures, "failure")} since ${since}: ${incident.error}`;
}

function workingLine({ job, incident }: { job: JobFacts; incident: Incident }): string {
  return `- ${titleOf(job)} works again: ${incident.error}`;
}

/** `2026-11-29 15:00:00 GMT+9 (Asia/Tokyo)`; UTC where the zone is unknown to this machine. */
export function formatInZone(instant: Instant, zone: string): string {
  try {
    const parts = new Intl.DateTimeFormat("en-GB", {
      timeZone: zone,
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
      hourCycle: "h23",
      timeZoneName: "short",
    }).formatToParts(instant);
    const part = Object.fromEntries(parts.map(({ type, value }) => [type, value]));
    const date = `${part.year}-${part.month}-${part.day}`;
    return `${date} ${part.hour}:${part.minute}:${part.second} ${part.timeZoneName} (${zone})`;
  } catch {
    return formatInstant(instant);
  }
}

/** What happened, in one sentence that follows the job's name. */
export function headline(run: Run, outcome: Outcome): string {
  const verb = run.state === "blocked" ? "was blocked before it began" : "failed";
  switch (outcome.state) {
    case "failed":
      return `${verb}: ${outcome.error.message}`;
    case "timedOut":
      return outcome.limit === "idle"
        ? `timed out: nothing happened for ${formatDuration(outcome.limitMs)} (last: ${outcome.lastActivity})`
        : `timed out: it ran longer than ${formatDuration(outcome.limitMs)}`;
    case "unknown":
      return `ended unknown: ${outcome.why}`;
    case "cancelled":
      return `was cancelled: ${outcome.by}`;
    case "succeeded":
      return `ended ${run.state}${run.reason ? `: ${run.reason}` : ""}`;
  }
}

function titleOf(job: JobFacts): string {
  return job.name === job.id ? job.id : `${job.name} (${job.id})`;
}

function whenLine(job: JobFacts, run: Run): string {
  if (run.slot !== undefined) return `Slot: ${formatInZone(run.slot, job.timezone)}`;
  return `Started (${run.trigger}): ${formatInZone(run.startedAt ?? run.createdAt, job.timezone)}`;
}

function missedLine(stretches: readonly MissedFacts[]): string {
  const [first] = stretches;
  if (!first) return "";
  const count = stretches.reduce((sum, facts) => sum + facts.count, 0);
  const from = Math.min(...stretches.map((facts) => facts.first));
  const to = Math.max(...stretches.map((facts) => facts.last));
  const atLeast = stretches.some((facts) => facts.isCountAtLeast) ? "at least " : "";
  const zone = first.job.timezone;
  const span =
    from === to ? formatInZone(from, zone) : `${formatInZone(from, zone)} to ${formatInZone(to, zone)}`;
  const reasons = [...new Set(stretches.map((facts) => facts.reason))].join(", ");
  return `- ${titleOf(first.job)}: ${atLeast}${counted(count, "slot")}, ${span}: ${reasons}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** What a program printed is no markup, whatever it looks like. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const mark = "`".repeat(longest + 1);
  return `${mark}\n${text}\n${mark}`;
}

/** The last `max` characters, from a line's beginning where one is near. */
function tailOf(text: string, max: number): string {
  if (text.length <= max) return text;
  const tail = text.slice(-max);
  const line = tail.indexOf("\n");
  return `…${line >= 0 && line < max / 2 ? tail.slice(line + 1) : tail.replace(/^[\udc00-\udfff]/, "")}`;
}
