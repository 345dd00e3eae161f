import { describe, expect, test } from "vitest";
import { noteActivity, noteCpu, reachedLimit, startActivity } from "../../src/execute/inactivity.ts";

describe("limits (L14)", () => {
  const limits = { idleMs: 1_000, totalMs: 10_000 };

  test("L14: silence reaches the idle limit exactly at its end, and names the last activity", () => {
    const activity = noteActivity(startActivity(limits, 0), "stdout", 500);

    expect(reachedLimit(activity, 1_499)).toBeUndefined();
    expect(reachedLimit(activity, 1_500)).toEqual({
      kind: "idleTimeout",
      limitMs: 1_000,
      lastActivity: "stdout",
      lastActivityAt: 500,
    });
  });

  test("L14: CPU time of the group is activity, a sample without a change is none", () => {
    let activity = noteCpu(startActivity(limits, 0), 0, 900);
    expect(reachedLimit(activity, 1_000)?.kind).toBe("idleTimeout");

    activity = noteCpu(activity, 10, 950);
    expect(reachedLimit(activity, 1_900)).toBeUndefined();
    // A member that ended takes its time along: that too is a sign of life.
    activity = noteCpu(activity, 4, 1_800);
    expect(reachedLimit(activity, 2_700)).toBeUndefined();
    expect(reachedLimit(activity, 2_800)).toMatchObject({ lastActivity: "cpu", lastActivityAt: 1_800 });
  });

  test("law 6: however busy, the total limit ends it", () => {
    const activity = noteActivity(startActivity(limits, 0), "stdout", 9_999);
    expect(reachedLimit(activity, 9_999)).toBeUndefined();
    expect(reachedLimit(activity, 10_000)).toMatchObject({ kind: "totalTimeout", limitMs: 10_000 });
  });

  test("L14: 0 turns a limit off", () => {
    const activity = startActivity({ idleMs: 0, totalMs: 0 }, 0);
    expect(reachedLimit(activity, 1e12)).toBeUndefined();
  });

  test("a late report never moves the last activity back", () => {
    const activity = noteActivity(noteActivity(startActivity(limits, 0), "stdout", 800), "stderr", 300);
    expect(activity.lastActivityAt).toBe(800);
  });
});
