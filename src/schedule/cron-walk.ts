// Walks the wall times a cron expression names, forward, without any zone: what is nominal, and nothing else.
//
// I1. `nextWall` is a pure function of the fields; its tables are made once per fields object.
// I2. 400 years repeat exactly, weekdays included: what does not come in that time never comes.

import { DAY, SECOND } from "../kernel/time.ts";
import type { CronFields } from "../records/schedule.ts";
import { dateOf, dayNumberOf, matchingDays } from "./calendar.ts";

const MONTHS_IN_CYCLE = 400 * 12 + 1;
const MAX_CACHED_MONTHS = 600;
const SECONDS_A_DAY = 86_400;

/** For each value the smallest listed one at or above it, −1 = none. */
type Ceilings = Int8Array;

interface Walk {
  fields: CronFields;
  seconds: Ceilings;
  minutes: Ceilings;
  hours: Ceilings;
  /** First time of day, in seconds. */
  firstOfDay: number;
  /** `year · 12 + month` → matching days as bits. */
  months: Map<number, number>;
  /** The month asked for last. */
  lastKey: number;
  lastBits: number;
  smallestGapMs: number | undefined;
}

const walks = new WeakMap<CronFields, Walk>();

/** The first matching wall time strictly after `wall` (both epoch ms as if UTC); undefined = it never comes. */
export function nextWall(fields: CronFields, wall: number): number | undefined {
  const walk = walkOf(fields);
  const second = Math.floor(wall / SECOND) + 1;
  const day = Math.floor(second / SECONDS_A_DAY);
  const found = nextDay(walk, day);
  if (found === undefined) return undefined;
  if (found > day) return found * DAY + walk.firstOfDay * SECOND;
  const time = nextTimeOfDay(walk, second - day * SECONDS_A_DAY);
  if (time >= 0) return day * DAY + time * SECOND;
  const following = nextDay(walk, day + 1);
  return following === undefined ? undefined : following * DAY + walk.firstOfDay * SECOND;
}

/** The smallest distance between two nominal wall times, in ms; undefined = it fires at most once in 400 years. */
export function smallestWallGap(fields: CronFields): number | undefined {
  const walk = walkOf(fields);
  walk.smallestGapMs ??= findSmallestGap(walk) ?? Number.POSITIVE_INFINITY;
  return Number.isFinite(walk.smallestGapMs) ? walk.smallestGapMs : undefined;
}

function walkOf(fields: CronFields): Walk {
  const known = walks.get(fields);
  if (known) return known;
  const [hour = 0] = fields.hours;
  const [minute = 0] = fields.minutes;
  const [second = 0] = fields.seconds;
  const walk: Walk = {
    fields,
    seconds: ceilings(fields.seconds, 60),
    minutes: ceilings(fields.minutes, 60),
    hours: ceilings(fields.hours, 24),
    firstOfDay: hour * 3600 + minute * 60 + second,
    months: new Map(),
    lastKey: Number.NaN,
    lastBits: 0,
    smallestGapMs: undefined,
  };
  walks.set(fields, walk);
  return walk;
}

/** One entry more than there are values, so that a carry (60, 24) reads −1. */
function ceilings(values: readonly number[], size: number): Ceilings {
  const table = new Int8Array(size + 1).fill(-1);
  for (let value = size - 1; value >= 0; value--) {
    table[value] = values.includes(value) ? value : (table[value + 1] ?? -1);
  }
  return table;
}

/** The first matching time of day at or after `from` seconds; −1 = none left today. */
function nextTimeOfDay(walk: Walk, from: number): number {
  let hour = Math.floor(from / 3600);
  let minute = Math.floor(from / 60) % 60;
  let second = walk.seconds[from % 60] ?? -1;
  if (second < 0) minute += 1;
  const minuteAtOrAfter = walk.minutes[minute] ?? -1;
  if (minuteAtOrAfter !== minute || second < 0) second = walk.seconds[0] ?? 0;
  minute = minuteAtOrAfter;
  if (minute < 0) hour += 1;
  const hourAtOrAfter = walk.hours[hour] ?? -1;
  if (hourAtOrAfter < 0) return -1;
  if (hourAtOrAfter !== hour || minute < 0) {
    minute = walk.minutes[0] ?? 0;
    second = walk.seconds[0] ?? 0;
  }
  return hourAtOrAfter * 3600 + minute * 60 + second;
}

/** The first matching day number at or after `from`. */
function nextDay(walk: Walk, from: number): number | undefined {
  const { year, month, day } = dateOf(from);
  const firstKey = year * 12 + month - 1;
  for (let key = firstKey; key < firstKey + MONTHS_IN_CYCLE; key++) {
    const skipped = key === firstKey ? day - 1 : 0;
    const bits = (monthBits(walk, key) >>> skipped) << skipped;
    if (bits === 0) continue;
    const found = 32 - Math.clz32(bits & -bits);
    return key === firstKey
      ? from + found - day
      : dayNumberOf({ year: Math.floor(key / 12), month: (key % 12) + 1, day: found });
  }
  return undefined;
}

function monthBits(walk: Walk, key: number): number {
  if (key === walk.lastKey) return walk.lastBits;
  let bits = walk.months.get(key);
  if (bits === undefined) {
    bits = matchingDays(walk.fields, Math.floor(key / 12), (key % 12) + 1);
    if (walk.months.size >= MAX_CACHED_MONTHS) walk.months.clear();
    walk.months.set(key, bits);
  }
  walk.lastKey = key;
  walk.lastBits = bits;
  return bits;
}

function findSmallestGap(walk: Walk): number | undefined {
  const times: number[] = [];
  for (const hour of walk.fields.hours)
    for (const minute of walk.fields.minutes) times.push(hour * 60 + minute);
  const { seconds } = walk.fields;
  const spread = (seconds.at(-1) ?? 0) - (seconds[0] ?? 0);
  let gap = smallestDifference(seconds);
  gap = Math.min(gap, smallestDifference(times) * 60 - spread);
  const overNight = ((times[0] ?? 0) - (times.at(-1) ?? 0)) * 60 - spread;
  const dayGap = smallestDayGap(walk);
  if (dayGap !== undefined) gap = Math.min(gap, dayGap * SECONDS_A_DAY + overNight);
  return Number.isFinite(gap) ? gap * SECOND : undefined;
}

function smallestDifference(sorted: readonly number[]): number {
  let smallest = Number.POSITIVE_INFINITY;
  for (let index = 1; index < sorted.length; index++) {
    smallest = Math.min(smallest, (sorted[index] ?? 0) - (sorted[index - 1] ?? 0));
  }
  return smallest;
}

/** Days between two matching days at the closest; looks at 40 years, in which leap years and weekdays have met. */
function smallestDayGap(walk: Walk): number | undefined {
  const start = dayNumberOf({ year: 2000, month: 1, day: 1 });
  const end = dayNumberOf({ year: 2040, month: 12, day: 31 });
  let smallest: number | undefined;
  let day = nextDay(walk, start);
  while (day !== undefined && day < end) {
    const following = nextDay(walk, day + 1);
    if (following === undefined) break;
    if (smallest === undefined || following - day < smallest) smallest = following - day;
    if (smallest === 1) break;
    day = following;
  }
  return smallest;
}
