import { describe, expect, test } from "vitest";
import { MINUTE } from "../../src/kernel/time.ts";
import type { SuspensionKind } from "../../src/records/definition.ts";
import type { Job } from "../../src/records/job.ts";
import type { OpenRun } from "../../src/records/ledger/slots.ts";
import { makeDecideEvent } from "../../src/schedule/decide-event.ts";
import { jobOf, openRun, START, suspensionOf, viewOf } from "./views.ts";

const DEPLOY = { kind: "webhook", name: "deploy" } as const;

function decide(
  parts: Partial<Job>,
  openRuns: readonly OpenRun[] = [],
  suspended: readonly SuspensionKind[] = [],
) {
  const job = jobOf(undefined, { on: [DEPLOY], ...parts });
  const suspensions = suspended.map((kind) => suspensionOf(kind, START));
  const view = viewOf(undefined, { openRuns, cursor: { suspensions } });
  return makeDecideEvent(() => job, DEPLOY)(view, START);
}

const live = () => openRun("running", undefined, { id: "live" });
const waiting = (id: string, parts: Partial<OpenRun> = {}) =>
  openRun("queued", undefined, { id, trigger: "event", ...parts });

describe("W7: what an event means for a job", () => {
  test("a free job runs, once for each event; one that does not listen is not concerned", () => {
    expect(decide({ effects: "none" })).toEqual({
      kind: "run",
      effects: "none",
      isExclusive: true,
      startBy: undefined,
      cancelRuns: [],
      endOpenRuns: [],
    });
    expect(decide({ on: [{ kind: "webhook", name: "other" }] })).toBeUndefined();
  });

  test.each<SuspensionKind>(["paused", "quarantined", "held"])(
    "D4: a %s job keeps the event as a skipped run",
    (kind) => {
      expect(decide({}, [], [kind])).toEqual({ kind: "skip", reason: kind });
    },
  );

  test("D4, T9: disabled and past its `until` it skips; a schedule that is over does not end the trigger", () => {
    expect(decide({ enabled: false })).toEqual({ kind: "skip", reason: "disabled" });
    expect(decide({ until: START - 1 })).toEqual({ kind: "skip", reason: "until" });
    expect(decide({}, [], ["completed"])).toMatchObject({ kind: "run" });
  });

  test("T7 skip: a live run, or one that is about to be, lets nobody in", () => {
    const skipped = { kind: "skip", reason: "overlap" };
    expect(decide({ overlap: "skip" }, [live()])).toEqual(skipped);
    expect(decide({ overlap: "skip" }, [waiting("first")])).toEqual(skipped);
    // A retry in back-off is not live, and a person's run that waits is no event.
    const retry = openRun("waiting", undefined, { reason: "retry", attempt: 2, trigger: "retry" });
    expect(decide({ overlap: "skip" }, [retry, waiting("by-hand", { trigger: "manual" })])).toMatchObject({
      kind: "run",
      endOpenRuns: [],
    });
  });

  test("T7 queue: the newest waiter is kept; with nothing live the oldest is as good as begun", () => {
    const ended = (openRuns: readonly OpenRun[]) => {
      const decision = decide({ overlap: "queue" }, openRuns);
      return decision?.kind === "run" ? decision.endOpenRuns.map(({ runId }) => runId) : decision;
    };
    expect(ended([live(), waiting("a")])).toEqual(["a"]);
    expect(ended([waiting("a")])).toEqual([]);
    expect(ended([waiting("a"), waiting("b")])).toEqual(["b"]);
  });

  test("T7 replace: the live run is asked to end, and the new one waits thirty seconds for it", () => {
    expect(decide({ overlap: "replace" }, [live(), waiting("a")])).toMatchObject({
      kind: "run",
      startBy: START + MINUTE / 2,
      cancelRuns: [{ runId: "live", by: "replace" }],
      endOpenRuns: [{ runId: "a", state: "skipped", reason: "superseded" }],
    });
  });

  test("T7 allow: each event has a run beside the others", () => {
    expect(decide({ overlap: "allow" }, [live(), waiting("a")])).toMatchObject({
      kind: "run",
      isExclusive: false,
      cancelRuns: [],
      endOpenRuns: [],
    });
  });
});
