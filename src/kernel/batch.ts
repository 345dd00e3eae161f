// Group commit: calls that arrive while one flush is under way share the next one.
//
// I1. One fsync costs what many row writes cost, so callers add items one by one and the ledger sees arrays.
// I2. A failed flush rejects exactly the items it carried; later items start afresh.

export interface BatchOptions {
  /** Default 500. */
  maxItems?: number;
  /** Asked before each flush with how many wait; what it returns is waited for, so that more may join. Default: nothing. */
  gather?(waiting: number): Promise<void> | undefined;
}

/** Collects single items into batches for `flush`, which answers in the same order. */
export function makeBatch<Item, Answer>(
  flush: (items: Item[]) => Promise<Answer[]>,
  { maxItems = 500, gather }: BatchOptions = {},
): (item: Item) => Promise<Answer> {
  let waiting: { item: Item; resolve: (answer: Answer) => void; reject: (error: unknown) => void }[] = [];
  let isFlushing = false;

  async function drain(): Promise<void> {
    isFlushing = true;
    // One microtask turn lets every completion of this event-loop turn join the batch.
    await Promise.resolve();
    while (waiting.length > 0) {
      await gather?.(waiting.length);
      const batch = waiting.slice(0, maxItems);
      waiting = waiting.slice(maxItems);
      try {
        const answers = await flush(batch.map((entry) => entry.item));
        for (const [index, entry] of batch.entries()) entry.resolve(answers[index] as Answer);
      } catch (error) {
        for (const entry of batch) entry.reject(error);
      }
    }
    isFlushing = false;
  }

  return (item) =>
    new Promise<Answer>((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (!isFlushing) void drain();
    });
}
