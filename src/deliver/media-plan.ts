// Which of a message's files a target gets, and what its text says of the others. Pure.
//
// I1. A file is sent, or named as not sent with the reason; none is dropped without a word.

import type { Adapter, Target } from "../records/delivery.ts";
import { formatBytes, type Media, type OutcomeMedia } from "../records/media.ts";

export interface MediaPlan {
  sent: readonly Media[];
  /** Lines for the end of the text. */
  notes: readonly string[];
  /** Some file is not sent here although it is kept: `local` holds it. */
  needsLocal: boolean;
}

/** For one target. */
export function planMedia(adapter: Adapter, target: Target, media: OutcomeMedia | undefined): MediaPlan {
  const { kept = [], refused = [] } = media ?? {};
  const judged = kept.map((one) => ({ one, why: whyNotSent(adapter, target, one) }));
  const unsent = judged.filter(({ why }) => why !== undefined);
  return {
    sent: judged.flatMap(({ one, why }) => (why === undefined ? [one] : [])),
    notes: [
      ...unsent.map(
        ({ one, why }) => `Not sent: ${one.name} (${formatBytes(one.bytes)}): ${why}; it is kept in local.`,
      ),
      ...refused.map(({ path, why }) => `Not sent: ${path}: ${why}.`),
    ],
    needsLocal: unsent.length > 0,
  };
}

function whyNotSent(adapter: Adapter, target: Target, media: Media): string | undefined {
  const limits = adapter.mediaLimits?.(target);
  if (!limits) return `${adapter.platform} takes no files here`;
  const { kinds, maxBytes } = limits;
  if (kinds && !kinds.includes(media.kind)) return `${adapter.platform} takes ${kinds.join(" and ")}s only`;
  return media.bytes > maxBytes ? `${adapter.platform} takes at most ${formatBytes(maxBytes)}` : undefined;
}
