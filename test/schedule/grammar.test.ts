import { describe, expect, test } from "vitest";
import { type Fault, isFault } from "../../src/kernel/errors.ts";
import { DAY, formatInstant, HOUR, MINUTE, SECOND } from "../../src/kernel/time.ts";
import type { ScheduleDocument } from "../../src/records/schedule.ts";
import { isPast, parseSchedule } from "../../src/schedule/grammar.ts";

const NOW = Date.parse("2026-11-29T13:02:00Z");

function parse(source: ScheduleDocument, zone = "Europe/Berlin") {
  return parseSchedule(source, { zone, now: NOW });
}

function refusal(source: ScheduleDocument, zone = "Europe/Berlin"): Fault {
  try {
    parse(source, zone);
  } catch (error) {
    if (isFault(error)) return error;
    throw error;
  }
  throw new Error(`accepted: ${JSON.stringify(source)}`);
}

function cronOf(source: ScheduleDocument): string {
  const { schedule } = parse(source);
  if (schedule.kind !== "cron") throw new Error(`${schedule.kind} is no cron`);
  return schedule.expression;
}

describe("T2: once", () => {
  test.each([
    ["30m", 30 * MINUTE],
    ["2h", 2 * HOUR],
    ["1d", DAY],
    ["in 30m", 30 * MINUTE],
    ["in 2 hours", 2 * HOUR],
    ["1h30m", 90 * MINUTE],
    ["90 seconds", 90 * SECOND],
    ["hour", HOUR],
  ])("%s means once, after that elapsed time, and is written down as an instant", (text, delayMs) => {
    const parsed = parse(text);

    expect(parsed.schedule).toEqual({ kind: "at", at: NOW + delayMs });
    expect(parsed.document).toEqual({ kind: "at", at: formatInstant(NOW + delayMs) });
  });

  test("a relative text found in a dropped file counts from its anchor, not from now", () => {
    const { schedule } = parseSchedule("30m", { zone: "UTC", now: NOW, anchor: NOW - HOUR });

    expect(schedule).toEqual({ kind: "at", at: NOW - 30 * MINUTE });
  });

  test.each([
    ["2026-12-01T09:00", "2026-12-01T08:00:00Z"],
    ["2026-12-01 09:00", "2026-12-01T08:00:00Z"],
    ["2026-07-01T09:00:30", "2026-07-01T07:00:30Z"],
    ["2026-12-01", "2026-11-30T23:00:00Z"],
    ["2026-12-01T09:00Z", "2026-12-01T09:00:00Z"],
    ["2026-12-01T09:00:00+05:30", "2026-12-01T03:30:00Z"],
  ])(
    "the ISO time %s is once; without an offset it is in the job's zone, not the server's",
    (text, instant) => {
      expect(parse(text).schedule).toEqual({ kind: "at", at: Date.parse(instant) });
    },
  );

  test("T4: a naive time inside the spring gap is the first instant after it, in the autumn hour the earlier one", () => {
    expect(parse("2026-03-29T02:30").schedule).toEqual({
      kind: "at",
      at: Date.parse("2026-03-29T01:00:00Z"),
    });
    expect(parse("2026-10-25T02:30").schedule).toEqual({
      kind: "at",
      at: Date.parse("2026-10-25T00:30:00Z"),
    });
  });
});

describe("T2: intervals", () => {
  test("`every 30m` is elapsed time from an anchor, and the anchor is written down", () => {
    const parsed = parse("every 30m");

    expect(parsed.schedule).toEqual({ kind: "every", everyMs: 30 * MINUTE, anchor: NOW });
    expect(parsed.document).toEqual({ kind: "every", every: "30m", anchor: "2026-11-29T13:02:00Z" });
  });

  test("the object form keeps its own anchor", () => {
    const source = { kind: "every", every: "2 hours", anchor: "2026-01-01T00:00:00Z" } as const;

    expect(parse(source).schedule).toEqual({
      kind: "every",
      everyMs: 2 * HOUR,
      anchor: Date.parse("2026-01-01T00:00:00Z"),
    });
  });

  test("`every 1s` is the shortest; anything below is refused", () => {
    expect(parse("every 1s").schedule).toMatchObject({ everyMs: SECOND });
    expect(refusal("every 500ms").code).toBe("schedule.unreadable");
    expect(refusal("every 0m").hint).toContain("every 1s");
  });
});

describe("T2: cron and words", () => {
  test.each([
    ["every monday 9am", "0 9 * * 1"],
    ["Every Monday at 9am", "0 9 * * 1"],
    ["weekdays at 18:00", "0 18 * * 1-5"],
    ["daily at 7am", "0 7 * * *"],
    ["every day at 7:05 pm", "5 19 * * *"],
    ["monday, wednesday at 9:30pm", "30 21 * * 1,3"],
    ["monday and friday at noon", "0 12 * * 1,5"],
    ["mon, wed, and fri at midnight", "0 0 * * 1,3,5"],
    ["weekends at 10", "0 10 * * 0,6"],
    ["on sundays at 12am", "0 0 * * 0"],
    ["thurs 12pm", "0 12 * * 4"],
    ["noon", "0 12 * * *"],
    ["midnight", "0 0 * * *"],
    ["@daily", "0 0 * * *"],
    ["@midnight", "0 0 * * *"],
    ["@hourly", "0 * * * *"],
    ["@weekly", "0 0 * * 0"],
    ["@monthly", "0 0 1 * *"],
    ["@yearly", "0 0 1 1 *"],
    ["@annually", "0 0 1 1 *"],
    ["  0   9 * *  MON-FRI ", "0 9 * * MON-FRI"],
  ])("%s means %s on the zone's wall clock", (text, expression) => {
    expect(cronOf(text)).toBe(expression);
  });

  test.each([
    ["0 9 * * mon-fri", { daysOfWeek: [1, 2, 3, 4, 5] }],
    ["0 9 * * fri-sun", { daysOfWeek: [0, 5, 6] }],
    ["0 9 * * 5-7", { daysOfWeek: [0, 5, 6] }],
    ["0 9 * * 7", { daysOfWeek: [0] }],
    ["0 9 * jan,july *", { months: [1, 7] }],
    ["5/20 * * * *", { minutes: [5, 25, 45], isFixed: false }],
    ["10-40/15 9-11 * * *", { minutes: [10, 25, 40], hours: [9, 10, 11], isFixed: true }],
    ["*/10 9 * * *", { minutes: [0, 10, 20, 30, 40, 50], isFixed: false }],
    ["*/20 * * * * *", { seconds: [0, 20, 40] }],
    ["* 0 9 * * *", { isFixed: true }],
    ["0 0 L-3,15 * *", { daysOfMonth: [15], dayOfMonthTerms: [{ kind: "lastDay", offset: 3 }] }],
    [
      "0 0 15w,LW * ?",
      { dayOfMonthTerms: [{ kind: "nearestWeekday", day: 15 }, { kind: "lastWeekdayOfMonth" }] },
    ],
    [
      "0 0 ? * friL,1#2",
      {
        anyDayOfMonth: true,
        anyDayOfWeek: false,
        dayOfWeekTerms: [
          { kind: "lastNamedWeekday", weekday: 5 },
          { kind: "nthWeekday", weekday: 1, nth: 2 },
        ],
      },
    ],
  ])("%s is read field by field", (text, fields) => {
    const { schedule } = parse(text);

    expect(schedule).toMatchObject({ kind: "cron", zone: "Europe/Berlin", fields });
  });

  test("T1: the document of a wall-clock schedule is the person's own text, and reads back to the same schedule", () => {
    for (const text of ["every monday 9am", "@daily", "0 9 * * 1-5"]) {
      const parsed = parse(text);
      expect(parsed.document).toBe(text);
      expect(parse(parsed.document)).toEqual(parsed);
    }
  });

  test("T1: what `job add` writes means the same instants whenever it is read again", () => {
    for (const text of ["30m", "every 45m", "2026-12-01T09:00"]) {
      const { schedule, document } = parse(text);
      expect(parseSchedule(document, { zone: "Asia/Tokyo", now: NOW + 400 * DAY }).schedule).toEqual(
        schedule,
      );
    }
  });
});

describe("refusals", () => {
  test.each([
    ["", undefined],
    ["30x", "x"],
    ["m30", "m30"],
    ["every mondy 9am", "mondy"],
    ["in 5 minuets", "minuets"],
    ["tomorrow", "tomorrow"],
    ["monday at 25:00", "25:00"],
    ["monday at 13pm", "13pm"],
    ["61 * * * *", "61"],
    ["0 24 * * *", "24"],
    ["0 0 0 * *", "0"],
    ["0 0 1 foo *", "foo"],
    ["0 0 * * 8", "8"],
    ["0 0 * * 1#6", "1#6"],
    ["0 0 * * L", "L"],
    ["0 0 L-31 * *", "L-31"],
    ["5-1 * * * *", "5-1"],
    ["*/0 * * * *", "0"],
    ["*/90 * * * *", "90"],
    ["1,,2 * * * *", ""],
    ["@dayly", "@dayly"],
    ["2026-02-30T10:00", "2026-02-30"],
    ["2026-12-01T25:00", "25:00"],
  ])("T2: %j is refused, naming the piece that is wrong", (text, token) => {
    const fault = refusal(text);

    expect(fault.code).toBe("schedule.unreadable");
    expect(fault.details?.token).toBe(token);
  });

  test("T2: the hint lists the accepted forms, or the one thing to do", () => {
    expect(refusal("whenever").hint).toMatch(/30m.*every 5m.*weekdays at 18:00.*0 9 \* \* 1-5.*@daily/);
    expect(refusal("*/90 * * * *").hint).toContain("every 90m");
    expect(refusal("every monday").hint).toContain("every monday at 9am");
    expect(refusal("0 22-6 * * *").hint).toContain("22-23,0-6");
    expect(refusal("0 0 0 1 1 ? 2027").hint).toContain("until");
  });

  test("the nearest known word is offered", () => {
    expect(refusal("every mondy 9am").hint).toContain("`monday`");
    expect(refusal("@dayly").hint).toContain("`@daily`");
    expect(refusal("hourly").hint).toContain("`@hourly`");
    expect(refusal("0 0 1 sepp *").hint).toContain("`sep`");
  });

  test.each(["0 0 31 2 *", "0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 L-30 2 *", "0 0 31W 2 *"])(
    "T2: %s never fires and is refused, not stored to stay silent for ever",
    (text) => {
      expect(refusal(text).code).toBe("schedule.never-fires");
    },
  );

  test("T2: what is rare is no never: 29 February, and a fifth Monday of a leap February", () => {
    expect(parse("0 0 29 2 *").schedule.kind).toBe("cron");
    expect(parse("0 0 * 2 1#5").schedule.kind).toBe("cron");
  });

  test("an unknown zone is refused with the nearest known one; an offset is no zone", () => {
    expect(refusal("noon", "Europe/Berlim")).toMatchObject({
      code: "schedule.zone",
      details: { nearest: "Europe/Berlin" },
    });
    expect(refusal("noon", "new york")).toMatchObject({
      code: "schedule.zone",
      details: { nearest: "America/New_York" },
    });
    expect(refusal("noon", "+02:00").code).toBe("schedule.zone");
    expect(refusal("noon", "").code).toBe("schedule.zone");
  });

  test("a zone's case is put right", () => {
    expect(parse("noon", "europe/berlin").schedule).toMatchObject({ zone: "Europe/Berlin" });
  });
});

test("T3: a past instant is parsed, and `isPast` tells surfaces to refuse it", () => {
  const { schedule } = parse("2026-11-01T09:00");

  expect(isPast(schedule, NOW)).toBe(true);
  expect(isPast(parse("30m").schedule, NOW)).toBe(false);
  expect(isPast(parse("0 9 * * *").schedule, NOW)).toBe(false);
});
