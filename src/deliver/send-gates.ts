// When a platform may be asked at all: a token bucket for its published rate, and a breaker for one that is down.
//
// I1. A gate never drops a message: it says how long to wait, and the row goes back to its queue.
// I2. Waiting behind a gate is no try: a platform that is down for a day must not use up a message's twelve tries.
// I3. Kept per process, since platforms count per credential and one node sends: after a restart a bucket is full again,
//     and the platform's own 429 has the last word.

import { backoffMs } from "../kernel/backoff.ts";
import { MINUTE, SECOND } from "../kernel/time.ts";
import type { Adapter, SendRate, SendResult, Target } from "../records/delivery.ts";
import { displayTarget } from "./targets.ts";

/** Failures in a row, over all targets of a platform, after which it is left alone for a while. */
const OPENS_AFTER = 5;
const REST = { delayMs: 30 * SECOND, factor: 2, maxDelayMs: 10 * MINUTE };

interface Gate {
  tokens: number;
  filledAtMs: number;
  failures: number;
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

/** What is asked to pass: a platform, or one host of it. */
export interface Passing {
  /** Equal ids share a gate. */
  gate: string;
  rate: SendRate | undefined;
}

/** The gate of a target. Undefined = it has none: this machine's own targets, and other homes. */
export function passingOf(adapter: Adapter | undefined, target: Target): Passing | undefined {
  if (!adapter || adapter.hasNoAddress || target.profile !== undefined) return undefined;
  // Each webhook is a server of its own; a platform's addresses are one server's.
  const isOwnServer = adapter.platform === "webhook" || target.url !== undefined;
  return { gate: isOwnServer ? displayTarget(target) : adapter.platform, rate: adapter.rate };
}

/** Gates by platform, one per outbox. Times are monotonic ms. */
export class SendGates {
  readonly #gates = new Map<string, Gate>();

  /** Takes a token if there is one, and the breaker allows it. */
  enter({ gate: platform, rate }: Passing, nowMs: number): Pass | Wait {
    const gate = this.#gateOf(platform, rate, nowMs);
    if (gate.openUntilMs !== undefined) {
      const waitMs = gate.openUntilMs - nowMs;
      if (waitMs > 0)
        return {
          kind: "wait",
          afterMs: Math.ceil(waitMs),
          why: `${platform} is down: ${gate.lastError ?? ""}`,
        };
      // Half open: this one goes through, the next ones wait for what it finds.
      gate.openUntilMs = nowMs + this.#restMs(gate);
    }
    if (!rate) return { kind: "pass" };
    const perToken = rate.perMs / rate.tokens;
    gate.tokens = Math.min(rate.tokens, gate.tokens + (nowMs - gate.filledAtMs) / perToken);
    gate.filledAtMs = nowMs;
    if (gate.tokens < 1) {
      const afterMs = Math.max(1, Math.ceil((1 - gate.tokens) * perToken));
      return { kind: "wait", afterMs, why: `${platform} takes ${rate.tokens} in ${rate.perMs} ms` };
    }
    gate.tokens -= 1;
    return { kind: "pass" };
  }

  /** What a try found. Answers that say the platform lives close the breaker; `refused` is such an answer. */
  note({ gate: platform }: Passing, result: SendResult, nowMs: number): void {
    const gate = this.#gates.get(platform);
    if (!gate) return;
    const isAlive = result.kind === "delivered" || result.kind === "refused" || isAskedToWait(result);
    if (isAlive) {
      gate.failures = 0;
      gate.openUntilMs = undefined;
      gate.lastError = undefined;
      return;
    }
    gate.failures += 1;
    gate.lastError = "error" in result ? result.error : undefined;
    if (gate.failures >= OPENS_AFTER) gate.openUntilMs = nowMs + this.#restMs(gate);
  }

  #restMs({ failures }: Gate): number {
    return backoffMs(Math.max(1, failures - OPENS_AFTER + 1), REST, 0.5);
  }

  #gateOf(platform: string, rate: SendRate | undefined, nowMs: number): Gate {
    const known = this.#gates.get(platform);
    if (known) return known;
    const gate: Gate = {
      tokens: rate?.tokens ?? 0,
      filledAtMs: nowMs,
      failures: 0,
      openUntilMs: undefined,
      lastError: undefined,
    };
    this.#gates.set(platform, gate);
    return gate;
  }
}

/** A platform that says when to come again is up. */
function isAskedToWait(result: SendResult): boolean {
  return result.kind === "retry" && result.afterMs !== undefined;
}
