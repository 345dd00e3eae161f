import { describe, expect, test } from "vitest";
import { HOUR, MINUTE } from "../../src/kernel/time.ts";
import { openZone, zoneAbbreviation, zoneName } from "../../src/schedule/zone.ts";

const wall = (text: string) => Date.parse(`${text}Z`);

describe("a wall time has one instant, two or none", () => {
  const zone = openZone("Europe/Berlin");

  test("once", () => {
    expect(zone.instantsOf(wall("2026-07-01T12:00"))).toEqual({ kind: "once", at: wall("2026-07-01T10:00") });
  });
  test("twice in the autumn hour, its end excluded", () => {
    const [first, second] = [wall("2026-10-25T00:00"), wall("2026-10-25T01:00")];
    expect(zone.instantsOf(wall("2026-10-25T02:00"))).toEqual({ kind: "twice", first, second });
    expect(zone.instantsOf(wall("2026-10-25T03:00"))).toEqual({ kind: "once", at: wall("2026-10-25T02:00") });
  });
  test("none in the spring gap, which ends with an instant", () => {
    expect(zone.instantsOf(wall("2026-03-29T02:00"))).toEqual({ kind: "gap", end: wall("2026-03-29T01:00") });
    expect(zone.instantsOf(wall("2026-03-29T02:59:59"))).toEqual({
      kind: "gap",
      end: wall("2026-03-29T01:00"),
    });
    expect(zone.instantsOf(wall("2026-03-29T03:00"))).toEqual({ kind: "once", at: wall("2026-03-29T01:00") });
  });
  test("a whole day is missing in Apia", () => {
    expect(openZone("Pacific/Apia").instantsOf(wall("2011-12-30T12:00"))).toEqual({
      kind: "gap",
      end: wall("2011-12-30T10:00"),
    });
  });
});

test("offsets change at the transition itself, also where it lies on the edge of a stretch read at once", () => {
  for (const name of ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Tehran"]) {
    const zone = openZone(name);
    let after = Date.UTC(2000, 0, 1);
    for (;;) {
      const change = zone.nextTransition(after, Date.UTC(2030, 0, 1));
      if (!change) break;
      expect([zone.offsetAt(change.at - 1), zone.offsetAt(change.at)]).toEqual([
        change.offsetBefore,
        change.offsetAfter,
      ]);
      expect(change.offsetBefore).not.toBe(change.offsetAfter);
      expect(change.at % (15 * MINUTE)).toBe(0);
      after = change.at;
    }
    expect(after).toBeGreaterThan(Date.UTC(2007, 0, 1));
  }
});

test("offsets of the distant past are exact to the second", () => {
  expect(openZone("Africa/Monrovia").offsetAt(Date.UTC(1960, 0, 1))).toBe(-(44 * MINUTE + 30_000));
});

test("a zone keeps the name that the person gave it, its case put right", () => {
  expect(zoneName("europe/BERLIN")).toBe("Europe/Berlin");
  expect(zoneName(" Asia/Kolkata ")).toBe("Asia/Kolkata");
  expect(zoneName("UTC")).toBe("UTC");
});

test.each([
  ["Europe/Berlin", "2026-01-01", "CET"],
  ["Europe/Berlin", "2026-07-01", "CEST"],
  ["America/New_York", "2026-07-01", "EDT"],
  ["Asia/Kolkata", "2026-07-01", "IST"],
  ["Asia/Kathmandu", "2026-07-01", "UTC+5:45"],
  ["UTC", "2026-07-01", "UTC"],
])("%s on %s is called %s", (zone, day, name) => {
  expect(zoneAbbreviation(zone, Date.parse(day) + 12 * HOUR)).toBe(name);
});
