// An instant as a person in a zone would say it: a model has no clock, and thinks in words. Pure.

import type { Instant } from "../../kernel/time.ts";

/** `Monday 2026-11-30 18:00 in Europe/Berlin (UTC+01:00)`. `zone` is an IANA name. */
export function sayLocalTime(instant: Instant, zone: string): string {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    weekday: "long",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
    timeZoneName: "longOffset",
  });
  const parts = Object.fromEntries(format.formatToParts(instant).map(({ type, value }) => [type, value]));
  const { weekday, year, month, day, hour, minute, timeZoneName = "GMT" } = parts;
  // Versions of ICU differ in whether they spell an offset of zero.
  const offset = timeZoneName.replace("GMT", "UTC").replace("UTC+00:00", "UTC");
  return `${weekday} ${year}-${month}-${day} ${hour}:${minute} in ${zone} (${offset})`;
}
