// Whether another machine can be given tasks, by what it answered (W5). Pure.
//
// I1. A 503, a refused connection and a failed call count at once; a time-out is a strike, and three in a row count.
// I2. Whatever answers well is online again at once.

import type { Instant } from "../../kernel/time.ts";

export interface MachineHealth {
  state: "unknown" | "online" | "offline";
  since: Instant;
  reason: string | undefined;
  /** Time-outs in a row. */
  strikes: number;
  checkedAt: Instant | undefined;
  roundTripMs: number | undefined;
  skewMs: number | undefined;
  /** The round trip of the answer that `skewMs` is from. */
  skewTripMs: number | undefined;
}

/** What one request to it came to. */
export type Sign =
  | { kind: "well"; roundTripMs: number /** Its clock minus ours. */; skewMs: number | undefined }
  | { kind: "unwell"; reason: string }
  | { kind: "silent"; reason: string };

/** @source SEMANTICS W5 */
const MOST_STRIKES = 3;
/** A clock is asked anew after this time, even where the answer takes longer than the best one did. */
const SKEW_MS = 60_000;

export function newHealth(now: Instant): MachineHealth {
  return {
    ...{ state: "unknown", since: now, reason: undefined, strikes: 0 },
    ...{ checkedAt: undefined, roundTripMs: undefined, skewMs: undefined, skewTripMs: undefined },
  };
}

export function healthAfter(health: MachineHealth, sign: Sign, now: Instant): MachineHealth {
  if (sign.kind === "well") {
    const { roundTripMs, skewMs } = sign;
    const isSharper =
      health.skewTripMs === undefined ||
      roundTripMs <= health.skewTripMs ||
      now - (health.checkedAt ?? now) > SKEW_MS;
    const skew = skewMs !== undefined && isSharper ? { skewMs, skewTripMs: roundTripMs } : {};
    return {
      ...health,
      ...moved(health, "online", now),
      reason: undefined,
      strikes: 0,
      checkedAt: now,
      roundTripMs,
      ...skew,
    };
  }
  const strikes = sign.kind === "silent" ? health.strikes + 1 : 0;
  const isDown = sign.kind === "unwell" || strikes >= MOST_STRIKES || health.state === "offline";
  if (!isDown) return { ...health, strikes, checkedAt: now };
  return { ...health, ...moved(health, "offline", now), reason: sign.reason, strikes, checkedAt: now };
}

function moved(
  health: MachineHealth,
  state: MachineHealth["state"],
  now: Instant,
): Pick<MachineHealth, "state" | "since"> {
  return health.state === state ? { state, since: health.since } : { state, since: now };
}

export interface CheckTimes {
  /** How often it is asked when nothing else happens. @source SEMANTICS W5: 30 s. */
  healthMs: number;
  /** Calls under way. */
  calls: number;
}

/** While tasks run there, or it has begun to be silent, it is looked at more closely. */
const CLOSE_MS = 1_000;
/** A machine that is busy for a moment is not down, however often it is asked. */
const LEAST_PATIENCE_MS = 1_000;
const MOST_PATIENCE_MS = 5_000;

/** When to ask next, counted from the last answer. One that is down is asked more and more seldom, at most every `healthMs`. */
export function nextCheckMs(
  { state, strikes, since }: MachineHealth,
  now: Instant,
  times: CheckTimes,
): number {
  const { healthMs, calls } = times;
  if (state === "unknown" || strikes > 0) return 0;
  if (state === "offline") return Math.min(healthMs, Math.max(CLOSE_MS, (now - since) / 2));
  return calls > 0 ? Math.min(healthMs, CLOSE_MS) : healthMs;
}

/** How long an answer may take. */
export function checkPatienceMs(healthMs: number): number {
  return Math.min(Math.max(healthMs, LEAST_PATIENCE_MS), MOST_PATIENCE_MS);
}

/** The clock there minus the clock here, taking the way there for as long as the way back. */
export function skewOf(
  theirs: Instant,
  { sentAt, answeredAt }: { sentAt: Instant; answeredAt: Instant },
): number {
  return Math.round(theirs - (sentAt + answeredAt) / 2);
}
