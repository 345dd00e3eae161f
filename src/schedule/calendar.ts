// Calendar arithmetic on day numbers (days since 1970-01-01), and which days of a month a cron expression names.
// Everything here is about nominal dates: no zone, no instant.

import type { CronFields, DayTerm } from "../records/schedule.ts";

export interface CivilDate {
  year: number;
  /** 1 … 12 */
  month: number;
  /** 1 … 31 */
  day: number;
}

/** Day number → date (proleptic Gregorian). */
export function dateOf(dayNumber: number): CivilDate {
  const date = new Date(dayNumber * 86_400_000);
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
}

/** Date → day number. `day` may lie outside the month; it carries over. */
export function dayNumberOf(date: CivilDate): number {
  return Date.UTC(date.year, date.month - 1, date.day) / 86_400_000;
}

/** 0 = Sunday … 6. Day 0 was a Thursday. */
export function weekdayOf(dayNumber: number): number {
  return (((dayNumber + 4) % 7) + 7) % 7;
}

export function daysInMonth(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate();
}

/** The days of one month that match, as bits: bit d−1 stands for day d. Both day fields restricted = either (T2). */
export function matchingDays(fields: CronFields, year: number, month: number): number {
  if (!fields.months.includes(month)) return 0;
  const length = daysInMonth(year, month);
  const all = length === 31 ? 0x7fffffff : 2 ** length - 1;
  if (fields.anyDayOfMonth && fields.anyDayOfWeek) return all;
  const shape: MonthShape = { length, firstWeekday: weekdayOf(dayNumberOf({ year, month, day: 1 })) };
  const byDate = fields.anyDayOfMonth ? 0 : dateBits(fields, shape);
  const byWeekday = fields.anyDayOfWeek ? 0 : weekdayBits(fields, shape);
  return (byDate | byWeekday) & all;
}

interface MonthShape {
  length: number;
  firstWeekday: number;
}

function dateBits(fields: CronFields, shape: MonthShape): number {
  let bits = 0;
  for (const day of fields.daysOfMonth) bits |= bit(day);
  for (const term of fields.dayOfMonthTerms) bits |= bit(dayOfTerm(term, shape));
  return bits;
}

function weekdayBits(fields: CronFields, shape: MonthShape): number {
  let bits = 0;
  for (let day = 1; day <= shape.length; day++) {
    if (fields.daysOfWeek.includes((shape.firstWeekday + day - 1) % 7)) bits |= bit(day);
  }
  for (const term of fields.dayOfWeekTerms) bits |= bit(dayOfTerm(term, shape));
  return bits;
}

function bit(day: number | undefined): number {
  return day === undefined ? 0 : 1 << (day - 1);
}

/** The day a term names in this month; undefined = none (a fifth Monday, a 31st that is not there). */
function dayOfTerm(term: DayTerm, shape: MonthShape): number | undefined {
  const weekday = (day: number) => (shape.firstWeekday + day - 1) % 7;
  const within = (day: number) => (day >= 1 && day <= shape.length ? day : undefined);
  switch (term.kind) {
    case "lastDay":
      return within(shape.length - term.offset);
    case "nearestWeekday":
      return term.day > shape.length ? undefined : nearestWeekday(term.day, shape);
    case "lastWeekdayOfMonth":
      return nearestWeekday(shape.length, shape);
    case "lastNamedWeekday":
      return shape.length - ((weekday(shape.length) - term.weekday + 7) % 7);
    case "nthWeekday":
      return within(1 + ((term.weekday - shape.firstWeekday + 7) % 7) + 7 * (term.nth - 1));
  }
}

/** `W`: Monday to Friday nearest to the day, never leaving the month. @source Quartz CronExpression */
function nearestWeekday(day: number, shape: MonthShape): number {
  const weekday = (shape.firstWeekday + day - 1) % 7;
  if (weekday === 6) return day > 1 ? day - 1 : day + 2;
  if (weekday === 0) return day < shape.length ? day + 1 : day - 2;
  return day;
}
