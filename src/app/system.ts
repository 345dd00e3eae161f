// The real clock and the real randomness: the only place below the surfaces that touches them.

import { randomBytes, randomFillSync } from "node:crypto";
import { uptime } from "node:os";
import type { Random } from "../kernel/ids.ts";
import type { Clock } from "../kernel/time.ts";

/** Node's timers count in 32 bits; longer sleeps are cut, and every loop here looks again after waking. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Wall clock, monotonic clock (without suspend) and boot clock (with suspend) of this machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => Number(process.hrtime.bigint() / 1_000_000n),
  uptimeMs: () => Math.round(uptime() * 1_000),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal.reason);
      };
      const timer = setTimeout(
        () => {
          signal.removeEventListener("abort", onAbort);
          resolve();
        },
        Math.min(Math.max(0, ms), LONGEST_TIMER_MS),
      );
      signal.addEventListener("abort", onAbort, { once: true });
    }),
};

/** Drawn from the system a page at a time: a call for each id costs more than the row it names. */
const pool = new Uint8Array(4_096);
let poolUsed = pool.length;

/** Cryptographic randomness; no byte is given out twice. */
export const systemRandom: Random = (bytes) => {
  if (bytes > pool.length) return randomBytes(bytes);
  if (poolUsed + bytes > pool.length) {
    randomFillSync(pool);
    poolUsed = 0;
  }
  poolUsed += bytes;
  return pool.slice(poolUsed - bytes, poolUsed);
};

/** A number in [0, 1) from a random source. */
export function fraction(random: Random): number {
  const [high = 0, low = 0] = random(2);
  return (high * 256 + low) / 65_536;
}
