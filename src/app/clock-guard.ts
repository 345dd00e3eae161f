// Whether the wall clock can be believed (T8): compares it with boot time, which counts suspend and cannot be set.
//
// I1. Nothing beyond a forward step is decided until the step has held 60 s; till then time goes on as before it.
// I2. A backward step is believed at once; the caller rewinds the cursors.
// I3. A suspended laptop is late, not stepped: boot time slept along with the wall clock.

import { type Instant, MINUTE } from "../kernel/time.ts";

/** A smaller difference is ordinary slewing and is followed silently. @source SEMANTICS T8 */
const STEP_MS = MINUTE;
const HOLD_MS = MINUTE;

export interface ClockGuardState {
  /** Wall time minus boot time, as believed. */
  offsetMs: number;
  /** A forward step that has not held long enough. */
  pending: { offsetMs: number; sinceUptimeMs: number } | undefined;
}

export type ClockEvent = { kind: "held" | "accepted" | "withdrawn" | "steppedBack"; byMs: number };

export interface Observation {
  state: ClockGuardState;
  /** Slots up to here may be decided. */
  trustedNow: Instant;
  event: ClockEvent | undefined;
}

/** One look at both clocks. Without a state (first look) the wall clock is believed. */
export function observeClock(
  state: ClockGuardState | undefined,
  clocks: { wall: Instant; uptimeMs: number },
): Observation {
  const offsetMs = clocks.wall - clocks.uptimeMs;
  const believe = (event?: ClockEvent): Observation => ({
    state: { offsetMs, pending: undefined },
    trustedNow: clocks.wall,
    event,
  });
  if (!state) return believe();
  const byMs = offsetMs - state.offsetMs;
  if (byMs < -STEP_MS) return believe({ kind: "steppedBack", byMs });
  if (byMs <= STEP_MS)
    return believe(state.pending && { kind: "withdrawn", byMs: state.pending.offsetMs - state.offsetMs });
  return observeForwardStep(state, clocks, byMs);
}

function observeForwardStep(
  state: ClockGuardState,
  clocks: { wall: Instant; uptimeMs: number },
  byMs: number,
): Observation {
  const offsetMs = clocks.wall - clocks.uptimeMs;
  const isSameStep = state.pending !== undefined && Math.abs(offsetMs - state.pending.offsetMs) <= STEP_MS;
  const pending = isSameStep && state.pending ? state.pending : { offsetMs, sinceUptimeMs: clocks.uptimeMs };
  if (clocks.uptimeMs - pending.sinceUptimeMs >= HOLD_MS) {
    return {
      state: { offsetMs, pending: undefined },
      trustedNow: clocks.wall,
      event: { kind: "accepted", byMs },
    };
  }
  return {
    state: { offsetMs: state.offsetMs, pending },
    trustedNow: clocks.uptimeMs + state.offsetMs,
    event: isSameStep ? undefined : { kind: "held", byMs },
  };
}

/** When the guard wants to look again because a step is pending; undefined = no need. */
export function guardLooksAgainInMs(state: ClockGuardState, uptimeMs: number): number | undefined {
  return state.pending && Math.max(1, state.pending.sinceUptimeMs + HOLD_MS - uptimeMs);
}
