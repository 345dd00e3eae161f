// Something that is done again and again while a node lives, one at a time, whatever happens to one of its turns.

import { messageOf } from "../kernel/errors.ts";
import type { Log } from "../kernel/log.ts";
import type { Clock } from "../kernel/time.ts";

export interface RepeatingOptions {
  what: string;
  everyMs: number;
  clock: Clock;
  log: Log;
  work(signal: AbortSignal): Promise<void>;
}

export class Repeating {
  readonly #options: RepeatingOptions;
  readonly #stop = new AbortController();
  #loop: Promise<void> | undefined;

  constructor(options: RepeatingOptions) {
    this.#options = options;
  }

  /** The first turn comes after one interval. Idempotent. */
  start(): void {
    this.#loop ??= this.#run();
  }

  /** Resolves when a turn under way has ended. Idempotent. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error("stopped"));
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { clock, log, everyMs, what, work } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await clock.sleep(everyMs, signal).catch(() => {});
      if (signal.aborted) return;
      try {
        await work(signal);
      } catch (error) {
        log.warn(`${what}-failed`, { error: messageOf(error) });
      }
    }
  }
}
