// When a file has come to rest (D2): its size and mtime have not changed for a second.
//
// I1. Measured on the monotonic clock, so that a step of the wall clock neither hurries nor holds up a file.
// I2. A file last changed more than a second ago counts at first sight; one from the future has to be watched.

import type { BigIntStats } from "node:fs";
import type { Clock } from "../../kernel/time.ts";

/** @source SEMANTICS D2 */
export const SETTLE_MS = 1_000;

export interface Settling {
  /** How long until this file counts if it does not change again; 0 = it counts now. */
  remainingMs(name: string, stats: BigIntStats): number;
  /** Says that these bytes are whole: our own writes are. */
  trust(name: string, stats: BigIntStats): void;
  /** Forgets files that are gone. */
  keepOnly(names: ReadonlySet<string>): void;
}

/** Identifies what a file held: its size, times and inode. */
export function stampOf(stats: BigIntStats): string {
  return `${stats.size}:${stats.mtimeNs}:${stats.ino}`;
}

/** The memory of when each file was last seen to change. */
export function makeSettling(clock: Clock): Settling {
  const sightings = new Map<string, { stamp: string; sinceMs: number }>();
  return {
    remainingMs(name, stats) {
      const stamp = stampOf(stats);
      const known = sightings.get(name);
      if (clock.now() - Number(stats.mtimeMs) >= SETTLE_MS) return 0;
      if (known?.stamp === stamp) return Math.max(0, SETTLE_MS - (clock.monotonicMs() - known.sinceMs));
      sightings.set(name, { stamp, sinceMs: clock.monotonicMs() });
      return SETTLE_MS;
    },
    trust(name, stats) {
      sightings.set(name, { stamp: stampOf(stats), sinceMs: clock.monotonicMs() - SETTLE_MS });
    },
    keepOnly(names) {
      for (const name of sightings.keys()) if (!names.has(name)) sightings.delete(name);
    },
  };
}
