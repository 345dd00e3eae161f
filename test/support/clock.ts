// A clock driven by hand: time moves only when a test says so, and sleepers wake in order of their instant.

import type { Clock, Instant } from "../../src/kernel/time.ts";

interface Sleeper {
  wakeAt: number;
  resolve: () => void;
}

export interface ManualClock extends Clock {
  /** Moves every clock forward and wakes what is due. */
  advance(ms: number): Promise<void>;
  /** Steps the wall clock only, as NTP or a person would; monotonic time and uptime do not move. */
  step(ms: number): void;
  /** Suspend: wall clock and uptime move, monotonic time does not. Wakes nobody by itself. */
  suspend(ms: number): void;
  /** How many sleepers wait: a test's sign that a loop has come to rest. */
  sleeping(): number;
  /** Resolves when at least `count` sleepers wait. */
  whenSleeping(count?: number): Promise<void>;
}

export function manualClock(start: Instant): ManualClock {
  let wall = start;
  let monotonic = 1_000_000;
  let uptime = 5_000_000;
  let sleepers: Sleeper[] = [];
  let watchers: { count: number; resolve: () => void }[] = [];

  const notifyWatchers = () => {
    const ready = watchers.filter((watcher) => sleepers.length >= watcher.count);
    watchers = watchers.filter((watcher) => !ready.includes(watcher));
    for (const watcher of ready) watcher.resolve();
  };

  return {
    now: () => wall,
    monotonicMs: () => monotonic,
    uptimeMs: () => uptime,
    sleep(ms, signal) {
      if (signal.aborted) return Promise.reject(signal.reason);
      return new Promise((resolve, reject) => {
        const sleeper: Sleeper = { wakeAt: monotonic + ms, resolve: () => {} };
        const onAbort = () => {
          sleepers = sleepers.filter((other) => other !== sleeper);
          reject(signal.reason);
        };
        sleeper.resolve = () => {
          signal.removeEventListener("abort", onAbort);
          resolve();
        };
        signal.addEventListener("abort", onAbort, { once: true });
        sleepers.push(sleeper);
        notifyWatchers();
      });
    },
    async advance(ms) {
      // Loops that were just woken go to sleep again first, or time would pass them by.
      await new Promise((resolve) => setImmediate(resolve));
      const end = monotonic + ms;
      for (;;) {
        const due = sleepers
          .filter((sleeper) => sleeper.wakeAt <= end)
          .sort((a, b) => a.wakeAt - b.wakeAt)[0];
        if (!due) break;
        const delta = Math.max(0, due.wakeAt - monotonic);
        monotonic += delta;
        wall += delta;
        uptime += delta;
        sleepers = sleepers.filter((other) => other !== due);
        due.resolve();
        await new Promise((resolve) => setImmediate(resolve));
      }
      const rest = end - monotonic;
      monotonic += rest;
      wall += rest;
      uptime += rest;
    },
    step(ms) {
      wall += ms;
    },
    suspend(ms) {
      wall += ms;
      uptime += ms;
    },
    sleeping: () => sleepers.length,
    whenSleeping(count = 1) {
      if (sleepers.length >= count) return Promise.resolve();
      return new Promise((resolve) => {
        watchers.push({ count, resolve });
      });
    },
  };
}
