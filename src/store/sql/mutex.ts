// One holder at a time, in order of arrival.

/** Waits for its turn; the returned function ends the turn (idempotent). */
export type Mutex = () => Promise<() => void>;

export function makeMutex(): Mutex {
  let last: Promise<void> = Promise.resolve();
  return async () => {
    const before = last;
    let release = () => {};
    last = new Promise<void>((resolve) => {
      release = resolve;
    });
    await before;
    return release;
  };
}
