// The outbox: takes rows that are due, sends them, and writes down what the platform said (law 5, O2, O3).
//
// I1. A row is sent only under a lease that is long enough for the whole try; a row held too long is given back unsent.
// I2. A receipt is not lost to a busy store: closing is tried until it is written, at a stop for the grace.
// I3. Targets are served in parallel; the order within one target is the ledger's (it hands out the oldest row only).
// I4. Nothing floats: every send is registered before it begins, and `stop` waits for all of them.

import { setMaxListeners } from "node:events";
import { linkAbort } from "../kernel/abort.ts";
import { backoffMs } from "../kernel/backoff.ts";
import { makeBatch } from "../kernel/batch.ts";
import { isFault, messageOf } from "../kernel/errors.ts";
import type { Random } from "../kernel/ids.ts";
import type { Log } from "../kernel/log.ts";
import type { Redact } from "../kernel/redact.ts";
import { type Clock, SECOND } from "../kernel/time.ts";
import type { Delivery } from "../records/delivery.ts";
import type { DeliveryClosing, OutboxLedger } from "../records/ledger/outbox.ts";
import { type AdapterTable, adapterFor } from "./adapter-table.ts";
import { decideTry, decideWait } from "./decide-try.ts";
import { type Passing, passingOf, SendGates } from "./send-gates.ts";
import { recoverRow, sendRow } from "./try-row.ts";

const LEASE_MS = 60 * SECOND;
/** A row that waited in this process longer than this (a stopped process, a starved loop) is not sent any more (I1). */
const MAX_HELD_MS = 10 * SECOND;
/** A message waits in this process for its platform's next token no longer than this: its lease must last. */
const MAX_GATE_WAIT_MS = 5 * SECOND;
const MAX_PARALLEL = 16;
/** A full outbox takes rows by as many, or what there is room for after this long: each taking is a transaction. */
const LEAST_TAKEN = 4;
const GATHER_MS = 20;
/** How long the loop rests at most; also how often dead owners' rows are looked for. */
const MAX_REST_MS = 15 * SECOND;
/** A due row that is not handed to us waits behind another of its target: look again ever more seldom, do not spin. */
const BLOCKED_REST = { delayMs: SECOND, factor: 2, maxDelayMs: MAX_REST_MS };
const STORE_BACKOFF = { delayMs: 100, factor: 2, maxDelayMs: 5 * SECOND };

export interface OutboxDeps {
  ledger: OutboxLedger;
  adapters: AdapterTable;
  clock: Clock;
  random: Random;
  log: Log;
  nodeId: string;
  /** The home's folder, which files are named from. */
  root: string;
  /** Applied to what is sent, and to platforms' answers before they are kept. */
  redact: Redact;
  /** Nodes known to be dead on this host (L4). Default: none, leases decide. */
  deadNodes?(): readonly string[] | Promise<readonly string[]>;
}

/** What a drain did, by how each try ended. */
export type DrainCounts = Record<DeliveryClosing["kind"], number>;

export class Outbox {
  readonly #deps: OutboxDeps;
  readonly #sends = new Map<string, Promise<void>>();
  readonly #gates = new SendGates();
  readonly #closeOne: (closing: DeliveryClosing) => Promise<"closed" | "lost">;
  /** Ends the loop; sends go on. */
  #stopping = new AbortController();
  /** Ends sends that outlive the grace. */
  #ending = new AbortController();
  #loop: Promise<void> | undefined;
  #wake: () => void = () => {};
  #isNudged = false;
  #gatheringSinceMs: number | undefined;
  #recoverAfterMs = Number.NEGATIVE_INFINITY;
  #counts: DrainCounts = { delivered: 0, retry: 0, dead: 0, unknown: 0 };

  constructor(deps: OutboxDeps) {
    this.#deps = deps;
    // Receipts that come in one turn of the event loop share a commit.
    this.#closeOne = makeBatch(async (closings) => [...(await deps.ledger.closeDeliveries(closings))], {
      gather: () => new Promise((resolve) => setImmediate(resolve)),
    });
  }

  /** Begins to drain. A second call does nothing; a stopped outbox starts afresh. */
  start(): void {
    if (this.#loop) return;
    this.#stopping = new AbortController();
    this.#ending = makeEnding();
    this.#loop = this.#run();
  }

  /** Something may be due: look now. Call it when the ledger changed. */
  nudge(): void {
    this.#isNudged = true;
    this.#wake();
  }

  /** Takes nothing more, lets sends finish for `graceMs` (default 10 s), then aborts them and writes what is known. Idempotent. */
  async stop(graceMs = 10 * SECOND): Promise<void> {
    this.#stopping.abort(new Error("the outbox is stopping"));
    await this.#settle(graceMs);
    const loop = this.#loop;
    await loop;
    if (this.#loop === loop) this.#loop = undefined;
  }

  /**
   * One drain without a loop, for `tick`: sends everything that is due now, and returns how the tries ended.
   * Not to be used while started. Throws the store's faults.
   */
  async drain(signal: AbortSignal): Promise<DrainCounts> {
    this.#counts = { delivered: 0, retry: 0, dead: 0, unknown: 0 };
    this.#ending = makeEnding();
    const onAbort = () => this.#ending.abort(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      while (!signal.aborted) {
        await this.#takeRows();
        if (this.#sends.size === 0) break;
        await Promise.all(this.#sends.values());
      }
    } finally {
      if (signal.aborted) onAbort();
      await Promise.all(this.#sends.values());
      signal.removeEventListener("abort", onAbort);
    }
    return this.#counts;
  }

  async #run(): Promise<void> {
    let failures = 0;
    let looks = 0;
    while (!this.#stopping.signal.aborted) {
      let restMs: number;
      try {
        await this.#takeRows();
        restMs = await this.#untilNextMs(++looks);
        failures = 0;
      } catch (error) {
        failures += 1;
        restMs = backoffMs(failures, STORE_BACKOFF, this.#fraction());
        const isBusy = isFault(error) && error.code === "store.busy";
        this.#deps.log[isBusy ? "debug" : "error"]("outbox-failed", { error: messageOf(error) });
      }
      if (await this.#rest(restMs)) looks = 0;
    }
  }

  /** Starts a send for each row we may have now. */
  async #takeRows(): Promise<void> {
    const { ledger, clock, nodeId } = this.#deps;
    const heldSinceMs = clock.monotonicMs();
    if (heldSinceMs >= this.#recoverAfterMs) {
      const deadNodes = (await this.#deps.deadNodes?.()) ?? [];
      const request = { nodeId, now: clock.now(), leaseMs: LEASE_MS, deadNodes };
      for (const row of await ledger.takeOverDeliveries(request)) this.#begin(row, heldSinceMs, recoverRow);
      this.#recoverAfterMs = heldSinceMs + MAX_REST_MS;
    }
    const limit = MAX_PARALLEL - this.#sends.size;
    if (limit <= 0 || this.#isGathering(limit)) return;
    const takenAtMs = clock.monotonicMs();
    const request = { nodeId, now: clock.now(), leaseMs: LEASE_MS, limit };
    for (const row of await ledger.takeDeliveries(request)) this.#begin(row, takenAtMs, sendRow);
  }

  /** Whether more room is waited for. */
  #isGathering(room: number): boolean {
    const nowMs = this.#deps.clock.monotonicMs();
    const since = this.#gatheringSinceMs ?? nowMs;
    const isGathering = room < LEAST_TAKEN && nowMs - since < GATHER_MS;
    this.#gatheringSinceMs = isGathering ? since : undefined;
    return isGathering;
  }

  #begin(row: Delivery, takenAtMs: number, work: typeof sendRow): void {
    const send = this.#try(row, takenAtMs, work)
      .catch((error) => this.#deps.log.error("delivery-failed", { id: row.id, error: messageOf(error) }))
      .finally(() => {
        this.#sends.delete(row.id);
        this.nudge();
      });
    this.#sends.set(row.id, send);
  }

  async #try(row: Delivery, takenAtMs: number, work: typeof sendRow): Promise<void> {
    const { log } = this.#deps;
    const closing = await this.#attempt(row, takenAtMs, work);
    const answer = await this.#close(closing);
    if (answer === "closed") this.#counts[closing.kind] += 1;
    log[closing.kind === "delivered" ? "info" : "warn"](
      `delivery-${answer === "lost" ? "lost" : closing.kind}`,
      {
        id: row.id,
        runId: row.runId,
        jobId: row.jobId,
        platform: row.target.platform,
        attempt: row.attempts,
        ...("error" in closing ? { error: closing.error } : {}),
      },
    );
  }

  /** Sends unless its platform is to be waited for, and says what that means for the row. */
  async #attempt(row: Delivery, takenAtMs: number, work: typeof sendRow): Promise<DeliveryClosing> {
    const { adapters, clock, root, redact } = this.#deps;
    const passing = passingOf(adapterFor(adapters, row.target), row.target);
    const isNew = work === sendRow;
    const wait = isNew && passing ? await this.#wait(passing) : undefined;
    if (wait) return decideWait(row, { ...wait, why: redact(wait.why) }, clock.now());
    const heldMs = clock.monotonicMs() - takenAtMs;
    if (isNew && heldMs > MAX_HELD_MS)
      return decideWait(row, { afterMs: 0, why: "held too long before sending" }, clock.now());
    const result = await work({ adapters, clock, root, redact }, row, this.#ending.signal);
    // A dead owner's row passed no gate, and what is said of it says nothing of its platform: nobody may have been asked.
    if (isNew && passing) this.#gates.note(passing, result, clock.monotonicMs());
    const clean = "error" in result ? { ...result, error: redact(result.error) } : result;
    return decideTry(row, clean, { now: clock.now(), random: this.#fraction() });
  }

  /** Waits here for a token that is near; a longer wait is the row's own. */
  async #wait(passing: Passing): Promise<{ afterMs: number; why: string } | undefined> {
    const { clock } = this.#deps;
    for (let waitedMs = 0; ; ) {
      const answer = this.#gates.enter(passing, clock.monotonicMs());
      if (answer.kind === "pass") return undefined;
      if (waitedMs + answer.afterMs > MAX_GATE_WAIT_MS || this.#ending.signal.aborted) return answer;
      waitedMs += answer.afterMs;
      await this.#pause(answer.afterMs, this.#ending.signal);
    }
  }

  /** Writes the closing, however long the store is busy (I2); after the grace of a stop one last try is made. */
  async #close(closing: DeliveryClosing): Promise<"closed" | "lost"> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#closeOne(closing);
      } catch (error) {
        if (!isFault(error) || error.retry !== "later" || this.#ending.signal.aborted) throw error;
        await this.#pause(backoffMs(tries, STORE_BACKOFF, this.#fraction()), this.#ending.signal);
      }
    }
  }

  /** `looks` counts how often we looked since something changed. */
  async #untilNextMs(looks: number): Promise<number> {
    if (this.#sends.size >= MAX_PARALLEL) return MAX_REST_MS;
    if (this.#gatheringSinceMs !== undefined) return GATHER_MS;
    const at = await this.#deps.ledger.nextDeliveryAt();
    if (at === undefined) return MAX_REST_MS;
    const waitMs = at - this.#deps.clock.now();
    return waitMs > 0 ? Math.min(MAX_REST_MS, waitMs) : backoffMs(looks, BLOCKED_REST, this.#fraction());
  }

  /** Resolves true when it was nudged awake. */
  async #rest(ms: number): Promise<boolean> {
    if (!this.#isNudged) {
      const wait = linkAbort(this.#stopping.signal);
      this.#wake = () => wait.abort("nudged");
      await this.#pause(ms, wait.signal);
      this.#wake = () => {};
      wait.release();
    }
    const wasNudged = this.#isNudged;
    this.#isNudged = false;
    return wasNudged;
  }

  /** Waits for the sends at most `graceMs`, then aborts them and waits for their closings. */
  async #settle(graceMs: number): Promise<void> {
    const grace = new AbortController();
    const ending = this.#ending;
    const timer = this.#pause(graceMs, grace.signal).then(() =>
      ending.abort(new Error("the outbox stopped")),
    );
    // The loop may still be between taking rows and beginning them; only after it are the sends complete.
    await this.#loop;
    const done = Promise.all(this.#sends.values());
    await Promise.race([done, timer]);
    await done;
    grace.abort();
    await timer;
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    try {
      await this.#deps.clock.sleep(ms, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  #fraction(): number {
    const [a = 0, b = 0] = this.#deps.random(2);
    return (a * 256 + b) / 65_536;
  }
}

/** Every send in flight listens to it, by design more than the ten at which Node warns of a leak. */
function makeEnding(): AbortController {
  const ending = new AbortController();
  setMaxListeners(0, ending.signal);
  return ending;
}
