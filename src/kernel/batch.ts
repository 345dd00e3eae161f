// Group commit: calls that arrive while one flush is under way share the next one.
//
// I1. One fsync costs what many row writes cost, so callers add items one by one and the ledger sees arrays.
// I2. A failed flush rejects exactly the items it carried; later items start afresh.

/** Collects single items into batches for `flush`, which answers in the same order. */
export function makeBatch<Item, Answer>(
  flush: (items: Item[]) => Promise<Answer[]>,
  maxItems = 500,
): (item: Item) => Promise<Answer> {
  let waiting: { item: Item; resolve: (answer: Answer) => void; reject: (error: unknown) => void }[] = [];
  let isFlushing = false;

  async function drain(): Promise<void> {
    isFlushing = true;
    // One microtask turn lets every completion of this event-loop turn join the batch.
    await Promise.resolve();
    while (waiting.length > 0) {
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
