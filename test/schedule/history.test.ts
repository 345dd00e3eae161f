// Any history of passes, outages, overlaps, edits, pauses and holds: every due slot is accounted for exactly once.
// What was due is known to the test by its own book-keeping; the audit must come to the same.

import fc from "fast-check";
import { expect, test } from "vitest";
import { HOUR, type Instant, MINUTE, SECOND } from "../../src/kernel/time.ts";
import type { Job } from "../../src/records/job.ts";
import type { Schedule } from "../../src/records/schedule.ts";
import { auditJob } from "../../src/schedule/audit.ts";
import { slotsBetween, smallestGap } from "../../src/schedule/next-slot.ts";
import { makePlayedLedger } from "./played-ledger.ts";
import { jobOf } from "./views.ts";

const START = Date.parse("2026-03-07T22:00:00Z");
const ZONE = "America/New_York";
const SCHEDULES = [
  "* * * * *",
  "*/10 * * * *",
  "30 1-3 * * *",
  "0 * * * *",
  "every 7m",
  "every 3h",
  "0,59 2,3 * * *",
];

const anyJob = fc
  .record({
    schedule: fc.constantFrom(...SCHEDULES),
    catchUp: fc.constantFrom("skip", "latest", "all"),
    catchUpLimit: fc.integer({ min: 1, max: 12 }),
    overlap: fc.constantFrom("skip", "queue", "allow", "replace"),
    repeat: fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined, freq: 5 }),
    untilHours: fc.option(fc.integer({ min: 1, max: 40 }), { nil: undefined, freq: 5 }),
    jitterShare: fc.constantFrom(0, 0, 0.25, 0.5),
  })
  .map(({ schedule, untilHours, jitterShare, ...parts }): Job => {
    const until = untilHours === undefined ? undefined : START + untilHours * HOUR;
    const job = jobOf(schedule, { timezone: ZONE, ...(parts as Partial<Job>), until });
    return { ...job, jitterMs: Math.floor((smallestGap(job.schedule!) ?? 0) * jitterShare) };
  });

const wait = fc.oneof(
  fc.integer({ min: 0, max: 5 * SECOND }),
  fc.integer({ min: SECOND, max: 10 * MINUTE }),
  fc.integer({ min: MINUTE, max: 9 * HOUR }),
);
const step = fc.record({
  waitMs: wait,
  act: fc.oneof(
    { weight: 6, arbitrary: fc.constant("pass" as const) },
    { weight: 4, arbitrary: fc.constantFrom("start", "end", "retry") },
    {
      weight: 2,
      arbitrary: fc.constantFrom(
        "edit",
        "touch",
        "pause",
        "pauseUntil",
        "resume",
        "hold",
        "unhold",
        "quarantine",
      ),
    },
  ),
  job: anyJob,
});

/** A stretch in which slots after `after` up to `until` are due, as the test knows it. */
interface Stretch {
  schedule: Schedule;
  after: Instant;
  until: Instant | undefined;
}

test("law 2: for any history each due slot is accounted for exactly once, in order, and the audit agrees", () => {
  fc.assert(
    fc.property(anyJob, fc.array(step, { minLength: 1, maxLength: 40 }), (first, steps) => {
      const ledger = makePlayedLedger(first, START);
      const book: Stretch[] = [{ schedule: first.schedule!, after: START, until: undefined }];
      let job = first;
      let now = START;
      let isPaused = false;
      const closeBook = () => {
        const open = book.at(-1)!;
        open.until ??= now;
      };
      const openBook = (after = now) => book.push({ schedule: job.schedule!, after, until: undefined });

      for (const { waitMs, act, job: other } of steps) {
        now += waitMs;
        const before = ledger.cursor.nextSlot ?? Number.POSITIVE_INFINITY;
        if (act === "pass") ledger.pass(now);
        else if (act === "start") ledger.start(now);
        else if (act === "end") ledger.end("done");
        else if (act === "retry") ledger.end("retry");
        else if (act === "hold") ledger.suspend(now, "held");
        else if (act === "unhold") ledger.resume(now, "held");
        else if (act === "touch") ledger.edit(now, { ...job, effects: "none" }, false);
        else if (act === "edit") {
          ledger.edit(now, other, true);
          job = other;
          if (!isPaused) {
            closeBook();
            openBook();
          }
        } else if (act === "resume") {
          for (const kind of ["paused", "quarantined"] as const) ledger.resume(now, kind);
          if (isPaused) openBook();
          isPaused = false;
        } else if (!isPaused) {
          const until = act === "pauseUntil" ? now + 2 * HOUR : undefined;
          ledger.suspend(now, act === "quarantine" ? "quarantined" : "paused", until);
          closeBook();
          isPaused = until === undefined;
          if (until !== undefined) {
            // It ends by itself; nothing else happens to the job meanwhile.
            openBook(until);
            now = until;
          }
        }
        expect(ledger.cursor.nextSlot ?? Number.POSITIVE_INFINITY).toBeGreaterThanOrEqual(
          act === "edit" ? 0 : Math.min(before, now),
        );
      }
      now += HOUR;
      ledger.pass(now);

      const done = ledger.auditView().suspensions.filter(({ kind }) => kind === "completed");
      const isOver = (slot: Instant) =>
        done.some(({ from, to }) => slot > from && slot <= (to ?? Number.POSITIVE_INFINITY));
      const cursor = ledger.cursor.nextSlot ?? Number.POSITIVE_INFINITY;
      const limits = limitsOf(ledger);
      const due = book.flatMap(({ schedule, after, until }) =>
        slotsBetween(schedule, { after, until: Math.min(until ?? now, now), max: 1e6 }),
      );
      const expected = due.filter((slot) => slot < cursor && !isOver(slot) && slot <= limits(slot));

      expect(ledger.accounted).toEqual(expected);
      const audit = auditJob(ledger.auditView(), { since: START, until: now }, ledger.parseJob);
      expect(audit).toMatchObject({ due: expected.length, accounted: expected.length });
      expect(audit).toMatchObject({ missing: [], doubled: [], early: [], shifted: [] });
      expect(audit.pending).toBe(
        due.filter((slot) => slot >= cursor && !isOver(slot) && slot <= limits(slot)).length,
      );
    }),
    { numRuns: 800 },
  );
}, 120_000);

test("T9: a job that ended while it was quarantined unseen, and was edited to go on, goes on when it is released", () => {
  const endless = jobOf("* * * * *", { timezone: ZONE });
  const ledger = makePlayedLedger({ ...endless, until: START + HOUR }, START);
  ledger.suspend(START + HOUR, "quarantined");
  ledger.edit(START + HOUR + SECOND, endless, true);
  ledger.resume(START + HOUR + 61 * SECOND, "quarantined");
  const now = START + 2 * HOUR + 61 * SECOND;

  ledger.pass(now);

  const firstHour = Array.from({ length: 60 }, (_, n) => START + (n + 1) * MINUTE);
  const afterRelease = Array.from({ length: 60 }, (_, n) => START + HOUR + (n + 2) * MINUTE);
  expect(ledger.accounted).toEqual([...firstHour, ...afterRelease]);
  expect(ledger.auditView().suspensions).toMatchObject([
    { kind: "completed", reason: "until", from: START + HOUR, to: START + HOUR + SECOND },
    { kind: "quarantined", to: START + HOUR + 61 * SECOND },
  ]);
  const audit = auditJob(ledger.auditView(), { since: START, until: now }, ledger.parseJob);
  expect(audit).toMatchObject({ due: 120, accounted: 120, pending: 0, missing: [], doubled: [] });
});

/** `until` of the version in force when a slot came. */
function limitsOf(ledger: ReturnType<typeof makePlayedLedger>): (slot: Instant) => Instant {
  const { definitions } = ledger.auditView();
  return (slot) => {
    const own = definitions.find(
      ({ inForceFrom, inForceTo }) => slot > inForceFrom && (inForceTo === undefined || slot <= inForceTo),
    );
    return (own && ledger.parseJob(own).until) ?? Number.POSITIVE_INFINITY;
  };
}

test("T6, T9: however passes fall, no more runs start than `repeat` allows, and none before its jittered instant", () => {
  fc.assert(
    fc.property(anyJob, fc.array(wait, { minLength: 1, maxLength: 60 }), (job, waits) => {
      const ledger = makePlayedLedger(job, START);
      let now = START;
      let started = 0;
      for (const ms of waits) {
        now += ms;
        const decision = ledger.pass(now);
        for (const entry of decision?.slots ?? []) {
          if (entry.kind === "run") expect(entry.readyAt - entry.slot).toBeLessThanOrEqual(job.jitterMs);
        }
        started += ledger.start(now);
        if (ms % 2 === 0) ledger.end("done");
      }

      if (job.repeat !== undefined) expect(started).toBeLessThanOrEqual(job.repeat);
      expect(auditJob(ledger.auditView(), { since: START, until: now }, ledger.parseJob).early).toEqual([]);
    }),
    { numRuns: 400 },
  );
});
