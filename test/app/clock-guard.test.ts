import { describe, expect, test } from "vitest";
import { type ClockGuardState, guardLooksAgainInMs, observeClock } from "../../src/app/clock-guard.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../../src/kernel/time.ts";

const WALL = Date.UTC(2026, 10, 29, 6);
const UPTIME = 10 * DAY;
const steady: ClockGuardState = { offsetMs: WALL - UPTIME, pending: undefined };

/** Both clocks `later` ms on, the wall clock additionally stepped by `step`. */
function look(state: ClockGuardState | undefined, later: number, step = 0) {
  return observeClock(state, { wall: WALL + later + step, uptimeMs: UPTIME + later });
}

describe("clock guard", () => {
  test("T8: a first look believes the wall clock, there is nothing to compare with", () => {
    expect(look(undefined, 0)).toEqual({ state: steady, trustedNow: WALL, event: undefined });
  });

  test("T8: slewing by less than a minute is followed without an event", () => {
    expect(look(steady, 10 * SECOND, 59 * SECOND)).toMatchObject({
      trustedNow: WALL + 69 * SECOND,
      event: undefined,
    });
  });

  test("T8: a laptop that slept eight hours is late, not stepped, since boot time slept along (hermes#30850)", () => {
    expect(look(steady, 8 * HOUR)).toEqual({ state: steady, trustedNow: WALL + 8 * HOUR, event: undefined });
  });

  test.each([HOUR, DAY])(
    "T8: a forward step of %d ms decides nothing beyond it until it has held 60 s",
    (step) => {
      const first = look(steady, SECOND, step);
      expect(first).toMatchObject({ trustedNow: WALL + SECOND, event: { kind: "held", byMs: step } });

      const later = look(first.state, 60 * SECOND, step);
      expect(later).toMatchObject({ trustedNow: WALL + 60 * SECOND, event: undefined });
      expect(guardLooksAgainInMs(later.state, UPTIME + 60 * SECOND)).toBe(SECOND);

      const held = look(later.state, 61 * SECOND, step);
      expect(held).toMatchObject({
        trustedNow: WALL + 61 * SECOND + step,
        event: { kind: "accepted", byMs: step },
      });
    },
  );

  test("T8: a forward step that is taken back within the minute leaves nothing behind", () => {
    const stepped = look(steady, SECOND, DAY);
    const back = look(stepped.state, 30 * SECOND);
    expect(back).toEqual({
      state: steady,
      trustedNow: WALL + 30 * SECOND,
      event: { kind: "withdrawn", byMs: DAY },
    });
  });

  test("T8: a second, different forward step starts its own minute", () => {
    const first = look(steady, SECOND, HOUR);
    const second = look(first.state, 50 * SECOND, DAY);
    expect(second.event).toEqual({ kind: "held", byMs: DAY });
    expect(look(second.state, 70 * SECOND, DAY).trustedNow).toBe(WALL + 70 * SECOND);
  });

  test.each([-HOUR, -DAY, -(MINUTE + 1)])(
    "T8: a backward step of %d ms is believed at once and reported",
    (step) => {
      expect(look(steady, SECOND, step)).toMatchObject({
        trustedNow: WALL + SECOND + step,
        event: { kind: "steppedBack", byMs: step },
      });
    },
  );
});
