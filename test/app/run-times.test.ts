// Where a run's time went, by its row and its events.

import { expect, test } from "vitest";
import { runTimes } from "../../src/app/run-times.ts";
import { formatInstant } from "../../src/kernel/time.ts";
import type { Run, RunEvent } from "../../src/records/run.ts";

const row = (parts: Partial<Run>) => ({ createdAt: 1_000, readyAt: 1_000, ...parts }) as Run;
const event = (kind: string, at: number, data: Record<string, unknown> = {}) =>
  ({ kind, at, data }) as unknown as RunEvent;
const LACKS = { lacks: "needs a GPU" };

test("a task that waited for a GPU: every part follows the one before it", () => {
  const events = [
    event("run-queued", 1_000),
    event("run-waiting", 1_007, LACKS),
    event("run-claimed", 3_007),
    event("run-started", 3_010),
  ];
  expect(runTimes(row({ startedAt: 3_010, finishedAt: 3_500 }), events)).toEqual({
    waitingSince: formatInstant(1_007),
    claimedAt: formatInstant(3_007),
    ...{ delayedMs: 0, queuedMs: 7, waitedForResourcesMs: 2_000, claimedMs: 3, ranMs: 490 },
  });
});

test("a retry's pause is a delay of its own; a run started early by hand has none", () => {
  const claimed = [event("run-claimed", 6_001)];
  expect(runTimes(row({ readyAt: 6_000, startedAt: 6_002 }), claimed)).toMatchObject({
    ...{ delayedMs: 5_000, queuedMs: 1, claimedMs: 1, ranMs: null },
  });
  expect(runTimes(row({ readyAt: 61_000, startedAt: 1_005 }), [event("run-claimed", 1_004)])).toMatchObject({
    ...{ delayedMs: 0, queuedMs: 4, claimedMs: 1 },
  });
});

test("a claim that was given back is not the one that led to its start", () => {
  const events = [event("run-claimed", 1_100), event("run-requeued", 1_200), event("run-claimed", 2_000)];
  expect(runTimes(row({ startedAt: 2_010 }), events)).toMatchObject({ queuedMs: 1_000, claimedMs: 10 });
});

test("what has not happened, and events that were dropped, are null", () => {
  expect(runTimes(row({}), [])).toMatchObject({
    queuedMs: null,
    waitedForResourcesMs: null,
    claimedMs: null,
  });
  expect(runTimes(row({}), [event("run-waiting", 1_500, LACKS)])).toMatchObject({
    ...{ queuedMs: 500, waitedForResourcesMs: null, waitingSince: formatInstant(1_500) },
  });
  expect(runTimes(row({ startedAt: 1_020, finishedAt: 1_050 }), [])).toEqual({
    ...{ waitingSince: null, claimedAt: null, delayedMs: 0 },
    ...{ queuedMs: 20, waitedForResourcesMs: 0, claimedMs: null, ranMs: 30 },
  });
});
