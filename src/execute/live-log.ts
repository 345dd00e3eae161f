// A stream as lines of the run's live log: whole lines, redacted, and never more than the ledger should carry.
//
// I1. A line is emitted whole, so that a secret is not split over two events; a line over 8 kB, or an unfinished one
//     at the end, goes as it is.
// I2. A bucket bounds the rate (256 kB, refilled with 16 kB/s; an event costs at least 256 bytes). What does not fit
//     is counted and said, never silently dropped; the kept tail of the output is not affected.

import { withoutNul } from "./capture.ts";

const LINE_MAX = 8_192;
const EVENT_MAX = 32_768;
const BUCKET_BYTES = 262_144;
const REFILL_PER_MS = 16.384;
const EVENT_COST = 256;

export interface LiveLog {
  push(chunk: Uint8Array): void;
  /** Emits the unfinished line and the count of what was left out. */
  end(): void;
}

export interface LiveLogOptions {
  /** `leftOutBytes` tells how much was not shown before this text. */
  emit(data: { text: string; leftOutBytes?: number }): void;
  redact(text: string): string;
  monotonicMs(): number;
}

/** Turns chunks of bytes into bounded events of whole lines. */
export function makeLiveLog(options: LiveLogOptions): LiveLog {
  // Made for the first byte: most streams of most watchdogs stay empty.
  let decoder: { decode(chunk?: Uint8Array, options?: { stream?: boolean }): string } | undefined;
  let unfinished = "";
  let bucket = BUCKET_BYTES;
  let filledAt = options.monotonicMs();
  let leftOut = 0;

  /** Takes the cost of `bytes` from the bucket; false when it does not hold enough. */
  function take(bytes: number): boolean {
    const now = options.monotonicMs();
    bucket = Math.min(BUCKET_BYTES, bucket + (now - filledAt) * REFILL_PER_MS);
    filledAt = now;
    const cost = Math.max(bytes, EVENT_COST);
    if (cost > bucket) return false;
    bucket -= cost;
    return true;
  }

  function send(text: string): void {
    for (let start = 0; start < text.length; ) {
      let end = Math.min(start + EVENT_MAX, text.length);
      if (end < text.length) end = text.lastIndexOf("\n", end - 1) + 1 || end;
      const part = text.slice(start, Math.max(end, start + 1));
      start += part.length;
      if (!take(part.length)) leftOut += part.length;
      else {
        options.emit({
          text: options.redact(withoutNul(part)),
          ...(leftOut > 0 && { leftOutBytes: leftOut }),
        });
        leftOut = 0;
      }
    }
  }

  return {
    push(chunk) {
      // An empty bucket saves the decoding: 100 MB of output must not cost 100 MB of text.
      if (leftOut > 0 && !take(EVENT_COST)) {
        leftOut += chunk.length + unfinished.length;
        unfinished = "";
        return;
      }
      decoder ??= new TextDecoder("utf-8", { ignoreBOM: true });
      const text = unfinished + decoder.decode(chunk, { stream: true });
      const end = text.length > LINE_MAX && !text.includes("\n") ? text.length : text.lastIndexOf("\n") + 1;
      unfinished = text.slice(end);
      send(text.slice(0, end));
    },
    end() {
      send(unfinished + (decoder?.decode() ?? ""));
      unfinished = "";
      if (leftOut > 0) options.emit({ text: "", leftOutBytes: leftOut });
      leftOut = 0;
    },
  };
}
