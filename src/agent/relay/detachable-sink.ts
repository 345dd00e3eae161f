// A sink that may break without anybody noticing but the log: what throws, hangs or is full is let go, once (S4).
//
// I1. `put` never throws and never waits: the call that is observed goes on unchanged.
// I2. After the first failure nothing more is handed over: a broken sink costs one report, not one per call.

import type { Clock } from "../../kernel/time.ts";

export interface DetachableSink<Value> {
  put(value: Value): void;
  /** Resolves when everything put so far was taken, or the sink is detached. Never rejects; bounded (I2). */
  settled(): Promise<void>;
  isDetached(): boolean;
}

export interface DetachDeps {
  clock: Pick<Clock, "sleep">;
  /** Told once, when the sink is let go. Must not throw. */
  report(error: unknown): void;
}

/** Long enough for a busy disk, short enough that no run waits for its observer. @source S4 */
export const SINK_TIMEOUT_MS = 2_000;

export function detachable<Value>(
  sink: (value: Value) => void | Promise<void>,
  { clock, report }: DetachDeps,
): DetachableSink<Value> {
  let isDetached = false;
  const pending = new Set<Promise<void>>();
  const detach = (error: unknown) => {
    if (isDetached) return;
    isDetached = true;
    report(error);
  };
  return {
    put(value) {
      if (isDetached) return;
      try {
        const taking = sink(value);
        if (!taking) return;
        const watched = within(taking, clock)
          .catch(detach)
          .then(() => {
            pending.delete(watched);
          });
        pending.add(watched);
      } catch (error) {
        detach(error);
      }
    },
    async settled() {
      while (pending.size > 0) await Promise.all(pending);
    },
    isDetached: () => isDetached,
  };
}

/** Rejects when `work` takes longer than the bound. Its timer goes with it. */
async function within(work: Promise<void>, clock: Pick<Clock, "sleep">): Promise<void> {
  const timer = new AbortController();
  const late = clock.sleep(SINK_TIMEOUT_MS, timer.signal).then(
    () => {
      throw new Error(`it took nothing for ${SINK_TIMEOUT_MS} ms`);
    },
    () => {},
  );
  try {
    await Promise.race([work, late]);
  } finally {
    timer.abort();
    late.catch(() => {});
    // A sink that fails after it was let go fails alone.
    work.catch(() => {});
  }
}
