// Cron text → fields. Five fields, or six with seconds first; `@daily` and its kin; `L`, `L-n`, `15W`, `LW`, `5L`, `1#2`, `?`.
//
// I1. What cannot be meant is refused with the piece that is wrong; nothing is read as something near it.
// I2. An expression that never comes true is refused (`0 0 31 2 *`), so every parsed one has a next slot.

import { Fault } from "../kernel/errors.ts";
import type { CronFields, DayTerm } from "../records/schedule.ts";
import { FIELDS, type FieldProblem, type FieldShape, parseTerm } from "./cron-field.ts";
import { nextWall } from "./cron-walk.ts";
import { unreadable } from "./refusal.ts";

/** @source crontab(5); `@every` and `@reboot` are not wall-clock schedules and have no meaning here. */
export const NICKNAMES: Readonly<Record<string, string>> = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
};

/** A parsed expression: normalised text and fields. */
export interface ParsedCron {
  expression: string;
  fields: CronFields;
}

/** Parses an expression or nickname. Throws `schedule.unreadable` or `schedule.never-fires`. */
export function parseCron(text: string): ParsedCron {
  const trimmed = text.trim();
  const expression = trimmed.startsWith("@") ? nicknamed(trimmed) : trimmed.split(/\s+/).join(" ");
  const fields = parseFields(expression, text);
  // Any start will do: 400 years repeat.
  if (nextWall(fields, 0) === undefined) {
    throw new Fault("schedule.never-fires", `schedule "${text}" never fires: no month has such a day`, {
      hint: "Name a day that exists; for the end of every month use `L` as the day of month.",
    });
  }
  return { expression, fields };
}

function nicknamed(text: string): string {
  const expression = NICKNAMES[text.toLowerCase()];
  if (expression) return expression;
  throw unreadable({ text, why: `"${text}" is no nickname`, token: text, known: Object.keys(NICKNAMES) });
}

function parseFields(expression: string, text: string): CronFields {
  const parts = expression.split(" ");
  if (parts.length === 5) parts.unshift("0");
  const [second = "", minute = "", hour = "", dayOfMonth = "", month = "", dayOfWeek = ""] = parts;
  if (parts.length !== 6) throw wrongCount(text, parts.length);
  const read = (part: string, shape: FieldShape) => {
    const values = parseList(part, shape);
    if (Array.isArray(values)) return values;
    throw refused(text, values);
  };
  const days = dayField(dayOfMonth, FIELDS.dayOfMonth, dateTerm);
  const weekdays = dayField(dayOfWeek, FIELDS.dayOfWeek, weekdayTerm);
  if ("why" in days) throw refused(text, days);
  if ("why" in weekdays) throw refused(text, weekdays);
  return {
    seconds: read(second, FIELDS.second),
    minutes: read(minute, FIELDS.minute),
    hours: read(hour, FIELDS.hour),
    daysOfMonth: days.values,
    months: read(month, FIELDS.month),
    daysOfWeek: [...new Set(weekdays.values.map((day) => day % 7))].sort((a, b) => a - b),
    dayOfMonthTerms: days.terms,
    dayOfWeekTerms: weekdays.terms,
    anyDayOfMonth: days.isAny,
    anyDayOfWeek: weekdays.isAny,
    isFixed: !minute.includes("*") && !hour.includes("*"),
  };
}

function wrongCount(text: string, count: number): Fault {
  return unreadable({
    text,
    why: `it has ${count} fields, cron has five, or six with seconds`,
    ...(count === 7 ? { hint: "Leave out the year; a job can end with `until:`." } : {}),
  });
}

function refused(text: string, problem: FieldProblem): Fault {
  return unreadable({ text, ...problem });
}

function parseList(part: string, shape: FieldShape): number[] | FieldProblem {
  const values = new Set<number>();
  for (const term of part.split(",")) {
    const found = parseTerm(term, shape);
    if (!Array.isArray(found)) return found;
    for (const value of found) values.add(value);
  }
  return [...values].sort((a, b) => a - b);
}

interface DayField {
  values: number[];
  terms: DayTerm[];
  isAny: boolean;
}

function dayField(
  part: string,
  shape: FieldShape,
  parseDayTerm: (term: string) => DayTerm | FieldProblem | undefined,
): DayField | FieldProblem {
  if (part === "*" || part === "?" || part === "*/1")
    return { values: everyValue(shape), terms: [], isAny: true };
  const plain: string[] = [];
  const terms: DayTerm[] = [];
  for (const term of part.split(",")) {
    const found = parseDayTerm(term);
    if (found === undefined) plain.push(term);
    else if ("why" in found) return found;
    else terms.push(found);
  }
  if (plain.length === 0) return { values: [], terms, isAny: false };
  const values = parseList(plain.join(","), shape);
  // A star inside a list leaves nothing to restrict.
  return Array.isArray(values) ? { values, terms, isAny: plain.includes("*") } : values;
}

function everyValue(shape: FieldShape): number[] {
  const last = shape.max === 7 ? 6 : shape.max;
  return Array.from({ length: last - shape.min + 1 }, (_, index) => shape.min + index);
}

/** `L`, `L-3`, `LW`, `15W`. @source Quartz CronExpression */
function dateTerm(term: string): DayTerm | FieldProblem | undefined {
  const upper = term.toUpperCase();
  if (upper === "L") return { kind: "lastDay", offset: 0 };
  if (upper === "LW" || upper === "WL") return { kind: "lastWeekdayOfMonth" };
  const last = /^L-(\d{1,2})$/.exec(upper);
  if (last) {
    const offset = Number(last[1]);
    if (offset > 30) return { token: term, why: `no month has a day ${offset} days before its last` };
    return { kind: "lastDay", offset };
  }
  const nearest = /^(\d{1,2})W$/.exec(upper);
  if (!nearest) return undefined;
  const day = Number(nearest[1]);
  if (day < 1 || day > 31) return { token: term, why: `day of month ${day} is not in 1–31` };
  return { kind: "nearestWeekday", day };
}

/** `5L`, `friL`, `1#2`, `mon#2`. @source Quartz CronExpression; weekdays are numbered as in crontab, 0 and 7 = Sunday */
function weekdayTerm(term: string): DayTerm | FieldProblem | undefined {
  const upper = term.toUpperCase();
  if (upper === "L")
    return {
      token: term,
      why: "`L` as day of week needs a weekday",
      hint: "Write `6L` or `satL` for the last Saturday.",
    };
  const match = /^([A-Z]+|\d)(L|#(\d))$/.exec(upper);
  if (!match) return undefined;
  const [, name = "", , nthText] = match;
  const weekday = parseTerm(name, FIELDS.dayOfWeek);
  if (!Array.isArray(weekday)) return weekday;
  const day = (weekday[0] ?? 0) % 7;
  if (nthText === undefined) return { kind: "lastNamedWeekday", weekday: day };
  const nth = Number(nthText);
  if (nth < 1 || nth > 5) return { token: term, why: `a month has no weekday number ${nth}; #1 to #5 exist` };
  return { kind: "nthWeekday", weekday: day, nth };
}
