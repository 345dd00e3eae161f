// WHEN, as a noun. Made only by schedule/grammar.ts; everything that decides works on this form.

import type { Instant } from "../kernel/time.ts";

/** Once, at an instant. `isFixed` marks an instant that was written as a wall time in a zone (T4: naive once-instants are fixed). */
export interface AtSchedule {
  kind: "at";
  at: Instant;
}

/** Elapsed time from an anchor: slots are anchor + n·everyMs for n ≥ 1; never drifting, blind to DST (T2). */
export interface EverySchedule {
  kind: "every";
  everyMs: number;
  anchor: Instant;
}

/** One day-of-month or day-of-week term beyond plain numbers. */
export type DayTerm =
  | { kind: "lastDay"; offset: number }
  | { kind: "nearestWeekday"; day: number }
  | { kind: "lastWeekdayOfMonth" }
  | { kind: "lastNamedWeekday"; weekday: number }
  | { kind: "nthWeekday"; weekday: number; nth: number };

/** The parsed fields of a cron expression. Plain values are sorted, without duplicates; weekdays are 0 (Sunday) … 6. */
export interface CronFields {
  seconds: readonly number[];
  minutes: readonly number[];
  hours: readonly number[];
  daysOfMonth: readonly number[];
  months: readonly number[];
  daysOfWeek: readonly number[];
  dayOfMonthTerms: readonly DayTerm[];
  dayOfWeekTerms: readonly DayTerm[];
  /** Whether the day fields were written as `*` or `?`; both restricted means either may match (T2: OR). */
  anyDayOfMonth: boolean;
  anyDayOfWeek: boolean;
  /** T4: no `*` in minute or hour. Decides how the schedule meets a DST change. */
  isFixed: boolean;
}

/** A cron expression on one zone's wall clock. */
export interface CronSchedule {
  kind: "cron";
  /** The five or six fields as the person meant them, normalised (`@daily` → `0 0 * * *`). */
  expression: string;
  fields: CronFields;
  zone: string;
}

export type Schedule = AtSchedule | EverySchedule | CronSchedule;

/** A schedule as it stands in a document: its text, or the object form. Durations and instants are texts. */
export type ScheduleDocument =
  | string
  | { kind: "at"; at: string }
  | { kind: "every"; every: string; anchor?: string | undefined }
  | { kind: "cron"; cron: string };
