// Tasks that other machines have done here: cancelled when nobody has asked for them for too long, and at their deadline.
//
// I1. Kept in memory alone: after a restart every task that is still open has its lease from then on.
// I2. Nothing ticks while no task is open.

import { linkAbort } from "../../kernel/abort.ts";
import { messageOf } from "../../kernel/errors.ts";
import { SECOND } from "../../kernel/time.ts";
import { CALLER_GONE, DEADLINE } from "../../orchestrate/remote/read-answer.ts";
import { isTerminal, type Run } from "../../records/run.ts";
import type { Context } from "../context.ts";

/** @source peers.md §5.2, 11: `event/<key>` (L2) for what comes from outside. */
export const REMOTE_KEY = "event/remote/";

const TICK_MS = SECOND;
const MOST_RUNS = 1_000;

interface Lease {
  leaseMs: number;
  renewedAtMs: number;
  /** On the monotonic clock; Infinity = none. */
  deadlineMs: number;
}

export class RemoteLeases {
  readonly #context: Pick<Context, "clock" | "ledger" | "log">;
  readonly #leases = new Map<string, Lease>();
  readonly #stop = linkAbort();
  #loop: Promise<void> | undefined;

  constructor(context: Pick<Context, "clock" | "ledger" | "log">) {
    this.#context = context;
  }

  /** (I1) */
  async adopt(): Promise<void> {
    const { ledger, clock } = this.#context;
    const open = await ledger.runs({
      state: ["queued", "waiting", "claimed", "running", "cancelling"],
      limit: MOST_RUNS,
    });
    const now = await ledger.now();
    for (const { dedupeKey, admission } of open) {
      if (!dedupeKey.startsWith(REMOTE_KEY) || !admission?.caller || this.#leases.has(dedupeKey)) continue;
      const { leaseMs, deadlineAt } = admission.caller;
      const leftMs = deadlineAt === undefined ? Number.POSITIVE_INFINITY : deadlineAt - now;
      this.#put(dedupeKey, {
        leaseMs,
        renewedAtMs: clock.monotonicMs(),
        deadlineMs: clock.monotonicMs() + leftMs,
      });
    }
  }

  /** Somebody has asked: it is wanted. `timeoutMs` of a task that begins, from now. */
  renew(run: Pick<Run, "dedupeKey" | "admission" | "state">, timeoutMs?: number): void {
    const { dedupeKey, admission, state } = run;
    if (isTerminal(state)) {
      this.#leases.delete(dedupeKey);
      return;
    }
    const nowMs = this.#context.clock.monotonicMs();
    const known = this.#leases.get(dedupeKey);
    if (known) known.renewedAtMs = nowMs;
    else if (admission?.caller)
      this.#put(dedupeKey, {
        leaseMs: admission.caller.leaseMs,
        renewedAtMs: nowMs,
        deadlineMs: timeoutMs === undefined ? Number.POSITIVE_INFINITY : nowMs + timeoutMs,
      });
  }

  async stop(): Promise<void> {
    this.#stop.abort("stopped");
    this.#leases.clear();
    await this.#loop;
  }

  #put(key: string, lease: Lease): void {
    this.#leases.set(key, lease);
    this.#loop ??= this.#run().finally(() => {
      this.#loop = undefined;
    });
  }

  async #run(): Promise<void> {
    const { clock, log } = this.#context;
    const { signal } = this.#stop;
    while (this.#leases.size > 0 && !signal.aborted) {
      await clock.sleep(TICK_MS, signal).catch(() => {});
      if (signal.aborted) return;
      await this.#tick().catch((error) => log.warn("remote-lease-failed", { error: messageOf(error) }));
    }
  }

  async #tick(): Promise<void> {
    const nowMs = this.#context.clock.monotonicMs();
    for (const [key, { leaseMs, renewedAtMs, deadlineMs }] of [...this.#leases]) {
      const by = nowMs >= deadlineMs ? DEADLINE : nowMs - renewedAtMs > leaseMs ? CALLER_GONE : undefined;
      if (by === undefined) continue;
      await this.#cancel(key, by);
      this.#leases.delete(key);
    }
  }

  async #cancel(key: string, by: string): Promise<void> {
    const { ledger, log } = this.#context;
    const newest = (await ledger.attempts(key)).at(-1);
    if (!newest || isTerminal(newest.state)) return;
    log.info("remote-task-cancelled", { runId: newest.id, by });
    await ledger.requestCancel(newest.id, by, await ledger.now());
    await ledger.wakeOthers();
  }
}
