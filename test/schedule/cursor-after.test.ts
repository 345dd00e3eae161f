import { describe, expect, test } from "vitest";
import { MINUTE } from "../../src/kernel/time.ts";
import type { Job } from "../../src/records/job.ts";
import { makeCursorAfter, makeIsComplete, makeRewindCursor } from "../../src/schedule/cursor-after.ts";
import { makeDecide } from "../../src/schedule/decide.ts";
import { jitteredInstant } from "../../src/schedule/jitter.ts";
import { makeSettle, settleForEdit } from "../../src/schedule/settle.ts";
import { clock, inShort, instant, jobOf, openRun, START, suspensionOf, viewOf } from "./views.ts";

const hourly = jobOf("0 * * * *");
const KEPT = { isScheduleChanged: false };
const CHANGED = { isScheduleChanged: true };

function positionOf(
  job: Job,
  view: ReturnType<typeof viewOf>,
  now: string,
  change = KEPT,
): string | undefined {
  const position = makeCursorAfter(() => job)(view, instant(now), change);
  return position && clock(position.slot);
}

describe("D1: settling an edit", () => {
  test("slots past their grace are missed, those within it skipped as edited; nothing of the old version runs", () => {
    const settle = settleForEdit(() => jobOf("* * * * *"));

    expect(inShort(settle(viewOf(instant("08:00")), instant("08:03:30")))).toEqual([
      "missed pastGrace 08:00–08:01 ×2",
      "skipped edited 08:02–08:03 ×2",
    ]);
  });

  test("a slot whose jitter is awaited is closed when the schedule changes, and kept when it does not", () => {
    const job = jobOf("0 * * * *", { jitterMs: 30 * MINUTE });
    const view = viewOf(instant("09:00"));
    const now = instant("09:00:00.001");
    expect(jitteredInstant(job, instant("09:00"))).toBeGreaterThan(now);

    expect(inShort(settleForEdit(() => job, CHANGED)(view, now))).toEqual(["skipped edited 09:00"]);
    expect(settleForEdit(() => job, KEPT)(view, now)).toMatchObject({
      slots: [],
      next: { slot: instant("09:00") },
    });
  });

  test("a held job's slots are missed: held; a paused one's are none; a removed one's waiters end", () => {
    const now = instant("09:30");
    const held = viewOf(instant("09:00"), { cursor: { suspensions: [suspensionOf("held", START)] } });
    const paused = viewOf(instant("09:00"), { cursor: { suspensions: [suspensionOf("paused", START)] } });
    const removed = viewOf(instant("10:00"), {
      openRuns: [openRun("queued", instant("09:00")), openRun("running", instant("08:00"))],
    });

    expect(inShort(settleForEdit(() => hourly)(held, now))).toEqual(["missed held 09:00"]);
    expect(settleForEdit(() => hourly)(paused, now).slots).toEqual([]);
    const { endOpenRuns } = makeSettle(() => hourly, { reason: "removed", isCursorKept: false })(
      removed,
      now,
    );
    expect(endOpenRuns).toEqual([{ runId: removed.openRuns[0]!.id, state: "cancelled", reason: "removed" }]);
  });
});

describe("D1: the cursor after a change", () => {
  test("a new job begins at the first slot after now, and so does a changed schedule", () => {
    expect(positionOf(hourly, viewOf(undefined), "09:00")).toBe("10:00");
    expect(positionOf(hourly, viewOf(instant("09:05")), "09:00", CHANGED)).toBe("10:00");
  });

  test("other changes move nothing: a slot that only awaits its jitter keeps its place", () => {
    const job = jobOf("0 * * * *", { jitterMs: 30 * MINUTE });
    const view = viewOf(instant("09:00"));

    expect(positionOf(job, view, "09:00:00.001", KEPT)).toBe("09:00");
    expect(positionOf(job, view, "09:00:00.001", CHANGED)).toBe("09:00");
    expect(
      positionOf({ ...job, schedule: jobOf("10 * * * *").schedule }, view, "09:00:00.001", CHANGED),
    ).toBe("09:10");
  });

  test("D4: paused, quarantined, disabled, removed, by hand: no slot; held: slots go on", () => {
    const suspended = (kind: "paused" | "quarantined" | "held") =>
      viewOf(undefined, { cursor: { suspensions: [suspensionOf(kind, START)] } });

    expect(positionOf(hourly, suspended("paused"), "09:00")).toBeUndefined();
    expect(positionOf(hourly, suspended("quarantined"), "09:00")).toBeUndefined();
    expect(positionOf(jobOf("0 * * * *", { enabled: false }), viewOf(undefined), "09:00")).toBeUndefined();
    expect(positionOf(hourly, viewOf(undefined, { cursor: { removedAt: START } }), "09:00")).toBeUndefined();
    expect(positionOf(jobOf(undefined), viewOf(undefined), "09:00")).toBeUndefined();
    expect(positionOf(hourly, suspended("held"), "09:00")).toBe("10:00");
  });

  test("D4: a pause with an end has its first slot after that end", () => {
    const pause = suspensionOf("paused", START, { until: instant("12:00") });

    expect(positionOf(hourly, viewOf(undefined, { cursor: { suspensions: [pause] } }), "09:00")).toBe(
      "13:00",
    );
  });

  test("T9: an edit that makes the job complete is looked at once more, at once, so that the record says so", () => {
    const view = viewOf(undefined, { cursor: { startedSlots: 3 } });
    for (const job of [jobOf("0 * * * *", { repeat: 3 }), jobOf("0 * * * *", { until: instant("09:30") })]) {
      const position = makeCursorAfter(() => job)(view, instant("09:30"), CHANGED)!;
      expect(position).toEqual({ slot: instant("10:00"), dueAt: instant("09:30") });
      const decision = makeDecide(() => job)(
        viewOf(position.slot, { cursor: { startedSlots: 3 } }),
        instant("09:30"),
      );
      expect(decision).toMatchObject({
        slots: [],
        next: undefined,
        completed: job.repeat ? "repeat" : "until",
      });
    }
  });

  test.each([
    ["`repeat` is reached", jobOf("0 * * * *", { repeat: 3 }), true],
    ["`repeat` was raised", jobOf("0 * * * *", { repeat: 4 }), false],
    ["no slot comes before `until`", jobOf("0 * * * *", { until: instant("09:30") }), true],
    ["`until` is lifted", jobOf("0 * * * *"), false],
    ["its one instant is behind", jobOf("2026-06-01T08:00"), true],
    ["its one instant was moved ahead", jobOf("2026-06-01T10:00"), false],
    ["it has no schedule any more", jobOf(undefined), false],
    ["it is disabled and can go on", jobOf("0 * * * *", { enabled: false }), false],
  ])("T9: with a completion on record, where %s, whether the job stays complete", (_, job, isComplete) => {
    for (const kind of [[], ["paused"], ["quarantined"], ["held"]] as const) {
      const suspensions = ["completed" as const, ...kind].map((one) => suspensionOf(one, instant("08:00")));
      const done = viewOf(undefined, { cursor: { startedSlots: 3, suspensions } });

      expect(makeIsComplete(() => job)(done, instant("09:00")), kind.join()).toBe(isComplete);
      expect(positionOf(job, done, "09:00"), "no slot while the record says completed").toBeUndefined();
    }
  });
});

test("T9: a job whose `until` passes while it is paused is looked at when the pause ends, and is completed then", () => {
  const job = jobOf("0 * * * *", { until: instant("09:30") });
  const pause = suspensionOf("paused", instant("06:30"), { until: instant("10:15") });
  const paused = viewOf(instant("07:00"), { cursor: { suspensions: [pause] } });

  const during = makeDecide(() => job)(paused, instant("06:30"));
  expect(during).toMatchObject({ slots: [], next: { slot: instant("11:00"), dueAt: instant("10:15") } });
  expect(during.completed, "released before, it would go on").toBeUndefined();
  expect(makeDecide(() => job)(viewOf(during.next?.slot), instant("10:15"))).toMatchObject({
    slots: [],
    next: undefined,
    completed: "until",
  });
});

describe("T8: a clock that stepped back", () => {
  const rewind = (view: ReturnType<typeof viewOf>, now: string, started: string[]) => {
    const accountedAhead = started.map(instant);
    const position = makeRewindCursor(() => hourly)({ ...view, accountedAhead }, instant(now));
    return position && clock(position.slot);
  };

  test("the cursor returns to the next slot without a started run", () => {
    expect(rewind(viewOf(instant("12:00")), "08:30", [])).toBe("09:00");
    expect(rewind(viewOf(instant("12:00")), "08:30", ["09:00", "10:00"])).toBe("11:00");
    expect(rewind(viewOf(instant("12:00")), "08:30", ["09:00", "10:00", "11:00"])).toBe("12:00");
  });

  test("a cursor that the step did not pass stays", () => {
    expect(rewind(viewOf(instant("08:00")), "08:30", [])).toBe("08:00");
  });

  test("a pause recorded at what is now a later instant still holds; slots before it are closed again, none runs", () => {
    const paused = { suspensions: [suspensionOf("paused", instant("10:30"))] };
    const position = makeRewindCursor(() => hourly)(viewOf(undefined, { cursor: paused }), instant("08:30"));
    expect(position).toEqual({ slot: instant("09:00"), dueAt: instant("08:30") });

    const decision = makeDecide(() => hourly)(viewOf(position?.slot, { cursor: paused }), instant("08:30"));
    expect(inShort(decision)).toEqual(["skipped paused 09:00–10:00 ×2"]);
    expect(decision.next).toBeUndefined();
  });

  test("a completed once-job that never started is due again; one that ran is not", () => {
    const once = jobOf("2026-06-01T09:00");
    const position = (isStarted: boolean) => {
      const accountedAhead = isStarted ? [instant("09:00")] : [];
      return makeRewindCursor(() => once)({ ...viewOf(undefined), accountedAhead }, instant("08:00"));
    };

    expect(position(false)?.slot).toBe(instant("09:00"));
    expect(position(true)).toBeUndefined();
  });
});

test("D5: a decision is a pure function of the view: made twice it is the same", () => {
  const view = viewOf(instant("05:00"), { openRuns: [openRun("queued", instant("04:00"))] });
  const decide = makeDecide(() => jobOf("*/7 * * * *", { catchUp: "all" }));

  expect(decide(view, instant("09:00"))).toEqual(decide(view, instant("09:00")));
});
