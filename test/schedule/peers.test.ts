// Away from clock changes, two widely used cron libraries and we agree; in a clock change T4 decides, not they.

import { CronExpressionParser } from "cron-parser";
import { Cron } from "croner";
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseSchedule } from "../../src/schedule/grammar.ts";
import { slotsBetween } from "../../src/schedule/next-slot.ts";

const COUNT = 12;

function ours(text: string, after: number, zone: string): number[] {
  const { schedule } = parseSchedule(text, { zone, now: after });
  return slotsBetween(schedule, { after, until: Number.MAX_SAFE_INTEGER, max: COUNT });
}

function croner(text: string, after: number, zone: string): number[] {
  const cron = new Cron(text, { timezone: zone, paused: true });
  return cron.nextRuns(COUNT, new Date(after)).map(Number);
}

function cronParser(text: string, after: number, zone: string): number[] {
  const interval = CronExpressionParser.parse(text, { currentDate: new Date(after), tz: zone });
  return Array.from({ length: COUNT }, () => interval.next().getTime());
}

const number = (min: number, max: number) => fc.integer({ min, max }).map(String);
function field(min: number, max: number): fc.Arbitrary<string> {
  const range = fc
    .tuple(fc.integer({ min, max }), fc.integer({ min, max }))
    .map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`);
  const stepped = fc
    .tuple(range, fc.integer({ min: 1, max: max - min }))
    .map(([text, step]) => `${text}/${step}`);
  const starred = fc.integer({ min: 2, max: max - min }).map((step) => `*/${step}`);
  // Plain values, each once: cron-parser refuses one that is named twice.
  const list = fc.uniqueArray(number(min, max), { minLength: 1, maxLength: 4 }).map((terms) => terms.join());
  return fc.oneof(fc.constant("*"), number(min, max), range, stepped, starred, list);
}
// One of the day fields stays free: whether both mean "either" or "both" differs between libraries for steps.
const days = fc.oneof(
  field(1, 28).map((day) => [day, "*"] as const),
  fc.constantFrom("L", "15W", "LW", "1", "31", "15,L").map((day) => [day, "*"] as const),
  field(0, 6).map((weekday) => ["*", weekday] as const),
  fc.constantFrom("1#2", "5L", "MON-FRI", "0#1,3#3", "sun").map((weekday) => ["*", weekday] as const),
);
const expression = fc
  .tuple(field(0, 59), field(0, 23), days, fc.oneof(fc.constant("*"), field(1, 12)))
  // Day 31 in April alone never comes, which we refuse and others search for: months are free then.
  .map(([minute, hour, [day, weekday], month]) =>
    [minute, hour, day, day === "31" ? "*" : month, weekday].join(" "),
  );
const instant = fc.integer({ min: Date.UTC(2024, 0, 1), max: Date.UTC(2030, 0, 1) });

test("without clock changes every expression means to us what it means to croner", () => {
  fc.assert(
    fc.property(
      expression,
      instant,
      fc.constantFrom("UTC", "Asia/Tokyo", "Asia/Kolkata"),
      (text, after, zone) => {
        expect(ours(text, after, zone)).toEqual(croner(text, after, zone));
      },
    ),
    { numRuns: 400 },
  );
});

test("and what it means to cron-parser, for the forms that it knows", () => {
  fc.assert(
    fc.property(
      expression.filter((text) => !/[W#]|15,L|5L/.test(text)),
      instant,
      (text, after) => {
        expect(ours(text, after, "UTC")).toEqual(cronParser(text, after, "UTC"));
      },
    ),
    { numRuns: 200 },
  );
});

test.each(["0 0 1,15 * 1", "0 12 13 * 5", "*/30 8 L * 1#1", "*/10 * * * * *", "15 30 9 * * 1-5"])(
  "both day fields restricted mean either, and seconds come first: %s as croner reads it",
  (text) => {
    expect(ours(text, Date.UTC(2026, 0, 1), "UTC")).toEqual(croner(text, Date.UTC(2026, 0, 1), "UTC"));
  },
);

test("in winter and summer, a zone with clock changes gives what croner gives", () => {
  for (const zone of ["America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "America/Santiago"]) {
    for (const after of [Date.UTC(2026, 0, 10), Date.UTC(2026, 6, 10)]) {
      for (const text of ["30 2 * * *", "*/15 * * * *", "0 9 * * 1-5", "0 */6 * * *"]) {
        expect([zone, text, ours(text, after, zone)]).toEqual([zone, text, croner(text, after, zone)]);
      }
    }
  }
});
