// The day part of a cron expression in words: `on Monday`, `on the 1st of the month or on Friday`, `in June`.

import type { CronFields, DayTerm } from "../records/schedule.ts";
import { listed, ordinal, shapeOf } from "./describe-shape.ts";

const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = "January February March April May June July August September October November December".split(
  " ",
);
const MAX_LISTED = 12;

/** Empty = every day. Undefined = no sentence that a person would read. */
export function describeDays(fields: CronFields): string | undefined {
  const months = monthWords(fields);
  const dates = fields.anyDayOfMonth ? "" : dateWords(fields);
  const weekdays = fields.anyDayOfWeek ? "" : weekdayWords(fields);
  if (dates === undefined || weekdays === undefined) return undefined;
  // Either may match (T2), so they are joined by "or".
  const days = [dates, weekdays].filter(Boolean).join(" or ");
  if (months === "") return days;
  const monthPart = days === "" ? `every day in ${months}` : `in ${months}`;
  return [days.replaceAll(" of the month", ""), monthPart].filter(Boolean).join(" ");
}

function monthWords(fields: CronFields): string {
  const shape = shapeOf(fields.months, 12, 1);
  if (shape.kind === "all") return "";
  if (shape.kind === "range") return `${month(shape.first)} to ${month(shape.last)}`;
  return listed(fields.months.map(month));
}

function month(value: number): string {
  return MONTHS[value - 1] ?? "";
}

function dateWords(fields: CronFields): string | undefined {
  const phrases: string[] = [];
  const shape = shapeOf(fields.daysOfMonth, 31, 1);
  const terms = fields.dayOfMonthTerms.map(termWords);
  if (fields.daysOfMonth.length > 0) {
    if (shape.kind === "all") phrases.push("every day");
    else if (shape.kind === "range") phrases.push(`the ${ordinal(shape.first)} to ${ordinal(shape.last)}`);
    else if (fields.daysOfMonth.length > MAX_LISTED) return undefined;
    else
      phrases.push(...fields.daysOfMonth.map((day, index) => `${index === 0 ? "the " : ""}${ordinal(day)}`));
  }
  if (shape.kind === "all") return "every day";
  return `on ${listed([...phrases, ...terms])} of the month`;
}

function weekdayWords(fields: CronFields): string {
  const shape = shapeOf(fields.daysOfWeek, 7);
  const terms = fields.dayOfWeekTerms.map((term) => `${termWords(term)} of the month`);
  if (shape.kind === "all") return "every day";
  const plain =
    shape.kind === "range"
      ? [`${weekday(shape.first)} to ${weekday(shape.last)}`]
      : // Monday comes first in a list of days, Sunday last.
        [...fields.daysOfWeek].sort((a, b) => ((a + 6) % 7) - ((b + 6) % 7)).map(weekday);
  return `on ${listed([...plain, ...terms])}`;
}

function weekday(value: number): string {
  return WEEKDAYS[value] ?? "";
}

const NTH = ["", "first", "second", "third", "fourth", "fifth"];

function termWords(term: DayTerm): string {
  switch (term.kind) {
    case "lastDay":
      return term.offset === 0 ? "the last day" : `the ${ordinal(term.offset + 1)} to last day`;
    case "lastWeekdayOfMonth":
      return "the last weekday";
    case "nearestWeekday":
      return `the weekday nearest the ${ordinal(term.day)}`;
    case "lastNamedWeekday":
      return `the last ${weekday(term.weekday)}`;
    case "nthWeekday":
      return `the ${NTH[term.nth] ?? ""} ${weekday(term.weekday)}`;
  }
}
