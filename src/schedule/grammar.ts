// A person's text → a Schedule, its echo, and the absolute form that is written into the job's file (T1, T2, law 10).
//
// I1. Relative texts become absolute here, once: the same file means the same instants on every machine, for ever.
// I2. Nothing is guessed: what is not one of the forms below is refused with the piece that is wrong.

import { Fault } from "../kernel/errors.ts";
import {
  formatDuration,
  formatInstant,
  type Instant,
  parseDuration,
  parseInstant,
  SECOND,
} from "../kernel/time.ts";
import type { Schedule, ScheduleDocument } from "../records/schedule.ts";
import { daysInMonth } from "./calendar.ts";
import { NICKNAMES, parseCron } from "./cron.ts";
import { describeSchedule } from "./describe.ts";
import { LAST_INSTANT, nextSlot } from "./next-slot.ts";
import { unreadable } from "./refusal.ts";
import { parseWords } from "./words.ts";
import { firstInstantOf, openZone, zoneName } from "./zone.ts";

export interface ParseContext {
  /** The job's zone (T1): cron, words and naive times are on its wall clock. */
  zone: string;
  now: Instant;
  /** Where relative texts (`30m`, `every 30m`) count from. Default: `now`. */
  anchor?: Instant | undefined;
}

export interface ParsedSchedule {
  schedule: Schedule;
  /** What was understood, for people: `once, in 30 minutes, at 14:32 CET`. */
  display: string;
  /** The absolute form to store; parsing it again at any time gives the same schedule. */
  document: ScheduleDocument;
}

/** Intervals shorter than this are refused (T2). */
const SHORTEST_INTERVAL_MS = SECOND;

/**
 * Reads a schedule. A past instant is accepted: only surfaces refuse it (T3, `isPast`).
 * Throws `schedule.unreadable`, `schedule.never-fires` or `schedule.zone`.
 */
export function parseSchedule(source: ScheduleDocument, context: ParseContext): ParsedSchedule {
  const zone = zoneName(context.zone);
  const { schedule, document } =
    typeof source === "string"
      ? fromText(source, { ...context, zone })
      : fromObject(source, { ...context, zone });
  if (schedule.kind !== "at" && nextSlot(schedule, context.now) === undefined)
    throw neverFires(typeof source === "string" ? source : JSON.stringify(source));
  return { schedule, document, display: describeSchedule(schedule, { zone, now: context.now }) };
}

/** Whether nothing of the schedule lies after `now`: a once-schedule whose instant has passed (T3). */
export function isPast(schedule: Schedule, now: Instant): boolean {
  return nextSlot(schedule, now) === undefined;
}

type Read = Pick<ParsedSchedule, "schedule" | "document">;

function fromText(source: string, context: ParseContext): Read {
  const text = source.trim();
  if (text === "") throw unreadable({ text: source, why: "it is empty" });
  if (text.startsWith("@")) return fromCron(text, text, context);
  if (/^\d{4}-\d{2}/.test(text)) return once(readTime(text, context), text);
  const relative = parseDuration(text.replace(/^in\s+/i, ""));
  if (relative !== undefined) return onceAfter(relative, text, context);
  if (/^in\s/i.test(text)) throw badDuration(text, text.replace(/^in\s+/i, ""));
  const interval = /^every\s+(.*)$/i.exec(text)?.[1];
  const everyMs = interval === undefined ? undefined : parseDuration(interval);
  if (everyMs !== undefined) return every(everyMs, context.anchor ?? context.now, text);
  if (interval !== undefined && /^\d/.test(interval)) throw badDuration(text, interval);
  if (/^[\d*?]/.test(text)) return fromCronLike(text, context);
  return fromCron(parseWords(text), text, context);
}

/** Texts that start like cron. A single token is more likely a mistyped duration. */
function fromCronLike(text: string, context: ParseContext): Read {
  if (!/\s/.test(text)) throw badDuration(text, text);
  return fromCron(text, text, context);
}

function fromCron(cron: string, document: ScheduleDocument, context: ParseContext): Read {
  return { schedule: { kind: "cron", ...parseCron(cron), zone: context.zone }, document };
}

function fromObject(source: Exclude<ScheduleDocument, string>, context: ParseContext): Read {
  switch (source.kind) {
    case "at": {
      const relative = parseDuration(source.at.replace(/^in\s+/i, ""));
      if (relative !== undefined) return onceAfter(relative, source.at, context);
      return once(readTime(source.at, context), source.at);
    }
    case "every": {
      const everyMs = parseDuration(source.every);
      if (everyMs === undefined) throw badDuration(source.every, source.every);
      const anchor =
        source.anchor === undefined ? (context.anchor ?? context.now) : readTime(source.anchor, context);
      return every(everyMs, anchor, source.every);
    }
    case "cron":
      return fromCron(source.cron, source, context);
  }
}

function once(at: Instant, text: string): Read {
  if (!(Math.abs(at) <= LAST_INSTANT)) throw neverFires(text);
  return { schedule: { kind: "at", at }, document: { kind: "at", at: formatInstant(at) } };
}

function onceAfter(delayMs: number, text: string, context: ParseContext): Read {
  if (delayMs === 0)
    throw unreadable({ text, why: "the delay is zero", hint: "Use `nightshift job run` to run now." });
  return once((context.anchor ?? context.now) + delayMs, text);
}

function every(everyMs: number, anchor: Instant, text: string): Read {
  if (everyMs < SHORTEST_INTERVAL_MS)
    throw unreadable({
      text,
      why: "the interval is too short",
      hint: "`every 1s` is the shortest interval.",
    });
  return {
    schedule: { kind: "every", everyMs, anchor },
    document: { kind: "every", every: formatDuration(everyMs), anchor: formatInstant(anchor) },
  };
}

const ISO =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(Z|[+-]\d{2}:?\d{2})?)?$/i;

/** An ISO time; without an offset it is a wall time in the job's zone, and such a time is fixed (T4). */
function readTime(source: string, context: ParseContext): Instant {
  const text = source.trim();
  const parts = ISO.exec(text);
  if (!parts) throw badTime(source, text);
  const [, year, month, day, hour, minute, second] = parts.map((part) => Number(part ?? 0));
  const date = { year: year ?? 0, month: month ?? 0, day: day ?? 0 };
  const isDate =
    date.month >= 1 && date.month <= 12 && date.day >= 1 && date.day <= daysInMonth(date.year, date.month);
  if (!isDate) throw badTime(source, text.slice(0, 10));
  if ((hour ?? 0) > 23 || (minute ?? 0) > 59 || (second ?? 0) > 59) throw badTime(source, text.slice(11));
  const offset = parts[8];
  if (offset) {
    const instant = parseInstant(text.replace(" ", "T").replace(",", "."));
    if (instant === undefined) throw badTime(source, offset);
    return instant;
  }
  const milliseconds = Number(`${parts[7] ?? ""}000`.slice(0, 3));
  const wall = Date.UTC(date.year, date.month - 1, date.day, hour, minute, second, milliseconds);
  return firstInstantOf(openZone(context.zone), wall);
}

function badTime(text: string, token: string): Fault {
  return unreadable({
    text,
    token,
    why: `"${token}" is not a date and time`,
    hint: "Write a time as `2026-12-01T09:00` (the job's zone) or `2026-12-01T08:00:00Z`.",
  });
}

const SPELLED_UNITS = ["s", "m", "h", "d", "w", "seconds", "minutes", "hours", "days", "weeks"];

function badDuration(text: string, duration: string): Fault {
  const unit = /[a-z]+/i.exec(duration)?.[0];
  return unreadable({
    text,
    token: unit ?? duration,
    why: `"${duration}" is not a duration`,
    known: unit && unit.length > 2 ? [...SPELLED_UNITS, ...Object.keys(NICKNAMES)] : [],
  });
}

function neverFires(text: string): Fault {
  return new Fault("schedule.never-fires", `schedule "${text}" never fires: it lies beyond the year 9999`, {
    hint: "Choose a nearer time.",
  });
}
