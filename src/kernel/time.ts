// Time as data: instants, durations and the clock everything below `app/` receives as an argument.
//
// I1. An instant is epoch milliseconds in UTC, always an integer; text forms exist only at the edges (T1).
// I2. Nothing below `cli/` and `app/` reads a clock by itself.

/** Epoch milliseconds, UTC, an integer. */
export type Instant = number;

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/**
 * The one source of time. `now` is the wall clock and may jump; `monotonicMs` never goes back and does not count
 * suspend; `uptimeMs` never goes back and does count suspend (T8 compares it with `now`).
 * `sleep` rejects with `signal.reason` when aborted and holds no timer afterwards.
 */
export interface Clock {
  now(): Instant;
  monotonicMs(): number;
  uptimeMs(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** ISO-8601 in UTC; milliseconds are written only where they are not zero: `2026-11-29T06:00:00Z`. */
export function formatInstant(instant: Instant): string {
  return new Date(instant).toISOString().replace(".000Z", "Z");
}

/** Reads an ISO-8601 instant that carries an offset or `Z`. Undefined for anything else (a naive text has no instant by itself). */
export function parseInstant(text: string): Instant | undefined {
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})$/i.test(text))
    return undefined;
  const value = Date.parse(text);
  return Number.isNaN(value) ? undefined : value;
}

const UNIT_MS: Record<string, number> = {
  ms: 1,
  s: SECOND,
  sec: SECOND,
  secs: SECOND,
  second: SECOND,
  seconds: SECOND,
  m: MINUTE,
  min: MINUTE,
  mins: MINUTE,
  minute: MINUTE,
  minutes: MINUTE,
  h: HOUR,
  hr: HOUR,
  hrs: HOUR,
  hour: HOUR,
  hours: HOUR,
  d: DAY,
  day: DAY,
  days: DAY,
  w: 7 * DAY,
  week: 7 * DAY,
  weeks: 7 * DAY,
};

/** `30s`, `10m`, `1h30m`, `2 days`, `hour` (= 1) → milliseconds. Undefined for anything else; never negative. */
export function parseDuration(text: string): number | undefined {
  const compact = text.trim().toLowerCase();
  const bare = UNIT_MS[compact];
  if (bare !== undefined && compact.length > 1) return bare;
  const parts = [...compact.matchAll(/(\d+)\s*([a-z]+)\s*/g)];
  if (parts.length === 0 || parts.map((part) => part[0]).join("") !== compact) return undefined;
  let total = 0;
  for (const [, count, unit] of parts) {
    const unitMs = UNIT_MS[unit ?? ""];
    if (unitMs === undefined) return undefined;
    total += Number(count) * unitMs;
  }
  return Number.isSafeInteger(total) ? total : undefined;
}

const UNITS: readonly [string, number][] = [
  ["d", DAY],
  ["h", HOUR],
  ["m", MINUTE],
  ["s", SECOND],
];

/** The shortest exact text `parseDuration` reads back: `90m` → `1h30m`, `0` → `0s`, `1500` → `1s500ms`. */
export function formatDuration(ms: number): string {
  let rest = Math.max(0, Math.round(ms));
  let text = "";
  for (const [unit, unitMs] of UNITS) {
    const count = Math.floor(rest / unitMs);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * unitMs;
  }
  if (rest > 0) text += `${rest}ms`;
  return text || "0s";
}

/** The next whole second: what a person names in words ("in 30m") is written with whole seconds. */
export function wholeSecond(instant: Instant): Instant {
  return Math.ceil(instant / SECOND) * SECOND;
}
