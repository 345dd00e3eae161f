// `schedule TEXT`: what a schedule means and when it would fire, without a job.

import { formatInstant, type Instant } from "../kernel/time.ts";
import { parseSchedule } from "../schedule/grammar.ts";
import { nextSlot } from "../schedule/next-slot.ts";

export interface SchedulePreview {
  kind: "at" | "every" | "cron";
  display: string;
  timezone: string;
  next: string[];
}

/**
 * The first `count` slots after `from`; words that count from a moment (`30m`, `every 5m`) count from it, too.
 * Throws `schedule.unreadable`, `schedule.never-fires`, `schedule.zone`.
 */
export function previewSchedule(
  text: string,
  options: { zone: string; from: Instant; count: number },
): SchedulePreview {
  const { schedule, display } = parseSchedule(text, {
    zone: options.zone,
    now: options.from,
    anchor: options.from,
  });
  const next: string[] = [];
  let after = options.from;
  while (next.length < options.count) {
    const slot = nextSlot(schedule, after);
    if (slot === undefined) break;
    next.push(formatInstant(slot));
    after = slot;
  }
  return { kind: schedule.kind, display, timezone: options.zone, next };
}
