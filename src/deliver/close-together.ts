// Receipts that come at about the same time are written together: one transaction for all of them.
//
// I1. A closing is written when this turn of the event loop is over, with all answers that had arrived; those that come
//     while others are written go with the next.
// I2. Each caller learns its own answer. A store that failed has failed for all of a batch: each decides for itself.

import type { DeliveryClosing, OutboxLedger } from "../records/ledger/outbox.ts";

type Answer = "closed" | "lost";

interface Waiting {
  closing: DeliveryClosing;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/** Rejects with the store's faults. */
export function closeTogether(
  close: OutboxLedger["closeDeliveries"],
): (closing: DeliveryClosing) => Promise<Answer> {
  let waiting: Waiting[] = [];
  let isWriting = false;
  const write = async () => {
    isWriting = true;
    while (waiting.length > 0) {
      await new Promise((resolve) => setImmediate(resolve));
      const batch = waiting;
      waiting = [];
      try {
        const answers = await close(batch.map(({ closing }) => closing));
        for (const [index, { resolve }] of batch.entries()) resolve(answers[index] ?? "lost");
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    isWriting = false;
  };
  return (closing) =>
    new Promise((resolve, reject) => {
      waiting.push({ closing, resolve, reject });
      if (!isWriting) void write();
    });
}
