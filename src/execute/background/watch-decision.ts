// Which watched lines are told of, and when to stop (upstream.md 1.9). Pure: the state goes in and comes out, time is data.
//
// I1. At most one event in 15 s; what comes between is counted and told with the next one.
// I2. Three events in a row that left lines untold, or eight events in all, end the watching: from then on only the exit
//     is told. Lines that were not told of do not count towards the eight (hermes#15276, hermes#93513).
// I3. Nothing is told once watching has ended.

import type { Instant } from "../../kernel/time.ts";

/** @source upstream.md 1.9 */
export const EVENT_EVERY_MS = 15_000;
export const MOST_STRIKES = 3;
export const MOST_EVENTS = 8;
export const MOST_LINES = 20;

export interface WatchState {
  /** Events told so far. */
  events: number;
  lastEventAt: Instant | undefined;
  /** Matching lines since the last event that were not told of. */
  suppressed: number;
  strikes: number;
  /** Why watching has ended. */
  offWhy: "strikes" | "events" | "pattern" | undefined;
}

export const FRESH_WATCH: WatchState = {
  events: 0,
  lastEventAt: undefined,
  suppressed: 0,
  strikes: 0,
  offWhy: undefined,
};

export interface WatchEvent {
  number: number;
  /** At most 20. */
  lines: readonly string[];
  /** Matching lines that are not among them: those before this event, and those beyond the 20. */
  suppressed: number;
  /** This is the last one: why. */
  offWhy: WatchState["offWhy"];
}

/** `matched` = the matching lines that have come since the last decision. */
export function decideWatch(
  state: WatchState,
  { matched, now }: { matched: readonly string[]; now: Instant },
): { state: WatchState; event: WatchEvent | undefined } {
  if (state.offWhy !== undefined || matched.length === 0) return { state, event: undefined };
  const isEarly = state.lastEventAt !== undefined && now - state.lastEventAt < EVENT_EVERY_MS;
  if (isEarly)
    return { state: { ...state, suppressed: state.suppressed + matched.length }, event: undefined };
  const lines = matched.slice(0, MOST_LINES);
  const events = state.events + 1;
  const strikes = state.suppressed > 0 ? state.strikes + 1 : 0;
  const offWhy = strikes >= MOST_STRIKES ? "strikes" : events >= MOST_EVENTS ? "events" : undefined;
  const suppressed = state.suppressed + matched.length - lines.length;
  return {
    state: { events, lastEventAt: now, suppressed: 0, strikes, offWhy },
    event: { number: events, lines, suppressed, offWhy },
  };
}
