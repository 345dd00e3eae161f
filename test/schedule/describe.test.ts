import { expect, test } from "vitest";
import { parseSchedule } from "../../src/schedule/grammar.ts";

const NOW = Date.parse("2026-11-29T13:02:00Z");

function display(text: string, zone = "Europe/Berlin"): string {
  return parseSchedule(text, { zone, now: NOW }).display;
}

// hermes PR#98275: `30m` was once for some and repeating for others; the echo says which.
test.each([
  ["30m", "once, in 30 minutes, at 14:32 CET"],
  ["1h30m", "once, in 1 hour 30 minutes, at 15:32 CET"],
  ["2026-12-01T09:00", "once, in 1 day 18 hours, on Tue 1 December 2026 at 09:00 CET"],
  ["2026-11-29T10:00", "once, 4 hours 2 minutes ago, at 10:00 CET"],
  ["every 5m", "every 5 minutes"],
  ["every 24h", "every 24 hours"],
  ["every 90m", "every 1 hour 30 minutes"],
])("law 10: %s is echoed as: %s", (text, sentence) => {
  expect(display(text)).toBe(sentence);
});

test.each([
  ["every monday 9am", "at 09:00 on Monday"],
  ["weekdays at 18:00", "at 18:00 on Monday to Friday"],
  ["weekends at 10", "at 10:00 on Saturday and Sunday"],
  ["daily at 7am", "at 07:00 every day"],
  ["0 9,18 * * *", "at 09:00 and 18:00 every day"],
  ["*/5 * * * *", "every 5 minutes"],
  ["* * * * *", "every minute"],
  ["* * * * * *", "every second"],
  ["*/10 * * * * *", "every 10 seconds"],
  ["30 0 9 * * *", "at 09:00:30 every day"],
  ["0 * * * *", "every hour"],
  ["5 * * * *", "at 5 minutes past every hour"],
  ["0,30 * * * *", "at 0 and 30 minutes past every hour"],
  ["*/7 * * * *", "every 7 minutes from 0 to 56 past every hour"],
  ["0 */2 * * *", "every 2 hours, starting at 00:00"],
  ["*/15 9-17 * * 1-5", "every 15 minutes from 09:00 to 17:45 on Monday to Friday"],
  ["0 9-17 * * *", "every hour from 09:00 to 17:00"],
  ["0 8-18/2 * * *", "every 2 hours from 08:00 to 18:00"],
  ["* 2 * * *", "every minute between 02:00 and 02:59"],
  ["0 0 1,15 * 1", "at 00:00 on the 1st and 15th of the month or on Monday"],
  ["0 0 L * *", "at 00:00 on the last day of the month"],
  ["0 0 L-2 * *", "at 00:00 on the 3rd to last day of the month"],
  ["0 0 15W * *", "at 00:00 on the weekday nearest the 15th of the month"],
  ["0 0 LW * *", "at 00:00 on the last weekday of the month"],
  ["0 9 * * 5L", "at 09:00 on the last Friday of the month"],
  ["0 9 * * mon#2", "at 09:00 on the second Monday of the month"],
  ["0 0 29 2 *", "at 00:00 on the 29th in February"],
  ["0 9 1 jan,jul ?", "at 09:00 on the 1st in January and July"],
  ["0 0 * 6-8 *", "at 00:00 every day in June to August"],
])("law 10: %s is echoed as: %s", (text, sentence) => {
  expect(display(text)).toBe(`${sentence}, Europe/Berlin`);
});

test("a list that nobody would read is shown as the expression itself", () => {
  expect(display("1,4,9,16,25,36,41,43,49,51,52,57 * * * *")).toBe(
    "cron 1,4,9,16,25,36,41,43,49,51,52,57 * * * *, Europe/Berlin",
  );
});

test.each([
  ["America/New_York", "at 08:32 EST"],
  ["Australia/Sydney", "at 00:32 AEDT"],
  ["Asia/Tokyo", "at 22:32 UTC+9"],
  ["UTC", "at 13:32 UTC"],
])("the time of day is named as people in %s name it", (zone, tail) => {
  expect(display("30m", zone)).toBe(`once, in 30 minutes, ${tail}`);
});
