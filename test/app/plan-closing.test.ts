import { describe, expect, test } from "vitest";
import { type ClosingInput, planClosing } from "../../src/app/plan-closing.ts";
import type { Outcome } from "../../src/records/outcome.ts";
import type { Run } from "../../src/records/run.ts";

const NOW = Date.UTC(2026, 10, 29, 6);

const failed = (code: string, exitCode?: number): Outcome => ({
  state: "failed",
  error: { code, message: code, ...(exitCode !== undefined && { exitCode }) },
});
const timedOut: Outcome = {
  state: "timedOut",
  limit: "idle",
  limitMs: 1,
  lastActivity: "stdout",
  lastActivityAt: NOW,
};
const unknown: Outcome = { state: "unknown", why: "node died" };
const stopped: Outcome = { state: "cancelled", by: "nodeStopped" };

function input(
  outcome: Outcome,
  patch: Partial<ClosingInput> & { effects?: Run["effects"] } = {},
): ClosingInput {
  const { effects = "external", ...rest } = patch;
  return {
    run: { effects, idempotencyKey: "key" } as Run,
    outcome,
    hasBegun: true,
    retry: { max: 2, delayMs: 1_000, backoff: 2, maxDelayMs: 60_000, on: [], notOn: [] },
    attempts: [{ attempt: 1, trigger: "schedule" }],
    finishedAt: NOW,
    nextId: "next",
    random: 0.5,
    ...rest,
  };
}

const only = (words: Partial<ClosingInput["retry"]>) => ({ retry: { ...input(unknown).retry, ...words } });

describe("what an outcome means for the row", () => {
  test.each<[string, ClosingInput, string, string | undefined]>([
    [
      "L1: a check that fails before anything began is blocked",
      input(failed("preflight"), { hasBegun: false }),
      "blocked",
      "preflight",
    ],
    ["the same failure later is failed", input(failed("exit", 3)), "failed", "exit"],
    [
      "silence is a success",
      input({ state: "succeeded", output: "", isSilent: true }),
      "succeeded",
      "silent",
    ],
    ["a time-out names its limit", input(timedOut), "timedOut", "idle"],
    ["law 4: unknown stays unknown", input(unknown), "unknown", "node died"],
    ["L13: a stop says so", input(stopped), "cancelled", "nodeStopped"],
  ])("%s", (_title, closing, state, reason) => {
    expect(planClosing(closing)).toMatchObject({ state, reason });
  });
});

describe("whether another attempt follows", () => {
  test.each<[string, ClosingInput, boolean]>([
    ["L6: failed is retried", input(failed("exit", 1)), true],
    ["L6: a time-out is retried", input(timedOut), true],
    [
      "L6: not beyond max",
      input(failed("exit", 1), {
        attempts: [
          { attempt: 1, trigger: "schedule" },
          { attempt: 2, trigger: "retry" },
          { attempt: 3, trigger: "retry" },
        ],
      }),
      false,
    ],
    [
      "L6: a rerun is no retry and costs none",
      input(failed("exit", 1), {
        attempts: [
          { attempt: 1, trigger: "schedule" },
          { attempt: 2, trigger: "rerun" },
          { attempt: 3, trigger: "rerun" },
        ],
      }),
      true,
    ],
    ["L6: on: exit:75 answers only that code", input(failed("exit", 1), only({ on: ["exit:75"] })), false],
    ["L6: on: exit:75 answers it", input(failed("exit", 75), only({ on: ["exit:75"] })), true],
    ["L6: on: timeout leaves failures alone", input(failed("exit", 1), only({ on: ["timeout"] })), false],
    ["L6: notOn wins", input(failed("exit", 2), only({ notOn: ["exit:2"] })), false],
    [
      "L6: unavailable is a word of its own",
      input(failed("unavailable"), only({ on: ["unavailable"] })),
      true,
    ],
    ["a cancel is never retried", input({ state: "cancelled", by: "me" }), false],
    [
      "a blocked run is never retried: nothing would change by itself",
      input(failed("preflight"), { hasBegun: false }),
      false,
    ],
    ["law 4: unknown and external asks a person", input(unknown), false],
    ["law 4: unknown and idempotent runs again", input(unknown, { effects: "idempotent" }), true],
    ["law 4: unknown without effects runs again", input(unknown, { effects: "none" }), true],
    [
      "L6: at most twice",
      input(unknown, {
        effects: "none",
        attempts: [
          { attempt: 1, trigger: "schedule" },
          { attempt: 2, trigger: "rerun" },
          { attempt: 3, trigger: "rerun" },
        ],
      }),
      false,
    ],
    ["L13: a stop queues idempotent work again", input(stopped, { effects: "idempotent" }), true],
    ["L13: a stop does not repeat external work", input(stopped), false],
  ])("%s", (_title, closing, follows) => {
    expect(planClosing(closing).next !== undefined).toBe(follows);
  });

  test("L6: retries wait, longer each time, under the same key; a rerun is due at once", () => {
    const second = planClosing(
      input(failed("exit", 1), {
        attempts: [
          { attempt: 1, trigger: "schedule" },
          { attempt: 2, trigger: "retry" },
        ],
      }),
    );

    expect(planClosing(input(failed("exit", 1))).next).toEqual({
      id: "next",
      idempotencyKey: "key",
      trigger: "retry",
      readyAt: NOW + 1_000,
    });
    expect(second.next?.readyAt).toBe(NOW + 2_000);
    expect(planClosing(input(unknown, { effects: "none" })).next).toEqual({
      id: "next",
      idempotencyKey: "key",
      trigger: "rerun",
      readyAt: NOW,
    });
  });
});
