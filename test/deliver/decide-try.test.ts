import { describe, expect, test } from "vitest";
import { decideTry, MAX_TRIES } from "../../src/deliver/decide-try.ts";
import { HOUR, MINUTE, SECOND } from "../../src/kernel/time.ts";
import { deliveryRow, START } from "./fixtures.ts";

const at = { now: START + 1_000, random: 0.5 };
const retry = { kind: "retry", error: "busy" } as const;
const base = { id: deliveryRow().id, token: 1, owner: "node-1" };

describe("what one try means for its row", () => {
  test("O3: delivered needs the platform's receipt, which is kept", () => {
    const receipt = { id: "m1", status: 200, at: START };

    expect(decideTry(deliveryRow(), { kind: "delivered", receipt }, at)).toEqual({
      ...base,
      kind: "delivered",
      receipt,
      finishedAt: at.now,
    });
  });

  test("a refusal is dead at once, with the reason", () => {
    expect(decideTry(deliveryRow(), { kind: "refused", error: "answered 410" }, at)).toEqual({
      ...base,
      kind: "dead",
      error: "answered 410",
      finishedAt: at.now,
    });
  });

  test.each([
    [1, 5 * SECOND],
    [2, 10 * SECOND],
    [5, 80 * SECOND],
    [11, HOUR],
  ])("O2: after try %i it waits about %i ms", (attempts, waitMs) => {
    const closing = decideTry(deliveryRow({ attempts }), retry, at);

    expect(closing).toMatchObject({ kind: "retry", nextAttemptAt: at.now + waitMs });
  });

  test("O2: jitter spreads the tries of rows that failed together", () => {
    const early = decideTry(deliveryRow(), retry, { ...at, random: 0 });
    const late = decideTry(deliveryRow(), retry, { ...at, random: 0.999 });

    expect(early).toMatchObject({ nextAttemptAt: at.now + 4_500 });
    expect(late).toMatchObject({ nextAttemptAt: at.now + 5_499 });
  });

  test("O2: the platform's own Retry-After replaces our guess, longer or shorter", () => {
    for (const afterMs of [0, 10 * MINUTE]) {
      expect(decideTry(deliveryRow(), { ...retry, afterMs }, at)).toMatchObject({
        kind: "retry",
        nextAttemptAt: at.now + afterMs,
      });
    }
    expect(decideTry(deliveryRow(), { ...retry, afterMs: 25 * HOUR }, at)).toMatchObject({ kind: "dead" });
  });

  test("O2: after 12 tries, or beyond 24 h, it is dead and says the last answer", () => {
    expect(decideTry(deliveryRow({ attempts: MAX_TRIES - 1 }), retry, at).kind).toBe("retry");
    expect(decideTry(deliveryRow({ attempts: MAX_TRIES }), retry, at)).toMatchObject({
      kind: "dead",
      error: "gave up after 12 tries: busy",
    });
    const late = { ...at, now: START + 24 * HOUR };
    expect(decideTry(deliveryRow({ attempts: 2 }), retry, late)).toMatchObject({
      kind: "dead",
      error: "gave up after 24 hours: busy",
    });
    expect(decideTry(deliveryRow({ attempts: 1 }), retry, late).kind).toBe("retry");
  });

  test.each([
    ["idempotent", "retry"],
    ["probe", "unknown"],
    ["blind", "unknown"],
  ] as const)("O3, PR 10361: a cut between request and receipt of a %s row is %s", (repeatability, kind) => {
    expect(decideTry(deliveryRow({ repeatability }), { kind: "unknown", error: "cut" }, at)).toMatchObject({
      kind,
      error: "cut",
    });
  });

  test("a novel as an error is kept as 500 characters", () => {
    const closing = decideTry(deliveryRow(), { kind: "refused", error: "x".repeat(9_000) }, at);

    expect("error" in closing && closing.error).toHaveLength(500);
  });
});
