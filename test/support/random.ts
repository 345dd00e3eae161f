// Randomness that repeats: ids in tests sort by birth and differ, and a seed gives the same ones again.

import type { Random } from "../../src/kernel/ids.ts";

/** A small generator (mulberry32) behind the `Random` port. */
export function seededRandom(seed = 1): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  return (bytes) => Uint8Array.from({ length: bytes }, () => next() & 255);
}
