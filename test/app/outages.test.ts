// `plan --down`: which stretch of time a text means. Pure.

import { describe, expect, test } from "vitest";
import { parseOutages } from "../../src/app/downtime-plan.ts";

const window = {
  from: Date.UTC(2026, 2, 7, 12),
  until: Date.UTC(2026, 2, 9, 12),
  zone: "America/New_York",
};

function outages(text: string): string[][] {
  return parseOutages(text, window).map(({ from, to }) => [from, to].map((at) => new Date(at).toISOString()));
}

describe("what --down means", () => {
  test("T4: daily hours are those of the zone's wall clock; over the spring gap an outage is an hour shorter", () => {
    expect(outages("01:00..04:00")).toEqual([
      ["2026-03-08T06:00:00.000Z", "2026-03-08T08:00:00.000Z"],
      ["2026-03-09T05:00:00.000Z", "2026-03-09T08:00:00.000Z"],
    ]);
  });

  test("an instant without an offset is the zone's, not the machine's; with one it is itself; a day begins at midnight", () => {
    expect(outages("2026-03-08T01:00..2026-03-08T04:00")).toEqual([
      ["2026-03-08T06:00:00.000Z", "2026-03-08T08:00:00.000Z"],
    ]);
    expect(outages("2026-03-08T01:00Z..2026-03-08T04:00:00Z")).toEqual([
      ["2026-03-08T01:00:00.000Z", "2026-03-08T04:00:00.000Z"],
    ]);
    expect(outages("2026-03-08..2026-03-09")).toEqual([
      ["2026-03-08T05:00:00.000Z", "2026-03-09T04:00:00.000Z"],
    ]);
  });

  test.each([
    "25:00..26:00",
    "02:60..03:00",
    "2026-02-30T00:00..2026-03-01T00:00",
    "Nov 30..Dec 1",
    "02:00",
    "5..1",
  ])("%s is refused with what to write", (text) => {
    expect(() => parseOutages(text, window)).toThrowError(/is no stretch of time/);
  });
});
