// What a schedule means, in one English sentence (law 10). Correct before short: what has no short form is listed.

import { DAY, type Instant, SECOND } from "../kernel/time.ts";
import type { CronSchedule, Schedule } from "../records/schedule.ts";
import { describeDays } from "./describe-days.ts";
import { describeTimes } from "./describe-times.ts";
import { openZone, zoneAbbreviation } from "./zone.ts";

/** The echo: `once, in 30 minutes, at 14:32 CET` · `every 5 minutes` · `at 09:00 on Monday, Europe/Berlin`. */
export function describeSchedule(schedule: Schedule, context: { zone: string; now: Instant }): string {
  switch (schedule.kind) {
    case "at":
      return describeOnce(schedule.at, context);
    case "every":
      return `every ${interval(schedule.everyMs)}`;
    case "cron":
      return describeCron(schedule);
  }
}

/** A cron schedule in words; `cron <expression>` where the words would be a list nobody reads. */
export function describeCron(schedule: CronSchedule): string {
  const times = describeTimes(schedule.fields);
  const days = describeDays(schedule.fields);
  if (times === undefined || days === undefined) return `cron ${schedule.expression}, ${schedule.zone}`;
  const everyDay = days === "" && times.startsWith("at ") && !times.includes(" every ") ? "every day" : days;
  return `${[times, everyDay].filter(Boolean).join(" ")}, ${schedule.zone}`;
}

function describeOnce(at: Instant, context: { zone: string; now: Instant }): string {
  const local = (instant: Instant) =>
    new Date(instant + openZone(context.zone).offsetAt(instant)).toISOString();
  const text = local(at);
  const isToday = text.slice(0, 10) === local(context.now).slice(0, 10);
  const clock = text.slice(17, 19) === "00" ? text.slice(11, 16) : text.slice(11, 19);
  const day = isToday ? "" : `on ${longDate(at, context.zone)} `;
  const distance = at - context.now;
  const relative = distance >= 0 ? `in ${rough(distance)}` : `${rough(-distance)} ago`;
  return `once, ${relative}, ${day}at ${clock} ${zoneAbbreviation(context.zone, at)}`;
}

function longDate(at: Instant, zone: string): string {
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    weekday: "short",
    day: "numeric",
    month: "long",
    year: "numeric",
  });
  return format.format(at).replace(",", "");
}

const UNITS: readonly [string, number][] = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
];

/** The two largest units: `2 days 4 hours`, `30 minutes`, `0 seconds`. */
function rough(ms: number): string {
  const parts = unitParts(Math.round(ms / SECOND));
  const first = UNITS.findIndex(([name]) => parts[0]?.includes(name));
  const second = parts[1]?.includes(UNITS[first + 1]?.[0] ?? "none") ? parts[1] : undefined;
  return [parts[0] ?? "0 seconds", second].filter(Boolean).join(" ");
}

/** Exact; one unit without its number where it is one: `every minute`. A day is 24 hours here, whatever the clock does. */
function interval(ms: number): string {
  if (ms === DAY) return "24 hours";
  const parts = unitParts(Math.floor(ms / SECOND));
  if (ms % SECOND > 0) parts.push(`${ms % SECOND} ms`);
  const text = parts.join(" ");
  return parts.length === 1 ? text.replace(/^1 /, "") : text;
}

function unitParts(seconds: number): string[] {
  const parts: string[] = [];
  let rest = seconds;
  for (const [name, size] of UNITS) {
    const count = Math.floor(rest / size);
    if (count > 0) parts.push(`${count} ${name}${count === 1 ? "" : "s"}`);
    rest -= count * size;
  }
  return parts;
}
