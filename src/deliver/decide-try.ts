// What one try means for its row (O2, O3). Pure: values in, the closing out.
//
// I1. `unknown` work is sent again by itself only where the row was declared `idempotent`.
// I2. A row gives up after 12 tries or 24 h, and says what the last answer was.

import { backoffMs } from "../kernel/backoff.ts";
import { HOUR, type Instant, SECOND } from "../kernel/time.ts";
import type { Delivery, SendResult } from "../records/delivery.ts";
import type { DeliveryClosing } from "../records/ledger/outbox.ts";

export const MAX_TRIES = 12;
export const MAX_AGE_MS = 24 * HOUR;
const BACKOFF = { delayMs: 5 * SECOND, factor: 2, maxDelayMs: HOUR };
/** Longest reason kept with a row. */
const MAX_ERROR = 500;

/** The row's closing. `random` in [0,1) spreads the back-off; `attempts` counts this try. */
export function decideTry(
  row: Delivery,
  result: SendResult,
  at: { now: Instant; random: number },
): DeliveryClosing {
  const base = { id: row.id, token: row.token, owner: row.owner ?? "" };
  switch (result.kind) {
    case "delivered":
      return { ...base, kind: "delivered", receipt: result.receipt, finishedAt: at.now };
    case "refused":
      return { ...base, kind: "dead", error: clip(result.error), finishedAt: at.now };
    case "retry":
      return retryOrDie(row, result, at);
    case "unknown":
      return row.repeatability === "idempotent"
        ? retryOrDie(row, { error: result.error }, at)
        : { ...base, kind: "unknown", error: clip(result.error), finishedAt: at.now };
  }
}

/** A row whose platform is waited for: back to its queue without a try, or dead when it was tried and is too old (O2). */
export function decideWait(
  row: Delivery,
  { afterMs, why }: { afterMs: number; why: string },
  now: Instant,
): DeliveryClosing {
  const base = { id: row.id, token: row.token, owner: row.owner ?? "" };
  const nextAttemptAt = Math.ceil(now + afterMs);
  if (row.attempts > 1 && nextAttemptAt > row.createdAt + MAX_AGE_MS)
    return { ...base, kind: "dead", error: clip(`gave up after 24 hours: ${why}`), finishedAt: now };
  return { ...base, kind: "retry", error: clip(why), nextAttemptAt, isUntried: true };
}

function retryOrDie(
  row: Delivery,
  result: { error: string; afterMs?: number },
  { now, random }: { now: Instant; random: number },
): DeliveryClosing {
  const base = { id: row.id, token: row.token, owner: row.owner ?? "" };
  // A server's own word replaces our guess: sooner is allowed, earlier than asked is not.
  const waitMs = result.afterMs ?? backoffMs(row.attempts, BACKOFF, random);
  const nextAttemptAt = Math.ceil(now + waitMs);
  const isTooOften = row.attempts >= MAX_TRIES;
  // The first try is never the last: a node that was down for a day still gets a second one.
  const isTooOld = row.attempts > 1 && nextAttemptAt > row.createdAt + MAX_AGE_MS;
  const asksTooMuch = waitMs > MAX_AGE_MS;
  if (!isTooOften && !isTooOld && !asksTooMuch)
    return { ...base, kind: "retry", error: clip(result.error), nextAttemptAt };
  const why = isTooOften ? `gave up after ${MAX_TRIES} tries` : "gave up after 24 hours";
  return { ...base, kind: "dead", error: clip(`${why}: ${result.error}`), finishedAt: now };
}

function clip(error: string): string {
  return error.length <= MAX_ERROR ? error : `${error.slice(0, MAX_ERROR - 1)}…`;
}
