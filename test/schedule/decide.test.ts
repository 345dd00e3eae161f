import { describe, expect, test } from "vitest";
import { DAY, HOUR, type Instant, MINUTE, SECOND } from "../../src/kernel/time.ts";
import type { Job } from "../../src/records/job.ts";
import type { JobDecision, JobView, OpenRun } from "../../src/records/ledger/slots.ts";
import { makeDecide } from "../../src/schedule/decide.ts";
import { inShort, instant, jobOf, openRun, START, suspensionOf, viewOf } from "./views.ts";

function decide(job: Job, view: JobView, now: Instant): JobDecision {
  return makeDecide(() => job)(view, now);
}

/** An hourly job whose slots from `first` on are unaccounted for, decided at `now`. */
function hourly(
  parts: Partial<Job>,
  first: string,
  now: string,
  openRuns: readonly OpenRun[] = [],
): JobDecision {
  return decide(jobOf("0 * * * *", parts), viewOf(instant(first), { openRuns }), instant(now));
}

describe("T6: lateness, grace and catch-up", () => {
  test("a slot that is due runs, and the cursor moves to the next", () => {
    const decision = hourly({}, "09:00", "09:00:00.005");

    expect(decision).toEqual({
      slots: [
        {
          kind: "run",
          slot: instant("09:00"),
          readyAt: instant("09:00"),
          effects: "external",
          isExclusive: true,
        },
      ],
      endOpenRuns: [],
      cancelRuns: [],
      next: { slot: instant("10:00"), dueAt: instant("10:00") },
    });
  });

  test("nothing is due before its time: the cursor stays", () => {
    expect(hourly({}, "09:00", "08:59:59.999")).toEqual({
      slots: [],
      endOpenRuns: [],
      cancelRuns: [],
      next: { slot: instant("09:00"), dueAt: instant("09:00") },
    });
  });

  test("openclaw#33092: a node away for 13 s across the slot runs it late, it does not jump to the next", () => {
    expect(inShort(hourly({}, "09:00", "09:00:13"))).toEqual(["run 09:00 late"]);
  });

  test("grace is half the period: 30 min late runs, a millisecond more is missed (openclaw#73644)", () => {
    expect(inShort(hourly({}, "09:00", "09:30:00"))).toEqual(["run 09:00 late"]);
    expect(inShort(hourly({}, "09:00", "09:30:00.001"))).toEqual(["missed pastGrace 09:00"]);
  });

  test.each([
    ["* * * * *", 120 * SECOND],
    ["every 5m", 150 * SECOND],
    ["0 3 * * *", 2 * HOUR],
    ["0 3 1 * *", 2 * HOUR],
    ["2026-06-01T09:00", 120 * SECOND],
  ])("the grace of `%s` is %d ms: both clamp ends hold", (text, grace) => {
    const job = jobOf(text);
    const slot = text.startsWith("2026") ? instant("09:00") : START + 30 * DAY + 3 * HOUR;
    const reasons = [grace, grace + 1].map((late) => inShort(decide(job, viewOf(slot), slot + late))[0]);

    expect(reasons[0]).not.toContain("pastGrace");
    expect(reasons[1]).toContain("missed pastGrace");
  });

  test("`skip`: within the grace the newest runs and older ones are superseded; past it they are missed", () => {
    const job = jobOf("* * * * *");

    expect(inShort(decide(job, viewOf(instant("09:00")), instant("09:05:30")))).toEqual([
      "missed pastGrace 09:00–09:03 ×4",
      "skipped superseded 09:04",
      "run 09:05 late",
    ]);
  });

  test("hermes#30850: a long outage with `skip` is one row that says so, not silence", () => {
    expect(inShort(hourly({}, "02:00", "09:45"))).toEqual(["missed pastGrace 02:00–09:00 ×8"]);
  });

  test("`latest`: the newest of a backlog runs once, the rest are superseded", () => {
    expect(inShort(hourly({ catchUp: "latest" }, "02:00", "09:45"))).toEqual([
      "skipped superseded 02:00–08:00 ×7",
      "run 09:00 catchUp",
    ]);
    expect(inShort(hourly({ catchUp: "latest" }, "02:00", "09:10"))).toEqual([
      "skipped superseded 02:00–08:00 ×7",
      "run 09:00 late",
    ]);
  });

  test("`all`: every slot in order, one at a time, the oldest beyond the limit missed", () => {
    const decision = hourly({ catchUp: "all", catchUpLimit: 3 }, "05:00", "09:00:01");

    expect(inShort(decision)).toEqual([
      "missed overLimit 05:00–06:00 ×2",
      "run 07:00 catchUp",
      "run 08:00 catchUp",
      "run 09:00",
    ]);
    expect(decision.slots.slice(1).every((entry) => entry.kind === "run" && entry.isExclusive)).toBe(true);
  });

  test("`all` runs a backlog one at a time even where overlap is allowed", () => {
    const decision = hourly({ catchUp: "all", overlap: "allow" }, "08:00", "09:00:01");

    expect(decision.slots.map((entry) => entry.kind === "run" && entry.isExclusive)).toEqual([true, true]);
  });

  test("a once-job with `latest` runs however late; with `skip` it is missed; either way it is completed", () => {
    const at = instant("09:00");
    const late = decide(jobOf("2026-06-01T09:00", { catchUp: "latest" }), viewOf(at), at + DAY);
    const missed = decide(jobOf("2026-06-01T09:00"), viewOf(at), at + DAY);

    expect(inShort(late)).toEqual(["run 09:00 catchUp"]);
    expect(inShort(missed)).toEqual(["missed pastGrace 09:00"]);
    expect([late, missed].map(({ completed, next }) => ({ completed, next }))).toEqual([
      { completed: "once", next: undefined },
      { completed: "once", next: undefined },
    ]);
  });

  test("a gap of a year at one a second is one row, counted to 100,000 and no further, and decided fast", () => {
    const job = jobOf("* * * * * *");
    const started = performance.now();
    const decision = decide(job, viewOf(START), START + 365 * DAY);

    expect(performance.now() - started).toBeLessThan(2_000);
    const [missed, superseded, run] = decision.slots;
    expect(missed).toMatchObject({ state: "missed", first: START, count: 100_000, isCountAtLeast: true });
    expect(superseded).toMatchObject({ reason: "superseded", count: 120, isCountAtLeast: false });
    expect(run).toMatchObject({ kind: "run", slot: START + 365 * DAY });
  });

  test("T5: lateness counts from the jittered instant, the slot stays the nominal one", () => {
    const job = jobOf("0 * * * *", { jitterMs: 30 * MINUTE });
    const view = viewOf(instant("09:00"));
    const { next } = decide(job, view, instant("08:00"));
    const due = next!.dueAt;

    expect(due).toBeGreaterThan(instant("09:00"));
    expect(decide(job, view, due - 1).slots).toEqual([]);
    expect(decide(job, view, due).slots).toMatchObject([
      { kind: "run", slot: instant("09:00"), readyAt: due },
    ]);
    expect(inShort(decide(job, view, due + 30 * MINUTE))[0]).toBe("run 09:00 late");
    expect(inShort(decide(job, view, due + 30 * MINUTE + 1))[0]).toBe("missed pastGrace 09:00");
  });
});

describe("T7: overlap", () => {
  const slot8 = instant("08:00");
  const live = openRun("running", slot8);

  test.each(["claimed", "running", "cancelling"] as const)("`skip`: a run that is %s overlaps", (state) => {
    expect(inShort(hourly({}, "09:00", "09:00:01", [openRun(state, slot8)]))).toEqual([
      "skipped overlap 09:00",
    ]);
  });

  test("`skip`: a run by hand overlaps too", () => {
    expect(inShort(hourly({}, "09:00", "09:00:01", [openRun("running", undefined)]))).toEqual([
      "skipped overlap 09:00",
    ]);
  });

  test("`skip`: slots of one pass that meet the live run are one row", () => {
    const job = jobOf("* * * * *");
    const view = viewOf(instant("09:04"), { openRuns: [live] });

    expect(inShort(decide(job, view, instant("09:05:30")))).toEqual(["skipped overlap 09:04–09:05 ×2"]);
  });

  test("a retry in back-off is not live: the new slot runs and the retry ends", () => {
    const retry = openRun("waiting", slot8, { attempt: 2, trigger: "retry", reason: "retry" });
    const decision = hourly({}, "09:00", "09:00:01", [retry]);

    expect(inShort(decision)).toEqual(["run 09:00"]);
    expect(decision.endOpenRuns).toEqual([{ runId: retry.id, state: "cancelled", reason: "superseded" }]);
  });

  test("a slot that is skipped starts nothing, so the pending retry stays", () => {
    const retry = openRun("waiting", slot8, { attempt: 2, trigger: "retry", reason: "retry" });
    const decision = hourly({}, "09:00", "09:00:01", [retry, openRun("running", undefined)]);

    expect(decision.endOpenRuns).toEqual([]);
  });

  test("`queue`: the newest waiter is kept, older ones are superseded", () => {
    const waiter = openRun("queued", instant("08:30"));
    const decision = hourly({ overlap: "queue" }, "09:00", "09:00:01", [live, waiter]);

    expect(inShort(decision)).toEqual(["run 09:00"]);
    expect(decision.slots[0]).toMatchObject({ isExclusive: true });
    expect(decision.endOpenRuns).toEqual([{ runId: waiter.id, state: "skipped", reason: "superseded" }]);
    expect(decision.cancelRuns).toEqual([]);
  });

  test("a waiter without a live run (the node is full) is superseded by the newer slot as well", () => {
    const waiter = openRun("queued", slot8);
    const decision = hourly({}, "09:00", "09:00:01", [waiter]);

    expect(inShort(decision)).toEqual(["run 09:00"]);
    expect(decision.endOpenRuns).toHaveLength(1);
  });

  test("`allow`: runs stand side by side and nobody is superseded", () => {
    const decision = hourly({ overlap: "allow" }, "09:00", "09:00:01", [
      live,
      openRun("queued", instant("08:30")),
    ]);

    expect(decision.slots).toMatchObject([{ kind: "run", isExclusive: false }]);
    expect(decision.endOpenRuns).toEqual([]);
  });

  test("`replace`: live runs are cancelled, the new one must start within 30 s", () => {
    const leaving = openRun("cancelling", undefined);
    const decision = hourly({ overlap: "replace" }, "09:00", "09:00:01", [live, leaving]);

    expect(decision.slots).toMatchObject([{ kind: "run", startBy: instant("09:00:31"), isExclusive: true }]);
    expect(decision.cancelRuns).toEqual([{ runId: live.id, by: "replace" }]);
  });

  test("`replace` with nothing to replace waits for nobody", () => {
    expect(hourly({ overlap: "replace" }, "09:00", "09:00:01").slots[0]).not.toHaveProperty("startBy");
  });

  test("`all` owes every slot: queued ones are kept", () => {
    const decision = hourly({ catchUp: "all", overlap: "queue" }, "09:00", "09:00:01", [
      openRun("queued", slot8),
    ]);

    expect(decision.endOpenRuns).toEqual([]);
  });

  test("T8: a queued run of a later slot (the clock stepped back) is nobody's older waiter", () => {
    expect(hourly({}, "09:00", "09:00:01", [openRun("queued", instant("10:00"))]).endOpenRuns).toEqual([]);
  });

  test("work that waits for an approval has begun, and a person's own run is nobody's waiter", () => {
    const waiting = openRun("waiting", slot8, { reason: "approval" });
    const decision = hourly({}, "09:00", "09:00:01", [waiting, openRun("queued", undefined)]);

    expect(decision.endOpenRuns).toEqual([]);
  });

  test("a workflow between two nodes has begun: it is busy as a live run is, and `replace` cancels it", () => {
    const between = openRun("queued", slot8, { startedAt: slot8 });
    const under = (overlap: Job["overlap"]) => hourly({ overlap }, "09:00", "09:00:01", [between]);

    expect(inShort(under("skip"))).toEqual(["skipped overlap 09:00"]);
    for (const overlap of ["skip", "queue", "allow", "replace"] as const)
      expect(under(overlap).endOpenRuns, overlap).toEqual([]);
    expect(under("replace").cancelRuns).toEqual([{ runId: between.id, by: "replace" }]);
  });
});

describe("T9: repeat and until", () => {
  const started = (startedSlots: number, openRuns: readonly OpenRun[] = []) =>
    viewOf(instant("09:00"), { cursor: { startedSlots }, openRuns });

  test("the last repetition runs; soon after, when it has started, the job is complete and nothing is left over", () => {
    const job = jobOf("0 * * * *", { repeat: 3 });
    const last = decide(job, started(2), instant("09:00"));
    expect(inShort(last)).toEqual(["run 09:00"]);
    expect(last.completed).toBeUndefined();
    expect(last.next).toEqual({ slot: instant("10:00"), dueAt: instant("09:00:01") });

    const view = viewOf(instant("10:00"), { cursor: { startedSlots: 3 } });
    expect(decide(job, view, instant("09:00:01"))).toMatchObject({
      slots: [],
      next: undefined,
      completed: "repeat",
    });
  });

  test("pending first attempts are counted: nothing beyond the last one runs while it waits", () => {
    const job = jobOf("0 * * * *", { repeat: 3 });
    const decision = decide(job, started(2, [openRun("queued", instant("08:00"))]), instant("09:00"));

    expect(inShort(decision)).toEqual(["skipped repeatReached 09:00"]);
    expect(decision.completed).toBeUndefined();
    expect(decision.next?.dueAt).toBe(instant("09:00:30"));
  });

  test("a repetition whose run ended unstarted is given back", () => {
    expect(inShort(decide(jobOf("0 * * * *", { repeat: 3 }), started(2), instant("09:00")))).toEqual([
      "run 09:00",
    ]);
  });

  test("retries and runs by hand are no repetitions", () => {
    const openRuns = [
      openRun("waiting", instant("08:00"), { attempt: 2, trigger: "retry", reason: "retry" }),
      openRun("queued", undefined),
    ];
    expect(
      inShort(decide(jobOf("0 * * * *", { repeat: 3 }), started(2, openRuns), instant("09:00"))),
    ).toEqual(["run 09:00"]);
  });

  test("`all` runs no more of a backlog than repetitions are left", () => {
    const job = jobOf("0 * * * *", { repeat: 3, catchUp: "all" });
    const decision = decide(job, viewOf(instant("06:00"), { cursor: { startedSlots: 1 } }), instant("09:00"));

    expect(inShort(decision)).toEqual([
      "run 06:00 catchUp",
      "run 07:00 catchUp",
      "skipped repeatReached 08:00–09:00 ×2",
    ]);
  });

  test("`all` counts repetitions from the oldest slot within its limit", () => {
    const job = jobOf("0 * * * *", { repeat: 2, catchUp: "all", catchUpLimit: 3 });

    expect(inShort(decide(job, viewOf(instant("05:00")), instant("09:00")))).toEqual([
      "missed overLimit 05:00–06:00 ×2",
      "run 07:00 catchUp",
      "run 08:00 catchUp",
      "skipped repeatReached 09:00",
    ]);
  });

  test("a node that was away while the repetitions were complete still accounts for the slots behind", () => {
    const view = viewOf(instant("06:00"), { cursor: { startedSlots: 3 } });
    const decision = decide(jobOf("0 * * * *", { repeat: 3 }), view, instant("09:00"));

    expect(inShort(decision)).toEqual(["skipped repeatReached 06:00–09:00 ×4"]);
    expect(decision).toMatchObject({ next: undefined, completed: "repeat" });
  });

  test("`until` is an instant: its own slot runs, later ones do not exist", () => {
    const job = jobOf("0 * * * *", { until: instant("09:00") });
    const decision = decide(job, viewOf(instant("09:00")), instant("11:59"));

    expect(inShort(decision)).toEqual(["missed pastGrace 09:00"]);
    expect(decision).toMatchObject({ next: undefined, completed: "until" });
  });
});

describe("D4: suspended jobs", () => {
  test("held: due slots become `missed: held`, in one row", () => {
    const view = viewOf(instant("07:00"), {
      cursor: { suspensions: [suspensionOf("held", instant("06:30"))] },
    });
    const decision = decide(jobOf("0 * * * *"), view, instant("09:00"));

    expect(inShort(decision)).toEqual(["missed held 07:00–09:00 ×3"]);
    expect(decision.next?.slot).toBe(instant("10:00"));
  });

  test("paused and quarantined: no due slots; what no pass came to see before is closed", () => {
    for (const kind of ["paused", "quarantined"] as const) {
      const view = viewOf(instant("07:00"), {
        cursor: { suspensions: [suspensionOf(kind, instant("08:00"))] },
      });
      const decision = decide(jobOf("0 * * * *"), view, instant("12:00"));

      expect(inShort(decision)).toEqual([`skipped ${kind} 07:00–08:00 ×2`]);
      expect(decision.next).toBeUndefined();
    }
  });

  test("a pause that ends by itself resumes at the first slot after its end", () => {
    const pause = suspensionOf("paused", instant("06:30"), { until: instant("10:00") });
    const view = viewOf(instant("07:00"), { cursor: { suspensions: [pause] } });

    for (const now of ["09:00", "12:00"]) {
      const decision = decide(jobOf("0 * * * *"), view, instant(now));
      expect(decision.slots).toEqual([]);
      expect(decision.next?.slot).toBe(instant("11:00"));
    }
    const behind = viewOf(instant("11:00"), { cursor: { suspensions: [pause] } });
    expect(inShort(decide(jobOf("0 * * * *"), behind, instant("11:00")))).toEqual(["run 11:00"]);
  });

  test.each([
    ["disabled", { enabled: false }, {}],
    ["removed", {}, { removedAt: START }],
    ["by hand only", { schedule: undefined }, {}],
  ])("%s: no due slots", (_, parts, cursor) => {
    expect(decide(jobOf("0 * * * *", parts), viewOf(instant("07:00"), { cursor }), instant("12:00"))).toEqual(
      {
        slots: [],
        endOpenRuns: [],
        cancelRuns: [],
        next: undefined,
      },
    );
  });
});
