// Hermes' stored schedules in our words, with the instants they still have ahead of them.
//
// I1. A one-shot whose instant has passed is completed, never scheduled: an import fires nothing that is over.
// I2. A stamp without an offset is the time on the wall of the machine that wrote it.

import {
  DAY,
  formatDuration,
  formatInstant,
  type Instant,
  MINUTE,
  parseDuration,
  parseInstant,
} from "../kernel/time.ts";
import { isRecord, textOf } from "./hermes-text.ts";
import type { ScheduleDocument } from "./schedule.ts";

export interface HermesTime {
  now: Instant;
  /** IANA zone of the machine that wrote the file. */
  systemZone: string;
}

export interface HermesSchedule {
  /** Undefined = could not be carried over. */
  schedule: ScheduleDocument | undefined;
  isOnce: boolean;
  /** Why nothing of it lies ahead. */
  completed?: string;
  warnings: string[];
}

/** Reads `schedule` (object or text) of a record, with `next_run_at` and `created_at` for what it leaves open. */
export function readHermesSchedule(record: Record<string, unknown>, time: HermesTime): HermesSchedule {
  const stored = record.schedule;
  if (isRecord(stored)) return fromObject(stored, record, time);
  const text = textOf(stored) ?? textOf(record.schedule_display);
  if (text === undefined) return lost("It has no schedule; it can be run by hand.");
  return fromText(text, record, time);
}

function fromObject(
  stored: Record<string, unknown>,
  record: Record<string, unknown>,
  time: HermesTime,
): HermesSchedule {
  const kind = textOf(stored.kind);
  const expression = textOf(stored.expr) ?? textOf(stored.cron);
  if (kind === "cron" || (kind === undefined && expression)) {
    if (expression) return recurring({ kind: "cron", cron: expression });
  } else if (kind === "interval" || (kind === undefined && stored.minutes !== undefined)) {
    const minutes = Number(stored.minutes);
    if (Number.isFinite(minutes) && minutes > 0) return interval(minutes * MINUTE, record, time);
  } else if (kind === "once") {
    const at = hermesInstant(stored.run_at, time) ?? hermesInstant(record.next_run_at, time);
    return at === undefined ? lostOnce(record) : once(at, record, time);
  }
  const text = textOf(stored.display) ?? textOf(record.schedule_display);
  if (text !== undefined) return fromText(text, record, time);
  return lost(`Its schedule ${JSON.stringify(stored)} could not be read; it can be run by hand.`);
}

function fromText(text: string, record: Record<string, unknown>, time: HermesTime): HermesSchedule {
  const at = hermesInstant(text, time);
  if (at !== undefined) return once(at, record, time);
  const [, every] = /^every\s+(\d+\s*[a-z]+|[a-z]+)$/i.exec(text) ?? [];
  const everyMs = every === undefined ? undefined : parseDuration(every);
  if (everyMs) return interval(everyMs, record, time);
  const [, delay] = /^(?:in|once in)\s+(.+)$/i.exec(text) ?? [];
  if (delay !== undefined && parseDuration(delay) !== undefined) {
    const due = hermesInstant(record.next_run_at, time);
    return due === undefined ? lostOnce(record) : once(due, record, time);
  }
  const bareMs = parseDuration(text);
  if (!bareMs) return recurring(text);
  const read = interval(bareMs, record, time);
  read.warnings.push(
    `Its schedule "${text}" is taken as every ${formatDuration(bareMs)}, as Hermes reads it today.`,
  );
  return read;
}

function recurring(schedule: ScheduleDocument): HermesSchedule {
  return { schedule, isOnce: false, warnings: [] };
}

/** The anchor puts the next slot where Hermes had its next run. */
function interval(everyMs: number, record: Record<string, unknown>, time: HermesTime): HermesSchedule {
  const next = hermesInstant(record.next_run_at, time);
  const last = hermesInstant(record.last_run_at, time) ?? hermesInstant(record.created_at, time);
  const anchor = next === undefined ? last : next - everyMs;
  const every = formatDuration(everyMs);
  return recurring({ kind: "every", every, anchor: formatInstant(anchor ?? time.now) });
}

function once(at: Instant, record: Record<string, unknown>, time: HermesTime): HermesSchedule {
  const schedule: ScheduleDocument = { kind: "at", at: formatInstant(at) };
  if (at > time.now) return { schedule, isOnce: true, warnings: [] };
  const ran = textOf(record.last_run_at);
  const completed = ran
    ? `it ran under Hermes at ${ran}`
    : `its time, ${formatInstant(at)}, passed before the import`;
  return { schedule, isOnce: true, completed, warnings: [] };
}

function lostOnce(record: Record<string, unknown>): HermesSchedule {
  const ran = textOf(record.last_run_at);
  return {
    ...lost("It was to run once, but at what instant cannot be read; it can be run by hand."),
    isOnce: true,
    completed: ran ? `it ran under Hermes at ${ran}` : "the instant it was meant for cannot be read",
  };
}

function lost(warning: string): HermesSchedule {
  return { schedule: undefined, isOnce: false, warnings: [warning] };
}

/** An ISO stamp; without an offset it is a wall time in the system's zone. Undefined for anything else. */
export function hermesInstant(value: unknown, time: HermesTime): Instant | undefined {
  const text = textOf(value)?.replace(/^(\d{4}-\d{2}-\d{2}) (?=\d)/, "$1T");
  if (text === undefined) return undefined;
  const withOffset = parseInstant(text.replace(/(\.\d{3})\d+/, "$1"));
  if (withOffset !== undefined) return withOffset;
  const naive = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)\d*)?$/.exec(text);
  if (!naive) return undefined;
  const wall = Date.parse(`${naive[1]}T${naive[2] ?? "00:00"}Z`);
  return Number.isNaN(wall) ? undefined : instantOfWall(wall, time.systemZone);
}

/** The first instant at which the zone's clock shows this wall time; for one the spring gap swallows, the gap's end (T4). */
function instantOfWall(wall: number, zone: string): Instant {
  const before = offsetAt(wall - DAY, zone);
  const offsets = [before, offsetAt(wall + DAY, zone)];
  const fitting = offsets
    .map((offset) => wall - offset)
    .filter((instant) => instant + offsetAt(instant, zone) === wall);
  if (fitting.length > 0) return Math.min(...fitting);
  let [low, high] = [wall - DAY, wall + DAY];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(middle, zone) === before) low = middle;
    else high = middle;
  }
  return high;
}

/** The zone's distance from UTC at an instant, in ms. */
function offsetAt(instant: Instant, zone: string): number {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  const part = Object.fromEntries(
    format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(instant / 1_000) * 1_000;
}
