// When a platform may be asked at all: a token bucket for its published rate, and a breaker for one that is down.
//
// I1. A gate never drops a message: it says how long to wait, and the row goes back to its queue.
// I2. Waiting behind a gate is no try: a platform that is down for a day must not use up a message's twelve tries.
// I3. Kept per process, since platforms count per credential and one node sends: after a restart a bucket is full again,
//     and the platform's own 429 has the last word.

import { backoffMs } from "../kernel/backoff.ts";
import { formatDuration, MINUTE, SECOND } from "../kernel/time.ts";
import type { Adapter, SendRate, SendResult, Target } from "../records/delivery.ts";
import { displayTarget } from "./targets.ts";

/** Failures in a row, over all targets of a platform, after which it is left alone for a while. */
const OPENS_AFTER = 5;
const REST = { delayMs: 30 * SECOND, factor: 2, maxDelayMs: 10 * MINUTE };

interface Bucket {
  tokens: number;
  filledAtMs: number;
}

interface Breaker {
  /** In a row, while it was closed. */
  failures: number;
  /** How often it has opened: each one that finds nobody doubles the next. */
  rests: number;
  /** When the breaker lets one try through; undefined = it is closed. */
  openUntilMs: number | undefined;
  lastError: string | undefined;
}

export interface Pass {
  kind: "pass";
}

/** `why` is for the log; `afterMs` is at least 1. */
export interface Wait {
  kind: "wait";
  afterMs: number;
  why: string;
}

/** What is asked to pass. Equal words share a breaker, or a bucket. */
export interface Passing {
  platform: string;
  bucket: string;
  rate: SendRate | undefined;
}

/** The gates of a target. Undefined = it has none: this machine's own targets, and other homes. */
export function passingOf(adapter: Adapter | undefined, target: Target): Passing | undefined {
  if (!adapter || adapter.hasNoAddress || target.profile !== undefined) return undefined;
  // Each webhook is a server of its own; a platform's addresses are one server's.
  const isOwnServer = adapter.platform === "webhook" || target.url !== undefined;
  const platform = isOwnServer ? displayTarget(target) : adapter.platform;
  const bucket = adapter.rate?.isShared ? platform : `${adapter.platform}:${target.url ?? target.chat ?? ""}`;
  return { platform, bucket, rate: adapter.rate };
}

/** Buckets by chat and breakers by platform, one set per outbox. Times are monotonic ms. */
export class SendGates {
  readonly #buckets = new Map<string, Bucket>();
  readonly #breakers = new Map<string, Breaker>();

  /** Takes a token if there is one, and the breaker allows it. */
  enter(passing: Passing, nowMs: number): Pass | Wait {
    const wait = this.#askBreaker(passing.platform, nowMs);
    return wait ?? this.#takeToken(passing, nowMs);
  }

  /** What a try found. Answers that say the platform lives close the breaker; `refused` is such an answer. */
  note({ platform }: Passing, result: SendResult, nowMs: number): void {
    const isAlive = result.kind === "delivered" || result.kind === "refused" || isAskedToWait(result);
    if (isAlive) return void this.#breakers.delete(platform);
    const breaker = this.#breakers.get(platform) ?? {
      failures: 0,
      rests: 0,
      openUntilMs: undefined,
      lastError: undefined,
    };
    this.#breakers.set(platform, breaker);
    breaker.lastError = "error" in result ? result.error : undefined;
    // Sends that were on their way when it opened tell of the same outage, and the half-open try's rest has begun already.
    if (breaker.openUntilMs !== undefined) return;
    breaker.failures += 1;
    if (breaker.failures >= OPENS_AFTER) open(breaker, nowMs);
  }

  #askBreaker(platform: string, nowMs: number): Wait | undefined {
    const breaker = this.#breakers.get(platform);
    if (breaker?.openUntilMs === undefined) return undefined;
    const waitMs = breaker.openUntilMs - nowMs;
    if (waitMs > 0)
      return {
        kind: "wait",
        afterMs: Math.ceil(waitMs),
        why: `${platform} is down: ${breaker.lastError ?? ""}`,
      };
    // Half open: this one goes through, the next ones wait for what it finds.
    open(breaker, nowMs);
    return undefined;
  }

  #takeToken({ bucket: name, rate, platform }: Passing, nowMs: number): Pass | Wait {
    if (!rate) return { kind: "pass" };
    const bucket = this.#buckets.get(name) ?? { tokens: rate.tokens, filledAtMs: nowMs };
    this.#buckets.set(name, bucket);
    const perToken = rate.perMs / rate.tokens;
    bucket.tokens = Math.min(rate.tokens, bucket.tokens + (nowMs - bucket.filledAtMs) / perToken);
    bucket.filledAtMs = nowMs;
    if (bucket.tokens < 1) {
      const afterMs = Math.max(1, Math.ceil((1 - bucket.tokens) * perToken));
      return {
        kind: "wait",
        afterMs,
        why: `${platform} takes ${rate.tokens} in ${formatDuration(rate.perMs)}`,
      };
    }
    bucket.tokens -= 1;
    return { kind: "pass" };
  }
}

function open(breaker: Breaker, nowMs: number): void {
  breaker.rests += 1;
  breaker.openUntilMs = nowMs + backoffMs(breaker.rests, REST, 0.5);
}

/** A platform that says when to come again is up. */
function isAskedToWait(result: SendResult): boolean {
  return result.kind === "retry" && result.afterMs !== undefined;
}
