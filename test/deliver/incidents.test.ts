import { describe, expect, test } from "vitest";
import { DEFAULT_ALERTS } from "../../src/deliver/incidents.ts";
import { type SettledRun, settleRun } from "../../src/deliver/settle.ts";
import { HOUR, MINUTE } from "../../src/kernel/time.ts";
import type { Streak } from "../../src/records/definition.ts";
import type { AlertLimits, Incident } from "../../src/records/incident.ts";
import type { Outcome } from "../../src/records/outcome.ts";
import { chat, context, failure, redact, runRow, START, success } from "./fixtures.ts";

const CALM: Streak = { failures: 0, cause: undefined, isAlerted: false };
const timeout: Outcome = {
  state: "timedOut",
  limit: "idle",
  limitMs: 600_000,
  lastActivity: "stdout",
  lastActivityAt: 0,
};

/** One job whose runs end one after the other, as closing transactions would settle them. */
function history(
  limits: Partial<AlertLimits> = {},
  { autoPause, toldByOthers = 0 }: { autoPause?: number; toldByOthers?: number } = {},
) {
  let streak = CALM;
  const incidents = new Map<string, Incident>();
  const job = {
    id: "disk-watch",
    name: "disk-watch",
    timezone: "Europe/Berlin",
    deliver: [],
    onFailure: [{ kind: "target", target: chat("alerts") } as const],
    autoPause,
  };
  const end = (outcome: Outcome, afterMs: number, parts: { isDigested?: boolean } = {}): SettledRun => {
    const at = START + afterMs;
    const told = [...incidents.values()].flatMap(({ toldAt }) =>
      toldAt !== undefined && toldAt > at - HOUR ? [toldAt] : [],
    );
    const settled = settleRun(
      {
        job,
        run: runRow({ state: outcome.state, finishedAt: at, id: `run-${afterMs}`, dedupeKey: `k${afterMs}` }),
        outcome,
        streak,
        isLastAttempt: true,
        incidents: {
          incidents: [...incidents.values()],
          toldLately: {
            count: told.length + toldByOthers,
            firstAt: toldByOthers > 0 ? START - 10 * MINUTE : told.toSorted((a, b) => a - b)[0],
          },
        },
        ...parts,
      },
      { route: context(), redact, alerts: { ...DEFAULT_ALERTS, ...limits } },
    );
    streak = settled.streak;
    for (const one of settled.incidents ?? []) incidents.set(one.id, one);
    return settled;
  };
  const kinds = (outcome: Outcome, afterMs: number) => {
    const { deliveries } = end(outcome, afterMs);
    return [...new Set(deliveries.map(({ kind }) => kind))].join() || "-";
  };
  return { end, kinds, incidents: () => [...incidents.values()] };
}

describe("incidents: what is wrong, as one thing with one cause", () => {
  test("O1: an incident opens with an alert, goes on in silence, and is over with a recovery", () => {
    const job = history();

    expect([
      job.kinds(failure("no route to 10.0.0.7"), 0),
      job.kinds(failure("no route to 10.0.0.9"), MINUTE),
      job.kinds(success("fine"), 2 * MINUTE),
    ]).toEqual(["alert", "-", "recovery"]);
    expect(job.incidents()).toMatchObject([
      {
        id: expect.stringMatching(/^disk-watch-[0-9a-f]{12}$/),
        state: "resolved",
        resolvedBy: "recovery",
        openings: 1,
        failures: 2,
        error: "failed: no route to 10.0.0.9",
        lastRunId: "run-60000",
        told: "working",
      },
    ]);
  });

  test("O1: another cause is another incident and an alert; going back and forth between two known ones is no news", () => {
    const job = history();

    expect([
      job.kinds(failure("disk full"), 0),
      job.kinds(timeout, MINUTE),
      job.kinds(failure("disk full"), 2 * MINUTE),
      job.kinds(timeout, 3 * MINUTE),
      job.kinds(success("fine"), 4 * MINUTE),
    ]).toEqual(["alert", "alert", "-", "-", "recovery"]);
    expect(job.incidents().map(({ state }) => state)).toEqual(["resolved", "resolved"]);
  });

  test("a flapping job is told of once in the cool-down; what comes back is held and told if it still fails then", () => {
    const job = history({ coolDownMs: HOUR });
    expect([job.kinds(failure("flaky"), 0), job.kinds(success("ok"), MINUTE)]).toEqual(["alert", "recovery"]);

    expect([job.kinds(failure("flaky"), 2 * MINUTE), job.kinds(failure("flaky"), 30 * MINUTE)]).toEqual([
      "-",
      "-",
    ]);
    expect(job.incidents()).toMatchObject([
      { state: "open", openings: 2, failures: 2, told: "working", tellAt: START + HOUR },
    ]);

    // It works again before anybody was told: nobody is told of that either, and nothing waits.
    expect(job.kinds(success("ok"), 40 * MINUTE)).toBe("-");
    expect(job.incidents()).toMatchObject([{ state: "resolved", tellAt: undefined }]);
  });

  test("after the cool-down the same cause is news again, and says how often it was seen", () => {
    const job = history({ coolDownMs: 10 * MINUTE });
    job.end(failure("flaky"), 0);
    job.end(success("ok"), MINUTE);

    const back = job.end(failure("flaky"), HOUR);

    expect(back.deliveries.map(({ body }) => body).join("")).toContain("It is back: seen 2 times since");
  });

  test("flood: beyond the hour's number alerts are held for one digest, and the last single one says so", () => {
    const last = history({ perHour: 3 }, { toldByOthers: 2 });
    const beyond = history({ perHour: 3 }, { toldByOthers: 3 });

    expect(
      last
        .end(failure("no"), 0)
        .deliveries.map(({ body }) => body)
        .join(""),
    ).toContain("further ones come as one message at 2026-11-29 07:50:00");
    expect(beyond.kinds(failure("no"), 0)).toBe("-");
    expect(beyond.incidents()).toMatchObject([
      { state: "open", told: undefined, tellAt: START - 10 * MINUTE + HOUR },
    ]);
  });

  test("flood: a recovery that people wait for is held as well, never dropped", () => {
    const job = history({ perHour: 1 });
    job.end(failure("no"), 0);

    expect(job.kinds(success("ok"), MINUTE)).toBe("-");
    expect(job.incidents()).toMatchObject([{ state: "resolved", told: "failing", tellAt: START + HOUR }]);
  });

  test("a restart's digest of unknown runs is held back by nothing, and counts as told", () => {
    const job = history({ perHour: 1 }, { toldByOthers: 9 });

    const settled = job.end({ state: "unknown", why: "its node died" }, 0, { isDigested: true });

    expect(settled).toMatchObject({ deliveries: [], isNews: true });
    expect(job.incidents()).toMatchObject([{ told: "failing" }]);
  });

  test("D4: after so many failures in a row the job is paused, and that is told whatever people know", () => {
    const job = history({ perHour: 1 }, { autoPause: 3 });

    const ends = [0, 1, 2].map((n) => job.end(failure("no"), n * MINUTE));

    expect(ends.map(({ pause }) => pause)).toEqual([
      undefined,
      undefined,
      { reason: "3 failures in a row, the last: failed: no" },
    ]);
    expect(ends.map(({ deliveries }) => deliveries.length > 0)).toEqual([true, false, true]);
    expect(ends[2]?.deliveries.map(({ body }) => body).join("")).toContain(
      "nightshift job resume disk-watch",
    );
    expect(job.end(failure("no"), 4 * MINUTE).pause).toBeUndefined();
    expect(job.end(failure("no"), 5 * MINUTE).pause).toBeUndefined();
    expect(job.end(failure("no"), 6 * MINUTE).pause).toMatchObject({ reason: /^6 failures/ });
  });

  test("a job whose every failure reads differently keeps no more than twenty open incidents", () => {
    const job = history({ perHour: 1 });
    const words = Array.from(
      { length: 30 },
      (_, n) => `cause ${String.fromCharCode(97 + (n % 26)).repeat(1 + n)}`,
    );

    for (const [n, word] of words.entries()) job.end(failure(word), n * MINUTE);

    const states = job.incidents().map(({ state, resolvedBy }) => `${state} ${resolvedBy ?? ""}`.trim());
    expect(states.filter((state) => state === "open")).toHaveLength(20);
    expect(states.filter((state) => state === "resolved superseded")).toHaveLength(10);
  });

  test("what a person knows already is told no more, but its end is", () => {
    const job = history();
    job.end(failure("no"), 0);
    const [known] = job.incidents();
    if (!known) throw new Error("no incident");
    const facts = {
      incidents: [{ ...known, state: "acknowledged" as const }],
      toldLately: { count: 0, firstAt: undefined },
    };
    const settle = (outcome: Outcome) =>
      settleRun(
        {
          job: {
            id: "disk-watch",
            name: "disk-watch",
            timezone: "UTC",
            deliver: [],
            onFailure: [{ kind: "target", target: chat("alerts") }],
          },
          run: runRow({ state: outcome.state }),
          outcome,
          streak: { failures: 1, cause: "x", isAlerted: false },
          isLastAttempt: true,
          incidents: facts,
        },
        { route: context(), redact },
      );

    expect(settle(failure("no"))).toMatchObject({
      deliveries: [],
      incidents: [{ state: "acknowledged", failures: 2 }],
    });
    expect(settle(success("ok")).deliveries.map(({ kind }) => kind)).toContain("recovery");
  });
});
