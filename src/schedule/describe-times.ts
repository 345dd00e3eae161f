// The time part of a cron expression in words: `at 09:00 and 18:00`, `every 15 minutes from 09:00 to 17:45`.

import type { CronFields } from "../records/schedule.ts";
import { counted, listed, type Shape, shapeOf, twoDigits } from "./describe-shape.ts";

/** More clock times than this in a row are not read by anyone. */
const MAX_LISTED = 8;

/** Undefined = no sentence that a person would read. */
export function describeTimes(fields: CronFields): string | undefined {
  if (fields.seconds.length === 1) return withinMinutes(fields, fields.seconds[0] ?? 0);
  const seconds = describeSeconds(shapeOf(fields.seconds, 60));
  if (seconds === undefined) return undefined;
  if (fields.minutes.length === 60) return join(seconds, duringHours(fields));
  const minutes = describeMinuteSet(fields);
  return minutes === undefined ? undefined : join(`${seconds} ${minutes}`, duringHours(fields));
}

function join(head: string, tail: string | undefined): string | undefined {
  return tail === undefined ? undefined : [head, tail].filter(Boolean).join(" ");
}

function describeSeconds(shape: Shape): string | undefined {
  switch (shape.kind) {
    case "all":
      return "every second";
    case "even":
      return shape.first === 0
        ? `every ${shape.step} seconds`
        : `every ${shape.step} seconds from second ${shape.first}`;
    case "single":
      return `at second ${shape.value}`;
    case "range":
      return `at seconds ${shape.first} to ${shape.last}`;
    case "stepped":
      return `every ${shape.step} seconds from second ${shape.first} to ${shape.last}`;
    case "list":
      return shape.values.length > MAX_LISTED ? undefined : `at seconds ${listed(shape.values.map(String))}`;
  }
}

function describeMinuteSet(fields: CronFields): string | undefined {
  const shape = shapeOf(fields.minutes, 60);
  if (shape.kind === "single") return `of minute ${shape.value}`;
  if (shape.kind === "even" && shape.first === 0) return `of every ${ordinalMinute(shape.step)} minute`;
  if (shape.kind === "range") return `of minutes ${shape.first} to ${shape.last}`;
  return fields.minutes.length > MAX_LISTED ? undefined : `of minutes ${listed(fields.minutes.map(String))}`;
}

function ordinalMinute(step: number): string {
  return step === 2 ? "second" : step === 3 ? "third" : `${step}th`;
}

/** `between 09:00 and 17:59`, for things that go on all through the hours. Empty = all day. */
function duringHours(fields: CronFields): string | undefined {
  const shape = shapeOf(fields.hours, 24);
  switch (shape.kind) {
    case "all":
      return "";
    case "single":
      return `between ${twoDigits(shape.value)}:00 and ${twoDigits(shape.value)}:59`;
    case "range":
      return `between ${twoDigits(shape.first)}:00 and ${twoDigits(shape.last)}:59`;
    default:
      return fields.hours.length > 12 ? undefined : `in the hours ${listed(fields.hours.map(twoDigits))}`;
  }
}

/** One second of the minute: sentences about minutes and hours. */
function withinMinutes(fields: CronFields, second: number): string | undefined {
  const times = clockTimes(fields, second);
  if (
    times.length <= 4 ||
    (times.length <= MAX_LISTED && fields.minutes.length < 3 && fields.hours.length < 24)
  ) {
    const hours = shapeOf(fields.hours, 24);
    if (fields.minutes.length > 1 || hours.kind === "list" || hours.kind === "single")
      return `at ${listed(times)}`;
  }
  const suffix = second === 0 ? "" : ` at second ${second}`;
  return describeMinutes(fields, suffix);
}

function clockTimes(fields: CronFields, second: number): string[] {
  const tail = second === 0 ? "" : `:${twoDigits(second)}`;
  return fields.hours.flatMap((hour) =>
    fields.minutes.map((minute) => `${twoDigits(hour)}:${twoDigits(minute)}${tail}`),
  );
}

function describeMinutes(fields: CronFields, suffix: string): string | undefined {
  const shape = shapeOf(fields.minutes, 60);
  switch (shape.kind) {
    case "all":
      return join(`every minute${suffix}`, duringHours(fields));
    case "single":
      return describeHours(fields, shape.value, suffix);
    case "even":
      return describeEvenMinutes(fields, shape, suffix);
    default: {
      if (fields.minutes.length > MAX_LISTED && shape.kind === "list") return undefined;
      const minutes = minuteWords(shape);
      const hours = shapeOf(fields.hours, 24);
      if (hours.kind === "all") return `${minutes} past every hour${suffix}`;
      return join(`${minutes} past the hour${suffix}`, duringHours(fields));
    }
  }
}

function minuteWords(shape: Shape): string {
  switch (shape.kind) {
    case "range":
      return `every minute from ${shape.first} to ${shape.last}`;
    case "stepped":
      return `every ${shape.step} minutes from ${shape.first} to ${shape.last}`;
    case "list":
      return `at ${listed(shape.values.map(String))} minutes`;
    case "all":
      return "every minute";
    case "single":
      return `at ${counted(shape.value, "minute")}`;
    case "even":
      return `every ${shape.step} minutes from ${shape.first}`;
  }
}

function describeEvenMinutes(
  fields: CronFields,
  shape: { step: number; first: number },
  suffix: string,
): string | undefined {
  const start = shape.first === 0 ? "" : ` from minute ${shape.first}`;
  const head = `every ${shape.step} minutes${suffix}`;
  const hours = shapeOf(fields.hours, 24);
  if (hours.kind === "all") return `${head}${start}`;
  if (hours.kind !== "range" && hours.kind !== "single") return join(`${head}${start}`, duringHours(fields));
  const first = hours.kind === "range" ? hours.first : hours.value;
  const last = hours.kind === "range" ? hours.last : hours.value;
  return `${head} from ${clock(first, fields.minutes[0])} to ${clock(last, fields.minutes.at(-1))}`;
}

function describeHours(fields: CronFields, minute: number, suffix: string): string | undefined {
  const shape = shapeOf(fields.hours, 24);
  const past = minute === 0 ? "" : ` at ${counted(minute, "minute")} past`;
  switch (shape.kind) {
    case "all":
      return minute === 0
        ? `every hour${suffix}`
        : `at ${counted(minute, "minute")} past every hour${suffix}`;
    case "even":
      return `every ${shape.step} hours${past}${suffix}, starting at ${clock(shape.first, minute)}`;
    case "range":
      return `every hour from ${clock(shape.first, minute)} to ${clock(shape.last, minute)}${suffix}`;
    case "stepped":
      return `every ${shape.step} hours from ${clock(shape.first, minute)} to ${clock(shape.last, minute)}${suffix}`;
    case "single":
      return `at ${clock(shape.value, minute)}${suffix}`;
    case "list":
      if (shape.values.length > 12) return undefined;
      return `at ${listed(shape.values.map((hour) => clock(hour, minute)))}${suffix}`;
  }
}

function clock(hour: number, minute: number | undefined): string {
  return `${twoDigits(hour)}:${twoDigits(minute ?? 0)}`;
}
