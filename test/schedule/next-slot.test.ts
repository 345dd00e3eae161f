import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DAY, formatInstant, HOUR, MINUTE, SECOND } from "../../src/kernel/time.ts";
import type { Schedule } from "../../src/records/schedule.ts";
import { parseSchedule } from "../../src/schedule/grammar.ts";
import {
  countSlots,
  nextSlot,
  periodAt,
  previousSlot,
  slotsBetween,
  smallestGap,
} from "../../src/schedule/next-slot.ts";

const NEW_YORK = "America/New_York";
const NOW = Date.parse("2026-01-01T00:00:00Z");

function scheduleOf(text: string, zone = NEW_YORK): Schedule {
  return parseSchedule(text, { zone, now: NOW, anchor: NOW }).schedule;
}

/** All slots whose instant lies in the local day, given as its first and last instant. */
function slots(text: string, from: string, to: string, zone = NEW_YORK): string[] {
  const window = { after: Date.parse(from) - 1, until: Date.parse(to), max: 1_000 };
  return slotsBetween(scheduleOf(text, zone), window).map(formatInstant);
}

const SPRING = ["2026-03-08T05:00:00Z", "2026-03-09T03:59:59Z"] as const;
const AUTUMN = ["2026-11-01T04:00:00Z", "2026-11-02T04:59:59Z"] as const;

describe("T4: New York", () => {
  test("`30 2 * * *` in the spring gap fires at the first instant after it (node-cron#518: not next year)", () => {
    expect(slots("30 2 * * *", ...SPRING)).toEqual(["2026-03-08T07:00:00Z"]);
  });
  test("`0,30 2 * * *`: two swallowed wall times are one slot", () => {
    expect(slots("0,30 2 * * *", ...SPRING)).toEqual(["2026-03-08T07:00:00Z"]);
  });
  test("`30 2,3 * * *`: the swallowed and the real wall time are two slots", () => {
    expect(slots("30 2,3 * * *", ...SPRING)).toEqual(["2026-03-08T07:00:00Z", "2026-03-08T07:30:00Z"]);
  });
  test("`0 2,3 * * *`: the swallowed one falls on the real one, once", () => {
    expect(slots("0 2,3 * * *", ...SPRING)).toEqual(["2026-03-08T07:00:00Z"]);
  });
  test("`30 1 * * *` in the repeated hour fires once, at its first instant (OptimalBits/bull#2207)", () => {
    expect(slots("30 1 * * *", ...AUTUMN)).toEqual(["2026-11-01T05:30:00Z"]);
  });
  test("`0 1-3 * * *` in autumn: 05:00Z, 07:00Z, 08:00Z", () => {
    expect(slots("0 1-3 * * *", ...AUTUMN)).toEqual([
      "2026-11-01T05:00:00Z",
      "2026-11-01T07:00:00Z",
      "2026-11-01T08:00:00Z",
    ]);
  });
  test("`*/15 * * * *` runs through both repeated hours: 8 slots from 05:00Z to 06:45Z (systemd#8647)", () => {
    const found = slots("*/15 * * * *", "2026-11-01T05:00:00Z", "2026-11-01T06:59:59Z");

    expect(found).toHaveLength(8);
    expect([found[0], found[7]]).toEqual(["2026-11-01T05:00:00Z", "2026-11-01T06:45:00Z"]);
  });
  test("`0 * * * *` fires every elapsed hour on both days", () => {
    for (const [from, to, count] of [
      [...SPRING, 23],
      [...AUTUMN, 25],
    ] as const) {
      const found = slots("0 * * * *", from, to).map((text) => Date.parse(text));
      expect(found).toHaveLength(count);
      expect(found.every((slot, index) => slot === Date.parse(from) + index * HOUR)).toBe(true);
    }
  });
  test("`*/30 2 * * *` is a wildcard: nothing inside the gap that day", () => {
    expect(slots("*/30 2 * * *", ...SPRING)).toEqual([]);
  });
  test("seconds do not make a wildcard: `* 30 2 * * *` swallowed sixty times is one slot", () => {
    expect(slots("* 30 2 * * *", ...SPRING)).toEqual(["2026-03-08T07:00:00Z"]);
  });
});

describe("T4: other clocks", () => {
  test.each([
    ["Australia/Lord_Howe", "15 2 * * *", "2026-10-03T15:30:00Z", "half an hour is swallowed"],
    ["America/Santiago", "0 0 * * *", "2026-09-06T04:00:00Z", "midnight is swallowed"],
    ["Africa/Cairo", "30 0 * * *", "2026-04-23T22:00:00Z", "midnight is swallowed"],
    ["Europe/Dublin", "30 1 * * *", "2026-03-29T01:00:00Z", "winter is the exception there"],
    ["Antarctica/Troll", "30 2 * * *", "2026-03-29T01:00:00Z", "two hours are swallowed"],
  ])("%s `%s`: %s (%s)", (zone, text, instant) => {
    const at = Date.parse(instant);

    expect(nextSlot(scheduleOf(text, zone), at - HOUR)).toBe(at);
    expect(nextSlot(scheduleOf(text, zone), at)).toBeGreaterThan(at + 12 * HOUR);
  });

  test("Lord Howe repeats half an hour: a fixed time in it fires once, at its first instant", () => {
    expect(
      slots("45 1 * * *", "2026-04-04T13:00:00Z", "2026-04-05T13:00:00Z", "Australia/Lord_Howe"),
    ).toEqual(["2026-04-04T14:45:00Z"]);
  });

  test("Apia had no 30 December 2011: its wall times fall on the first instant of the 31st, day judged nominally", () => {
    const after = Date.parse("2011-12-29T20:00:00Z");
    const fridays = scheduleOf("0 9,17 * * 5", "Pacific/Apia");
    const daily = scheduleOf("0 9 * * *", "Pacific/Apia");
    const hourly = scheduleOf("0 * 30 12 *", "Pacific/Apia");

    expect(formatInstant(nextSlot(fridays, after)!)).toBe("2011-12-30T10:00:00Z");
    expect(slotsBetween(daily, { after, until: after + 2 * DAY, max: 9 }).map(formatInstant)).toEqual([
      "2011-12-30T10:00:00Z",
      "2011-12-30T19:00:00Z",
      "2011-12-31T19:00:00Z",
    ]);
    expect(formatInstant(nextSlot(hourly, after)!)).toBe("2012-12-29T10:00:00Z");
  });

  test("Casablanca sets its clock back for Ramadan and forward again", () => {
    const daily = scheduleOf("30 2 * * *", "Africa/Casablanca");
    const found = slotsBetween(daily, {
      after: Date.parse("2026-02-14T00:00:00Z"),
      until: Date.parse("2026-03-24T00:00:00Z"),
      max: 100,
    });

    expect(found).toHaveLength(38);
    expect(formatInstant(found[0]!)).toBe("2026-02-14T01:30:00Z");
    expect(formatInstant(found[1]!)).toBe("2026-02-15T01:30:00Z");
    expect(formatInstant(found[2]!)).toBe("2026-02-16T02:30:00Z");
    expect(found.map(formatInstant)).toContain("2026-03-22T02:00:00Z");
  });
});

describe("T2: complaints about others", () => {
  test("hermes#66436: `0 9 * * 1-5` in Berlin stays 09:00 over 25 October 2026", () => {
    expect(slots("0 9 * * 1-5", "2026-10-23T00:00:00Z", "2026-10-27T00:00:00Z", "Europe/Berlin")).toEqual([
      "2026-10-23T07:00:00Z",
      "2026-10-26T08:00:00Z",
    ]);
  });
  test("hermes#109411: `every 24h` and `every 2h` are elapsed time over a DST edge", () => {
    const anchor = Date.parse("2026-03-08T06:30:00Z");
    const { schedule } = parseSchedule("every 2h", { zone: NEW_YORK, now: anchor });

    expect(nextSlot(schedule, anchor)).toBe(anchor + 2 * HOUR);
    expect(periodAt(scheduleOf("every 24h"), NOW + 100 * DAY)).toBe(DAY);
  });
  test("an interval's first slot is one period after its anchor, and it never drifts", () => {
    const schedule = scheduleOf("every 7m");

    expect(nextSlot(schedule, NOW - DAY)).toBe(NOW + 7 * MINUTE);
    expect(nextSlot(schedule, NOW + 1_000_000 * 7 * MINUTE + 1)).toBe(NOW + 1_000_001 * 7 * MINUTE);
  });
  test("`1W` and `LW` stay within their month, whatever day its edge is", () => {
    const days = (text: string) =>
      slots(text, "2026-01-01T00:00:00Z", "2026-08-31T23:59:59Z", "UTC").map((slot) => slot.slice(5, 10));

    expect(days("0 0 1W * *")).toEqual([
      "01-01",
      "02-02",
      "03-02",
      "04-01",
      "05-01",
      "06-01",
      "07-01",
      "08-03",
    ]);
    expect(days("0 0 LW * *")).toEqual([
      "01-30",
      "02-27",
      "03-31",
      "04-30",
      "05-29",
      "06-30",
      "07-31",
      "08-31",
    ]);
  });
  test("day of month with weekday: either (OR); with `?` or `*` only the other", () => {
    const either = slots("0 0 13 * 5", "2026-11-01T00:00:00Z", "2026-11-30T23:59:59Z", "UTC");

    expect(either.map((text) => Number(text.slice(8, 10)))).toEqual([6, 13, 20, 27]);
    expect(slots("0 0 13 * ?", "2026-11-01T00:00:00Z", "2026-11-30T00:00:00Z", "UTC")).toHaveLength(1);
  });
});

const EXPRESSIONS = [
  "* * * * *",
  "*/7 * * * *",
  "30 2 * * *",
  "0,30 1-3 * * *",
  "15 */3 * * *",
  "0 0 1,15 * 1",
  "0 9 * * 1-5",
  "0 0 L * *",
  "0 3 LW * *",
  "0 12 * 2 5#4",
  "*/20 30 1 * * *",
  "every 47m",
  "every 1d",
];
const ZONES = [
  "UTC",
  NEW_YORK,
  "Europe/Berlin",
  "Australia/Lord_Howe",
  "Africa/Casablanca",
  "America/Santiago",
];
const anySchedule = fc.record({ text: fc.constantFrom(...EXPRESSIONS), zone: fc.constantFrom(...ZONES) });
const anyInstant = fc.integer({ min: Date.UTC(2025, 0, 1), max: Date.UTC(2029, 0, 1) });

describe("what holds for every schedule", () => {
  test("T4: slots strictly increase, and no slot lies between an instant and its next slot", () => {
    fc.assert(
      fc.property(
        anySchedule,
        anyInstant,
        fc.double({ min: 0, max: 1, noNaN: true }),
        ({ text, zone }, after, part) => {
          const schedule = scheduleOf(text, zone);
          const next = nextSlot(schedule, after)!;
          expect(next).toBeGreaterThan(after);
          const between = after + Math.floor((next - 1 - after) * part);
          expect(nextSlot(schedule, between)).toBe(next);
          expect(nextSlot(schedule, next)).toBeGreaterThan(next);
        },
      ),
      { numRuns: 3_000 },
    );
  });

  test("`previousSlot` is the mirror of `nextSlot`, `countSlots` counts what `slotsBetween` lists", () => {
    fc.assert(
      fc.property(anySchedule, anyInstant, ({ text, zone }, instant) => {
        const schedule = scheduleOf(text, zone);
        const next = nextSlot(schedule, Math.max(instant, NOW + 3 * DAY))!;
        const previous = previousSlot(schedule, next)!;
        expect(previous).toBeLessThan(next);
        expect(nextSlot(schedule, previous)).toBe(next);
        const window = { after: next, until: next + 3 * DAY };
        expect(countSlots(schedule, window).count).toBe(
          slotsBetween(schedule, { ...window, max: 1e6 }).length,
        );
      }),
      { numRuns: 500 },
    );
  });

  test("T5: the smallest gap is the smallest seen in a zone without clock changes", () => {
    for (const text of EXPRESSIONS) {
      const schedule = scheduleOf(text, "UTC");
      const found = slotsBetween(schedule, { after: NOW, until: NOW + 40 * 366 * DAY, max: 20_000 });
      const gaps = found.slice(1).map((slot, index) => slot - found[index]!);
      expect([text, smallestGap(schedule)]).toEqual([text, Math.min(...gaps)]);
    }
    expect(smallestGap(scheduleOf("30m"))).toBeUndefined();
  });

  test("T6: counting stops at 100,000 and says so", () => {
    const window = { after: NOW, until: NOW + 365 * DAY };

    expect(countSlots(scheduleOf("every 1s"), window)).toEqual({ count: 100_000, isAtLeast: true });
    expect(countSlots(scheduleOf("* * * * *"), window)).toEqual({ count: 100_000, isAtLeast: true });
    expect(countSlots(scheduleOf("every 1h"), window)).toEqual({ count: 8760, isAtLeast: false });
  });
});

test.each([
  ["0 9 * * *", "Europe/Berlin"],
  ["*/5 * * * *", NEW_YORK],
])("a pass over many jobs does not crawl: `%s` gives at least 20,000 next slots a second", (text, zone) => {
  const schedule = scheduleOf(text, zone);
  nextSlot(schedule, NOW);
  const start = performance.now();
  for (let index = 0; index < 20_000; index++) nextSlot(schedule, NOW + index * 37 * SECOND);

  expect(performance.now() - start).toBeLessThan(1_000);
});
