// Work that many changes ask for, done soon after the first of them and once for all that come meanwhile.

import { linkAbort } from "../kernel/abort.ts";
import type { Clock } from "../kernel/time.ts";

export interface ThrottledOptions {
  clock: Clock;
  /** Between two turns, from the beginning of one to that of the next. */
  leastMs: number;
  /** Never rejects. */
  work(): Promise<void>;
}

export class Throttled {
  readonly #options: ThrottledOptions;
  readonly #stop = linkAbort();
  #begunAtMs = Number.NEGATIVE_INFINITY;
  #turn: Promise<void> | undefined;
  #isAsked = false;

  constructor(options: ThrottledOptions) {
    this.#options = options;
  }

  /** Returns at once; after `stop` it does nothing. */
  nudge(): void {
    this.#isAsked = true;
    this.#turn ??= this.#run().finally(() => {
      this.#turn = undefined;
    });
  }

  /** Resolves when a turn under way has ended. Idempotent. */
  async stop(): Promise<void> {
    this.#stop.abort("stopped");
    await this.#turn;
  }

  async #run(): Promise<void> {
    const { clock, leastMs, work } = this.#options;
    const { signal } = this.#stop;
    while (this.#isAsked && !signal.aborted) {
      const waitMs = this.#begunAtMs + leastMs - clock.monotonicMs();
      if (waitMs > 0) await clock.sleep(waitMs, signal).catch(() => {});
      if (signal.aborted) return;
      this.#isAsked = false;
      this.#begunAtMs = clock.monotonicMs();
      await work();
    }
  }
}
