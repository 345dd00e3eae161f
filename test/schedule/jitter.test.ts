import fc from "fast-check";
import { expect, test } from "vitest";
import { HOUR, MINUTE } from "../../src/kernel/time.ts";
import { checkJitter, jitteredInstant, jitterOf } from "../../src/schedule/jitter.ts";
import { jobOf, START } from "./views.ts";

test("T5: jitter is a stable function of job and slot, a whole number between 0 and its limit", () => {
  fc.assert(
    fc.property(fc.string(), fc.integer(), fc.integer({ min: 0, max: HOUR }), (jobId, slot, limit) => {
      const jitter = jitterOf(jobId, slot, limit);
      expect(Number.isInteger(jitter) && jitter >= 0 && jitter <= limit).toBe(true);
      expect(jitterOf(jobId, slot, limit)).toBe(jitter);
    }),
  );
});

// hermes#78986: many jobs at :00 burst upon one provider.
test("T5: a thousand jobs of one minute spread over the whole limit, and one job's slots do, too", () => {
  const byJob = Array.from({ length: 1_000 }, (_, index) => jitterOf(`job-${index}`, START, 10 * MINUTE));
  const bySlot = Array.from({ length: 1_000 }, (_, index) =>
    jitterOf("job", START + index * HOUR, 10 * MINUTE),
  );

  for (const values of [byJob, bySlot]) {
    for (let minute = 0; minute < 10; minute++) {
      const share = values.filter((value) => Math.floor(value / MINUTE) === minute).length;
      expect(share).toBeGreaterThan(50);
      expect(share).toBeLessThan(160);
    }
  }
});

test("T5: these values are for ever; another version of us must give the same", () => {
  expect(jitterOf("disk-watch", Date.parse("2026-11-29T06:00:00Z"), HOUR)).toBe(1_519_645);
  expect(jitteredInstant({ id: "disk-watch", jitterMs: 0 }, START)).toBe(START);
});

test.each([
  ["every 10m", 5 * MINUTE],
  ["*/20 9-17 * * *", 10 * MINUTE],
  ["0 9 * * 1-5", 12 * HOUR],
  ["0,10 9 * * *", 5 * MINUTE],
])("T5: `%s` takes a jitter of %d ms and refuses a millisecond more", (text, limit) => {
  const { schedule } = jobOf(text);

  expect(() => checkJitter(schedule, limit)).not.toThrow();
  expect(() => checkJitter(schedule, limit + 1)).toThrow(/more than half the smallest gap/);
});

test("T5: a once-job and a job by hand have no gap to keep to", () => {
  expect(() => checkJitter(jobOf("30m").schedule, 24 * HOUR)).not.toThrow();
  expect(() => checkJitter(undefined, 24 * HOUR)).not.toThrow();
});
