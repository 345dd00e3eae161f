// Accounting around slots that have a row already (T8, L2): only a clock that was set back leaves such slots ahead.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HOUR, MINUTE } from "../../src/kernel/time.ts";
import type { Job } from "../../src/records/job.ts";
import { makeCursorAfter, makeRewindCursor, makeRewindRules } from "../../src/schedule/cursor-after.ts";
import { makeDecide } from "../../src/schedule/decide.ts";
import { slotsBetween } from "../../src/schedule/next-slot.ts";
import { makeSettle } from "../../src/schedule/settle.ts";
import {
  clock,
  definitionOf,
  inShort,
  instant,
  jobOf,
  openRun,
  START,
  suspensionOf,
  viewOf,
} from "./views.ts";

const hourly = jobOf("0 * * * *");

function around(from: string | undefined, ahead: string[], parts: Parameters<typeof viewOf>[1] = {}) {
  const nextSlot = from === undefined ? undefined : instant(from);
  return { ...viewOf(nextSlot, parts), accountedAhead: ahead.map(instant) };
}

const decided = (job: Job, view: ReturnType<typeof around>, now: string) => {
  const decision = makeDecide(() => job)(view, instant(now));
  return [...inShort(decision), decision.next ? `then ${clock(decision.next.slot)}` : "then none"];
};

describe("T8, L2: a slot that has a row already is not accounted for again", () => {
  test("a stretch breaks there, and its counts stay right", () => {
    expect(decided(hourly, around("01:00", ["03:00", "04:00"]), "09:45")).toEqual([
      "missed pastGrace 01:00–02:00 ×2",
      "missed pastGrace 05:00–09:00 ×5",
      "then 10:00",
    ]);
  });

  test("it does not run, be it the newest due slot, the first one, or the one that comes next", () => {
    expect(decided(hourly, around("09:00", ["10:00"]), "10:01")).toEqual([
      "missed pastGrace 09:00",
      "then 11:00",
    ]);
    expect(decided(hourly, around("09:00", ["09:00"]), "10:01")).toEqual(["run 10:00 late", "then 11:00"]);
    expect(decided(hourly, around("09:00", ["10:00", "11:00"]), "09:00")).toEqual([
      "run 09:00",
      "then 12:00",
    ]);
  });

  test("a row of another version breaks a stretch also where the present schedule has no slot", () => {
    expect(decided(hourly, around("01:00", ["03:20"]), "09:45")).toEqual([
      "missed pastGrace 01:00–03:00 ×3",
      "missed pastGrace 04:00–09:00 ×6",
      "then 10:00",
    ]);
  });

  test("a gap too long to be listed is broken in the same way", () => {
    const view = around("01:00", ["02:30", "09:59"]);
    expect(decided(jobOf("* * * * *"), view, "10:00:01")).toEqual([
      "missed pastGrace 01:00–02:29 ×90",
      "missed pastGrace 02:31–09:58 ×448",
      "run 10:00",
      "then 10:01",
    ]);
  });

  test("settling a change, a pause, a hold and an exhausted `repeat` go around it, too", () => {
    const settle = makeSettle(() => hourly, { reason: "removed", isCursorKept: false });
    expect(inShort(settle(around("07:00", ["08:00"]), instant("09:01")))).toEqual([
      "missed pastGrace 07:00",
      "skipped removed 09:00",
    ]);
    const paused = { cursor: { suspensions: [suspensionOf("paused", instant("09:30"))] } };
    expect(decided(hourly, around("07:00", ["08:00"], paused), "11:00")).toEqual([
      "skipped paused 07:00",
      "skipped paused 09:00",
      "then none",
    ]);
    const held = { cursor: { suspensions: [suspensionOf("held", START)] } };
    expect(decided(hourly, around("07:00", ["08:00"], held), "09:01")).toEqual([
      "missed held 07:00",
      "missed held 09:00",
      "then 10:00",
    ]);
    const last = { openRuns: [openRun("queued", instant("06:00"))] };
    expect(decided(jobOf("0 * * * *", { repeat: 1 }), around("07:00", ["08:00"], last), "09:01")).toEqual([
      "skipped repeatReached 07:00",
      "skipped repeatReached 09:00",
      "then 10:00",
    ]);
  });

  test("the cursor after a change, after a pause with an end and after a step back stands behind it", () => {
    const position = (view: ReturnType<typeof around>) =>
      clock(makeCursorAfter(() => hourly)(view, instant("09:00"), { isScheduleChanged: true })!.slot);
    const pause = suspensionOf("paused", START, { until: instant("11:30") });

    expect(position(around(undefined, ["10:00"]))).toBe("11:00");
    expect(position(around(undefined, ["12:00"], { cursor: { suspensions: [pause] } }))).toBe("13:00");
    expect(makeRewindCursor(() => hourly)(around("18:00", ["10:00", "11:00"]), instant("09:30"))?.slot).toBe(
      instant("12:00"),
    );
  });

  test("T6: the period of a slot beside it is the schedule's: its grace does not grow", () => {
    expect(decided(hourly, around("08:00", ["09:00"]), "08:31")).toEqual([
      "missed pastGrace 08:00",
      "then 10:00",
    ]);
  });

  test("law 2: with any slots taken out, every other due slot is accounted for once, none of them at all", () => {
    const minutely = jobOf("* * * * *");
    const minutes = fc.integer({ min: 0, max: 700 });
    fc.assert(
      fc.property(
        fc.uniqueArray(minutes),
        minutes,
        fc.constantFrom("skip", "latest", "all"),
        (taken, last, catchUp) => {
          const ahead = new Set(taken.map((minute) => START + minute * MINUTE));
          const view = { ...viewOf(START), accountedAhead: [...ahead] };
          const now = START + last * MINUTE;
          const decision = makeDecide(() => ({ ...minutely, catchUp }))(view, now);
          const due = slotsBetween(minutely.schedule!, { after: START - 1, until: now, max: 1_000 });
          const accounted = decision.slots.flatMap((entry) => {
            if (entry.kind === "run") return [entry.slot];
            const { first, last: end, count } = entry;
            const slots = slotsBetween(minutely.schedule!, { after: first - 1, until: end, max: 1_000 });
            expect(slots).toHaveLength(count);
            return slots;
          });
          expect(accounted).toEqual(due.filter((slot) => !ahead.has(slot)));
          expect(ahead.has(decision.next!.slot)).toBe(false);
        },
      ),
    );
  });
});

test("T8: the past part of a stretch ends with its version's last slot that is not ahead", () => {
  const rules = makeRewindRules(() => hourly)(instant("05:30"));

  expect(rules.pastPart(definitionOf(), instant("01:00"))).toEqual({
    ...{ last: instant("05:00"), count: 5, isCountAtLeast: false },
  });
  expect(makeRewindRules(() => jobOf(undefined))(START + HOUR).pastPart(definitionOf(), START)).toEqual({
    ...{ last: START, count: 1, isCountAtLeast: false },
  });
});
