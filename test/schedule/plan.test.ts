import { describe, expect, test } from "vitest";
import { DAY, HOUR, type Instant, MINUTE } from "../../src/kernel/time.ts";
import type { Job } from "../../src/records/job.ts";
import { type CarriedRun, type Outage, type SlotFate, simulate } from "../../src/schedule/plan.ts";
import { clock, instant, jobOf, openRun, START } from "./views.ts";

function inShort({ fate, first, last, count, startsAt, isCountAtLeast }: SlotFate): string {
  const slots =
    count === 1 ? clock(first) : `${clock(first)}–${clock(last)} ×${count}${isCountAtLeast ? "+" : ""}`;
  return startsAt === undefined || startsAt === first
    ? `${slots} ${fate}`
    : `${slots} ${fate} at ${clock(startsAt)}`;
}

function plan(
  job: Job,
  down: Outage[] = [],
  options: { until?: Instant; durationMs?: number } = {},
): string[] {
  const { until = START + 6 * HOUR, durationMs = 0 } = options;
  return simulate({ jobs: [job], from: START, until, down, durationMsOf: () => durationMs }).map(inShort);
}

const DOWN: Outage[] = [{ from: instant("01:50"), to: instant("04:10") }];

describe("an outage from 01:50 to 04:10 over an hourly job", () => {
  test("`skip`: the newest slot is late within its grace, older ones are missed", () => {
    expect(plan(jobOf("0 * * * *"), DOWN)).toEqual([
      "00:00 onTime",
      "01:00 onTime",
      "02:00–03:00 ×2 missed",
      "04:00 late at 04:10",
      "05:00 onTime",
    ]);
  });
  test("`latest`: the backlog collapses to one run", () => {
    expect(
      plan(jobOf("0 * * * *", { catchUp: "latest" }), [{ from: instant("01:50"), to: instant("04:45") }]),
    ).toEqual([
      "00:00 onTime",
      "01:00 onTime",
      "02:00–03:00 ×2 superseded",
      "04:00 catchUp at 04:45",
      "05:00 onTime",
    ]);
  });
  test("`all`: every slot runs in order, one after the other; the next one on time meets a live run", () => {
    expect(plan(jobOf("0 * * * *", { catchUp: "all" }), DOWN, { durationMs: 20 * MINUTE })).toEqual([
      "00:00 onTime",
      "01:00 onTime",
      "02:00 catchUp at 04:10",
      "03:00 catchUp at 04:30",
      "04:00 late at 04:50",
      "05:00 overlap",
    ]);
  });
  test("an outage at the end leaves slots pending: what becomes of them is not known", () => {
    expect(plan(jobOf("0 * * * *"), [{ from: instant("03:30"), to: START + DAY }])).toEqual([
      "00:00 onTime",
      "01:00 onTime",
      "02:00 onTime",
      "03:00 onTime",
      "04:00–05:00 ×2 pending",
    ]);
  });
  test("two outages in a row are one", () => {
    const down = [DOWN[0]!, { from: instant("04:10"), to: instant("05:05") }];
    expect(plan(jobOf("0 * * * *"), down)).toEqual([
      "00:00 onTime",
      "01:00 onTime",
      "02:00–04:00 ×3 missed",
      "05:00 late at 05:05",
    ]);
  });
});

describe("runs longer than their period", () => {
  test.each([
    ["skip", ["00:00 onTime", "01:00 overlap", "02:00 onTime"]],
    ["allow", ["00:00 onTime", "01:00 onTime", "02:00 onTime"]],
    ["replace", ["00:00 onTime", "01:00 onTime", "02:00 onTime"]],
    ["queue", ["00:00 onTime", "01:00 late at 01:30", "02:00 waiting"]],
  ] as const)("T7: `%s`", (overlap, expected) => {
    const job = jobOf("0 * * * *", { overlap });

    expect(plan(job, [], { until: START + 3 * HOUR, durationMs: 90 * MINUTE })).toEqual(expected);
  });
});

test("T9: `repeat` and `until` end the plan", () => {
  expect(plan(jobOf("0 * * * *", { repeat: 2 }))).toEqual(["00:00 onTime", "01:00 onTime"]);
  expect(plan(jobOf("0 * * * *", { until: instant("01:00") }))).toEqual(["00:00 onTime", "01:00 onTime"]);
  expect(plan(jobOf("2026-06-01T01:00"), DOWN)).toEqual(["01:00 onTime"]);
  expect(plan(jobOf("2026-06-01T02:00"), DOWN)).toEqual(["02:00 missed"]);
});

test("across the spring gap the swallowed hour is one slot, and an outage over it is seen by the policy", () => {
  const job = jobOf("30 2 * * *", { timezone: "America/New_York" });
  const from = Date.parse("2026-03-07T12:00:00Z");
  const down = [{ from: Date.parse("2026-03-08T06:00:00Z"), to: Date.parse("2026-03-08T08:00:00Z") }];
  const fates = simulate({ jobs: [job], from, until: from + 2 * DAY, down });

  expect(fates.map(({ first, fate, lateMs }) => [new Date(first).toISOString(), fate, lateMs])).toEqual([
    ["2026-03-08T07:00:00.000Z", "late", HOUR],
    ["2026-03-09T06:30:00.000Z", "onTime", 0],
  ]);
});

test("large counts are folded, and a week at one a second with an outage is planned within a second", () => {
  const started = performance.now();
  const fates = plan(jobOf("* * * * * *"), DOWN, { until: START + DAY });

  expect(performance.now() - started).toBeLessThan(2_000);
  expect(fates).toEqual([
    "00:00–01:49:59 ×6600 onTime",
    "01:50–04:07:59 ×8280 missed",
    "04:08–04:09:59 ×120 superseded",
    "04:10–23:59:59 ×71400 onTime",
  ]);
});

test("jobs are told apart and sorted by slot", () => {
  const jobs = [jobOf("30 * * * *", { id: "b" }), jobOf("0 * * * *", { id: "a" })];
  const fates = simulate({ jobs, from: START, until: START + 2 * HOUR, down: [] });

  expect(fates.map(({ jobId, first }) => `${jobId} ${clock(first)}`)).toEqual([
    "a 00:00",
    "b 00:30",
    "a 01:00",
    "b 01:30",
  ]);
});

test("a job without a schedule, or a disabled one, has no slots", () => {
  expect(plan(jobOf(undefined))).toEqual([]);
  expect(plan(jobOf("0 * * * *", { enabled: false }))).toEqual([]);
});

describe("T7: runs that are open when the stretch begins", () => {
  const live = (endsAt: string): CarriedRun => ({
    ...openRun("running", undefined),
    endsAt: instant(endsAt),
  });
  const waiter: CarriedRun = { ...openRun("queued", START - HOUR), endsAt: undefined };
  const withOpen = (job: Job, ...open: CarriedRun[]) =>
    simulate({ jobs: [job], from: START, until: START + 3 * HOUR, down: [], openRunsOf: () => open }).map(
      inShort,
    );

  test("`skip`: a slot that meets a live run is skipped; one after its end is on time", () => {
    expect(withOpen(jobOf("0 * * * *"), live("01:30"))).toEqual([
      "00:00 overlap",
      "01:00 overlap",
      "02:00 onTime",
    ]);
  });

  test("`queue`: the newest slot waits for its end, and supersedes what waited before; that fate is not of this plan", () => {
    expect(withOpen(jobOf("0 * * * *", { overlap: "queue" }), live("01:30"), waiter)).toEqual([
      "00:00 superseded",
      "01:00 late at 01:30",
      "02:00 onTime",
    ]);
  });

  test("`allow` and `replace`: a live run stands in nobody's way", () => {
    for (const overlap of ["allow", "replace"] as const)
      expect(withOpen(jobOf("0 * * * *", { overlap }), live("01:30"))).toEqual([
        "00:00 onTime",
        "01:00 onTime",
        "02:00 onTime",
      ]);
  });
});
