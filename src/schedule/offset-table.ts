// The UTC offsets of one zone over time, read from Intl once and kept as transitions.
//
// I1. Intl is asked only while a stretch of time is seen for the first time; afterwards an offset costs two look-ups.
// I2. A transition is the first instant at which the new offset holds, exact to the second.

import { DAY, type Instant, SECOND } from "../kernel/time.ts";

/** A change of a zone's offset. Offsets are milliseconds east of UTC. */
export interface Transition {
  at: Instant;
  offsetBefore: number;
  offsetAfter: number;
}

export interface OffsetTable {
  offsetAt(instant: Instant): number;
  /** The first transition with `after` < at ≤ `until`; undefined = none. */
  nextTransition(after: Instant, until: Instant): Transition | undefined;
}

interface Chunk {
  firstOffset: number;
  transitions: readonly Transition[];
}

const CHUNK_MS = 128 * DAY;
/** No zone has changed twice within two days and come back; pairs that differ are found. @source tzdb 1970–2025 */
const PROBE_MS = 2 * DAY;
const NO_TRANSITIONS: readonly Transition[] = [];

/** Builds the table lazily over `offsetOf`, the slow truth (milliseconds east of UTC at an instant). */
export function makeOffsetTable(offsetOf: (instant: Instant) => number): OffsetTable {
  const chunks = new Map<number, Chunk>();
  let lastIndex = Number.NaN;
  let lastChunk: Chunk = { firstOffset: 0, transitions: NO_TRANSITIONS };

  function chunkAt(index: number): Chunk {
    if (index === lastIndex) return lastChunk;
    let chunk = chunks.get(index);
    if (!chunk) {
      chunk = readChunk(index * CHUNK_MS, offsetOf);
      chunks.set(index, chunk);
    }
    lastIndex = index;
    lastChunk = chunk;
    return chunk;
  }

  return {
    offsetAt(instant) {
      const chunk = chunkAt(Math.floor(instant / CHUNK_MS));
      let offset = chunk.firstOffset;
      for (const transition of chunk.transitions) {
        if (transition.at > instant) break;
        offset = transition.offsetAfter;
      }
      return offset;
    },
    nextTransition(after, until) {
      const lastIndexNeeded = Math.floor(until / CHUNK_MS);
      for (let index = Math.floor(after / CHUNK_MS); index <= lastIndexNeeded; index++) {
        for (const transition of chunkAt(index).transitions) {
          if (transition.at > until) return undefined;
          if (transition.at > after) return transition;
        }
      }
      return undefined;
    },
  };
}

function readChunk(start: Instant, offsetOf: (instant: Instant) => number): Chunk {
  // A change at the very first instant of a chunk belongs to it, so probing begins one second before.
  const before = offsetOf(start - SECOND);
  const transitions: Transition[] = [];
  let low = start - SECOND;
  let offset = before;
  const end = start + CHUNK_MS - SECOND;
  while (low < end) {
    const high = Math.min(low + PROBE_MS, end);
    const offsetAtHigh = offsetOf(high);
    let from = low;
    while (offset !== offsetAtHigh) {
      const at = firstChange({ from, until: high, offset }, offsetOf);
      const offsetAfter = offsetOf(at);
      transitions.push({ at, offsetBefore: offset, offsetAfter });
      offset = offsetAfter;
      from = at;
    }
    low = high;
  }
  return { firstOffset: before, transitions };
}

function firstChange(
  range: { from: Instant; until: Instant; offset: number },
  offsetOf: (instant: Instant) => number,
): Instant {
  let same = range.from;
  let changed = range.until;
  while (changed - same > SECOND) {
    const middle = same + Math.floor((changed - same) / (2 * SECOND)) * SECOND;
    if (offsetOf(middle) === range.offset) same = middle;
    else changed = middle;
  }
  return changed;
}
