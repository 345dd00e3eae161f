// The DST proof: next-slot against the oracle over every IANA zone, three years, differences 0.
// Zones whose clocks change alike are walked once; walked are the days around each change, and samples elsewhere.

import { expect, test } from "vitest";
import { parseSchedule } from "../../src/schedule/grammar.ts";
import { slotsBetween } from "../../src/schedule/next-slot.ts";
import {
  type ClockChange,
  clockChanges,
  type JudgedExpression,
  judge,
  type WallMinute,
  walk,
} from "./oracle.ts";

const HOUR = 3_600_000;
const FROM = Date.UTC(2025, 0, 1);
const UNTIL = Date.UTC(2028, 0, 1);

const lengthOf = ({ year, month }: WallMinute) => new Date(Date.UTC(year, month, 0)).getUTCDate();
const at = (hour: number, minute: number) => (wall: WallMinute) =>
  wall.hour === hour && wall.minute === minute;

const EXPRESSIONS: readonly JudgedExpression[] = [
  { text: "30 2 * * *", isFixed: true, matches: at(2, 30) },
  { text: "30 1 * * *", isFixed: true, matches: at(1, 30) },
  { text: "0 0 * * *", isFixed: true, matches: at(0, 0) },
  {
    text: "15,45 0,23 * * *",
    isFixed: true,
    matches: (w) => w.minute % 30 === 15 && (w.hour === 0 || w.hour === 23),
  },
  {
    text: "0,30 1-3 * * *",
    isFixed: true,
    matches: (w) => w.minute % 30 === 0 && w.hour >= 1 && w.hour <= 3,
  },
  {
    text: "10-50/20 0-4/2 * * *",
    isFixed: true,
    matches: (w) => [10, 30, 50].includes(w.minute) && [0, 2, 4].includes(w.hour),
  },
  { text: "0-59 2 * * *", isFixed: true, matches: (w) => w.hour === 2 },
  {
    text: "30 2 * mar,apr,SEP-NOV sun",
    isFixed: true,
    matches: (w) => at(2, 30)(w) && [3, 4, 9, 10, 11].includes(w.month) && w.weekday === 0,
  },
  {
    text: "30 0-2 8-14 * 0",
    isFixed: true,
    matches: (w) => w.minute === 30 && w.hour <= 2 && ((w.day >= 8 && w.day <= 14) || w.weekday === 0),
  },
  {
    text: "30 2 * * 0L",
    isFixed: true,
    matches: (w) => at(2, 30)(w) && w.weekday === 0 && w.day > lengthOf(w) - 7,
  },
  { text: "15 2 * * 0#1,0#2", isFixed: true, matches: (w) => at(2, 15)(w) && w.weekday === 0 && w.day <= 14 },
  { text: "0 1 L * *", isFixed: true, matches: (w) => at(1, 0)(w) && w.day === lengthOf(w) },
  {
    text: "0 3 1W * *",
    isFixed: true,
    matches: (w) =>
      at(3, 0)(w) &&
      ((w.day === 1 && w.weekday % 6 !== 0) ||
        (w.day === 2 && w.weekday === 1) ||
        (w.day === 3 && w.weekday === 1)),
  },
  { text: "@weekly", isFixed: true, matches: (w) => at(0, 0)(w) && w.weekday === 0 },
  { text: "*/15 * * * *", isFixed: false, matches: (w) => w.minute % 15 === 0 },
  { text: "0 * * * *", isFixed: false, matches: (w) => w.minute === 0 },
  { text: "*/20 2 * * *", isFixed: false, matches: (w) => w.minute % 20 === 0 && w.hour === 2 },
  { text: "30 */2 * * *", isFixed: false, matches: (w) => w.minute === 30 && w.hour % 2 === 0 },
  { text: "5,35 * * * sat-sun", isFixed: false, matches: (w) => w.minute % 30 === 5 && w.weekday % 6 === 0 },
  {
    text: "0 */3 1,15,L * *",
    isFixed: false,
    matches: (w) => w.minute === 0 && w.hour % 3 === 0 && [1, 15, lengthOf(w)].includes(w.day),
  },
];

/** `1W` when the first is a Saturday or Sunday falls on Monday the third or second; the predicate above says so. */
function differences(zone: string, from: number, until: number): string[] {
  const walked = walk(zone, from, until);
  // A repeated hour at the edge may have its first showing outside: judged is the middle.
  const [first, last] = [from + 4 * HOUR, until - 4 * HOUR];
  return EXPRESSIONS.flatMap((expression) => {
    const expected = judge(walked, expression).filter((slot) => slot >= first && slot < last);
    const { schedule } = parseSchedule(expression.text, { zone, now: from });
    const found = slotsBetween(schedule, { after: first - 1, until: last - 1, max: 10_000 });
    if (expected.join() === found.join()) return [];
    const show = (slots: number[]) => slots.map((slot) => new Date(slot).toISOString()).join(" ");
    return [`${zone} ${expression.text}: expected ${show(expected)}, found ${show(found)}`];
  });
}

/** Zones by the changes of their clocks: one of each kind is enough, their walls show the same. */
function kindsOfZones(): Map<string, { zone: string; changes: ClockChange[] }> {
  const kinds = new Map<string, { zone: string; changes: ClockChange[] }>();
  for (const zone of new Set([...Intl.supportedValuesOf("timeZone"), "UTC", "Antarctica/Troll"])) {
    const changes = clockChanges(zone, FROM, UNTIL);
    const offset = changes[0]?.before ?? offsetAt(zone);
    const kind = `${offset}: ${changes.map((change) => `${change.at} ${change.after}`).join()}`;
    if (!kinds.has(kind)) kinds.set(kind, { zone, changes });
  }
  return kinds;
}

function offsetAt(zone: string): number {
  return walk(zone, FROM, FROM + 60_000).walls[0]! - FROM / 60_000;
}

test("T4: over all IANA zones and three years, next-slot and a brute-force walk differ nowhere", () => {
  const kinds = [...kindsOfZones().values()];
  const changes = kinds.flatMap((kind) => kind.changes);
  const found: string[] = [];
  for (const [index, { zone, changes: own }] of kinds.entries()) {
    for (const { at: change } of own) {
      const hour = Math.floor(change / HOUR) * HOUR;
      found.push(...differences(zone, hour - 18 * HOUR, hour + 18 * HOUR));
    }
    // A sample away from changes: another day for every kind.
    const sample = FROM + (((index * 97) % 1000) + 10) * 24 * HOUR;
    found.push(...differences(zone, sample, sample + 32 * HOUR));
  }

  expect(kinds.length).toBeGreaterThan(60);
  expect(changes.length).toBeGreaterThan(150);
  expect(found).toEqual([]);
}, 120_000);

test("T4: the same for clocks that did stranger things: a lost day, a midnight gap, Ramadan, half an hour, two hours", () => {
  const strange: [string, string][] = [
    ["Pacific/Apia", "2011-12-30T10:00:00Z"],
    ["Pacific/Fakaofo", "2011-12-30T11:00:00Z"],
    ["America/Sao_Paulo", "2018-11-04T03:00:00Z"],
    ["America/Santiago", "2026-09-06T04:00:00Z"],
    ["Africa/Cairo", "2014-06-26T21:00:00Z"],
    ["Africa/Casablanca", "2026-02-15T02:00:00Z"],
    ["Australia/Lord_Howe", "2026-10-03T15:30:00Z"],
    ["Antarctica/Troll", "2026-03-29T01:00:00Z"],
    ["Asia/Pyongyang", "2018-05-04T15:00:00Z"],
    ["America/Caracas", "2016-05-01T07:00:00Z"],
    ["Europe/Dublin", "2026-10-25T01:00:00Z"],
  ];
  const found = strange.flatMap(([zone, change]) => {
    const hour = Math.floor(Date.parse(change) / HOUR) * HOUR;
    return differences(zone, hour - 50 * HOUR, hour + 50 * HOUR);
  });

  expect(found).toEqual([]);
});
