// Redaction of text that arrives in pieces: a secret that is cut in two at a border is hidden all the same.
//
// I1. The pieces together are what redacting the whole text would give: nothing leaves before it is settled, and what is
//     settled leaves at once.
// I2. At most `MAX_HELD` characters are held back. What stays unsettled for longer (a key block without an end, a run
//     without a space) mutes the stream: the whole text reaches its readers by another way.

import { type Redact, settledIn } from "./redact.ts";

/** Longer than any key in PEM form that is in use (16,384-bit RSA: 13 kB). */
const MAX_HELD = 16_384;
const MUTED = "[the rest is not shown as it comes]";

export interface RedactStream {
  /** What may leave now, redacted; often "". */
  push(piece: string): string;
  /** The rest. The stream is empty afterwards and can be used again. */
  end(): string;
}

/** One per stream of text. */
export function makeRedactStream(redact: Redact): RedactStream {
  let held = "";
  let isMuted = false;
  return {
    push(piece) {
      if (isMuted) return "";
      held += piece;
      const { leaving, border } = settle(redact, held);
      held = held.slice(border);
      if (held.length <= MAX_HELD) return leaving;
      isMuted = true;
      held = "";
      return leaving + MUTED;
    },
    end() {
      const rest = redact(held);
      held = "";
      isMuted = false;
      return rest;
    },
  };
}

/** What may leave, and where it ends: nothing where that would cut a secret in two that lies across the border. */
function settle(redact: Redact, held: string): { leaving: string; border: number } {
  const border = settledIn(redact, held);
  if (border === 0) return { leaving: "", border };
  const leaving = redact(held.slice(0, border));
  if (border === held.length) return { leaving, border };
  const whole = redact(held);
  const isCut = whole !== held && leaving + redact(held.slice(border)) !== whole;
  return isCut ? { leaving: "", border: 0 } : { leaving, border };
}
