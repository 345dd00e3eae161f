// Keeps the ledger in step with jobs/: looks when the folder changes, when something settles, and now and then.

import { linkAbort } from "../kernel/abort.ts";
import { messageOf } from "../kernel/errors.ts";
import { MINUTE } from "../kernel/time.ts";
import type { ReconcileResult } from "../store/files/reconcile.ts";
import type { Context } from "./context.ts";
import { syncDefinitions } from "./definition-sync.ts";
import { busyDelayMs } from "./until-stored.ts";

/** A look without a sign, in case a sign was lost. */
const LOOK_MS = MINUTE;

export class DefinitionWatch {
  readonly #context: Context;
  readonly #onChanged: () => void;
  readonly #stop = new AbortController();
  #state: ReconcileResult | undefined;
  #unwatch = () => {};
  #nap: ReturnType<typeof linkAbort> | undefined;
  #isDirty = false;
  #loop: Promise<void> | undefined;

  constructor(context: Context, onChanged: () => void) {
    this.#context = context;
    this.#onChanged = onChanged;
  }

  /** Resolves after the first look. A folder that cannot be read now is looked at again; it does not fail the start. */
  async start(): Promise<void> {
    this.#unwatch = this.#context.source.watch(() => this.#nudge());
    const waitMs = await this.#look();
    this.#loop = this.#run(waitMs);
  }

  async stop(): Promise<void> {
    this.#unwatch();
    this.#stop.abort(new Error("stopped"));
    await this.#loop;
  }

  /** One look by hand (`tick`). Throws what the store throws. */
  async syncOnce(): Promise<void> {
    const { state } = await syncDefinitions(this.#context, this.#state);
    this.#state = state;
  }

  #nudge(): void {
    this.#isDirty = true;
    this.#nap?.abort(new Error("changed"));
  }

  async #run(firstWaitMs: number): Promise<void> {
    let waitMs = firstWaitMs;
    while (!this.#stop.signal.aborted) {
      if (!this.#isDirty) await this.#sleep(waitMs);
      if (this.#stop.signal.aborted) return;
      waitMs = await this.#look();
    }
  }

  /** Returns when to look again. */
  async #look(): Promise<number> {
    this.#isDirty = false;
    try {
      const { applied, lookAgainInMs, state } = await syncDefinitions(this.#context, this.#state);
      this.#state = state;
      if (applied.length > 0) this.#onChanged();
      return Math.min(lookAgainInMs ?? LOOK_MS, LOOK_MS);
    } catch (error) {
      this.#context.log.warn("definition-sync-failed", { error: messageOf(error) });
      return busyDelayMs(this.#context.random);
    }
  }

  async #sleep(ms: number): Promise<void> {
    const nap = linkAbort(this.#stop.signal);
    this.#nap = nap;
    await this.#context.clock.sleep(ms, nap.signal).catch(() => {});
    nap.release();
    this.#nap = undefined;
  }
}
