// Telling other processes that runs have ended: soon, but not for each of many that end in a row.

import type { Context } from "./context.ts";

/** Followers (`run logs -f`, `--wait`, event streams) hear of an end at most this much later. */
const TELL_MS = 50;

export class Telling {
  readonly #context: Pick<Context, "clock" | "ledger">;
  readonly #stopping: AbortSignal;
  #isTelling = false;

  constructor(context: Pick<Context, "clock" | "ledger">, stopping: AbortSignal) {
    this.#context = context;
    this.#stopping = stopping;
  }

  /** Never rejects; calls during the wait share its end. */
  async tell(): Promise<void> {
    if (this.#isTelling) return;
    this.#isTelling = true;
    // While stopping it is told at once.
    await this.#context.clock.sleep(TELL_MS, this.#stopping).catch(() => {});
    this.#isTelling = false;
    await this.#context.ledger.wakeOthers();
  }
}
