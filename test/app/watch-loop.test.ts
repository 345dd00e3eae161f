import { describe, expect, onTestFinished, test } from "vitest";
import { WatchLoop } from "../../src/app/watch-loop.ts";
import type { WatchReport } from "../../src/app/watch-protocol.ts";
import { MINUTE, SECOND } from "../../src/kernel/time.ts";
import type { RenewAnswer } from "../../src/records/ledger/claims.ts";
import { manualClock } from "../support/clock.ts";

const claim = { runId: "run-1", owner: "node", token: 1 };

/** The loop over a scripted store: what `renewClaims` answers is the peer's side of the contract. */
function watch(answer: () => RenewAnswer[] | Error, cpuMs: () => number | undefined = () => undefined) {
  const clock = manualClock(Date.UTC(2026, 10, 29));
  const reports: WatchReport[] = [];
  let beats = 0;
  const loop = new WatchLoop({
    ledger: {
      renewClaims: async () => {
        beats += 1;
        const said = answer();
        if (said instanceof Error) throw said;
        return said;
      },
      cancelRequests: async () => [],
    },
    clock,
    nodeId: "node",
    leaseMs: MINUTE,
    beatMs: 15 * SECOND,
    groupCpuMs: cpuMs,
    report: (report) => reports.push(report),
  });
  const ended = loop.run();
  onTestFinished(async () => {
    loop.handle({ kind: "stop" });
    await ended;
  });
  return { clock, loop, reports, beats: () => beats };
}

const held = (): RenewAnswer[] => [{ claim, state: "held", cancelledBy: undefined }];
const add = (limits: { idle?: number; total?: number } = {}) =>
  ({
    kind: "add",
    runs: [{ claim, idleTimeoutMs: limits.idle ?? 0, totalTimeoutMs: limits.total ?? 0 }],
  }) as const;
const began = { kind: "began", runId: "run-1", processGroup: 7 } as const;

describe("heartbeats", () => {
  test("L4: beats every 15 s while a run is live, and not at all without one", async () => {
    const { clock, loop, beats } = watch(held);
    await clock.advance(MINUTE);
    expect(beats()).toBe(0);
    loop.handle(add());
    await clock.advance(MINUTE);
    expect(beats()).toBe(4);
  });

  test("L5: a refused renewal is reported once, and the run is watched no more", async () => {
    const { clock, loop, reports } = watch(() => [{ claim, state: "lost", cancelledBy: undefined }]);
    loop.handle(add());
    await clock.advance(MINUTE);
    expect(reports).toEqual([{ kind: "lost", runId: "run-1", why: "takenOver" }]);
  });

  test("L5: a store out of reach is waited for until five lease times have passed", async () => {
    const { clock, loop, reports } = watch(() => new Error("connection refused"));
    loop.handle(add());
    await clock.advance(5 * MINUTE - 16 * SECOND);
    expect(reports.filter(({ kind }) => kind === "lost")).toEqual([]);
    await clock.advance(31 * SECOND);
    expect(reports.filter(({ kind }) => kind === "lost")).toEqual([
      { kind: "lost", runId: "run-1", why: "noStore" },
    ]);
  });

  test("L5: a renewal that was answered after the run had ended says nothing about its next life", async () => {
    const { clock, loop, reports } = watch(() => {
      loop.handle({ kind: "remove", runIds: ["run-1"] });
      loop.handle({
        kind: "add",
        runs: [{ claim: { ...claim, token: 2 }, idleTimeoutMs: 0, totalTimeoutMs: 0 }],
      });
      return [{ claim, state: "lost", cancelledBy: undefined }];
    });
    loop.handle(add());
    await clock.advance(16 * SECOND);
    expect(reports).toEqual([]);
  });

  test("L11: a cancel request comes with the beat", async () => {
    const { clock, loop, reports } = watch(() => [{ claim, state: "held", cancelledBy: "cli:me" }]);
    loop.handle(add());
    await clock.advance(16 * SECOND);
    expect(reports).toEqual([{ kind: "cancel", runId: "run-1", by: "cli:me" }]);
  });
});

describe("limits", () => {
  test("L14: silence is measured, not time; a touch starts it afresh", async () => {
    const { clock, loop, reports } = watch(held);
    loop.handle(add({ idle: 10 * SECOND }));
    loop.handle(began);
    for (let step = 0; step < 5; step++) {
      await clock.advance(8 * SECOND);
      loop.handle({ kind: "touch", runId: "run-1" });
    }
    expect(reports).toEqual([]);
    await clock.advance(11 * SECOND);
    expect(reports).toMatchObject([{ kind: "timeout", runId: "run-1", limit: "idle", limitMs: 10 * SECOND }]);
  });

  test("L14: CPU time of the group is activity, a silent busy script is not idle", async () => {
    let cpuMs = 0;
    const { clock, loop, reports } = watch(held, () => {
      cpuMs += 100;
      return cpuMs;
    });
    loop.handle(add({ idle: 10 * SECOND }));
    loop.handle(began);
    await clock.advance(MINUTE);
    expect(reports).toEqual([]);
  });

  test("L14: a group that burns no CPU is idle", async () => {
    const { clock, loop, reports } = watch(held, () => 500);
    loop.handle(add({ idle: 10 * SECOND }));
    loop.handle(began);
    await clock.advance(20 * SECOND);
    expect(reports).toMatchObject([{ limit: "idle" }]);
  });

  test("a total limit counts from the begin, whatever the activity, and is reported once", async () => {
    const { clock, loop, reports } = watch(held);
    loop.handle(add({ total: 30 * SECOND }));
    await clock.advance(MINUTE);
    loop.handle(began);
    await clock.advance(29 * SECOND);
    loop.handle({ kind: "touch", runId: "run-1" });
    expect(reports).toEqual([]);
    await clock.advance(20 * SECOND);
    expect(reports).toMatchObject([{ kind: "timeout", limit: "total", limitMs: 30 * SECOND }]);
  });

  test("L14: a further process of the run is activity, and the total limit goes on from the first", async () => {
    const { clock, loop, reports } = watch(held);
    loop.handle(add({ idle: 20 * SECOND, total: 50 * SECOND }));
    loop.handle(began);
    await clock.advance(15 * SECOND);
    loop.handle({ ...began, processGroup: 4_712 });
    await clock.advance(15 * SECOND);
    expect(reports).toEqual([]);
    loop.handle({ kind: "touch", runId: "run-1" });
    await clock.advance(19 * SECOND);
    loop.handle({ kind: "touch", runId: "run-1" });
    await clock.advance(5 * SECOND);
    expect(reports).toMatchObject([{ kind: "timeout", limit: "total" }]);
  });

  test("L14: 0 is off", async () => {
    const { clock, loop, reports } = watch(held);
    loop.handle(add());
    loop.handle(began);
    await clock.advance(60 * MINUTE);
    expect(reports).toEqual([]);
  });
});
