// One machine that does the tasks of one executor: how it stands, the calls under way there, and the loop that asks it.
//
// I1. It is asked while a node lives, and also while calls are under way: a process that runs one task has no node's loops.
// I2. A failed call marks it offline at once and has it asked again at once; calls under way end when that confirms it.

import { linkAbort } from "../../kernel/abort.ts";
import type { Log } from "../../kernel/log.ts";
import type { Clock } from "../../kernel/time.ts";
import {
  checkPatienceMs,
  healthAfter,
  type MachineHealth,
  newHealth,
  nextCheckMs,
  type Sign,
} from "../../orchestrate/remote/machine-health.ts";
import type { RemoteStanding } from "../../records/remote.ts";
import { askMachine, type MachineAddress, type MachineAnswer, type MachineRequest } from "./ask-machine.ts";

export interface RemoteMachineDeps {
  clock: Clock;
  log: Log;
  executor: string;
  address: MachineAddress;
  healthMs: number;
  /** How it stands has changed. */
  onChange(): void;
}

/** A call under way. */
export interface Flight {
  /** Aborts when the machine is confirmed to be down. */
  readonly down: AbortSignal;
  land(): void;
}

export class RemoteMachine {
  readonly #deps: RemoteMachineDeps;
  readonly #flights = new Set<AbortController>();
  readonly #words = new Set<Promise<unknown>>();
  #health: MachineHealth;
  #isKept = false;
  #loop: Promise<void> | undefined;
  #nap: ReturnType<typeof linkAbort> | undefined;
  #check: Promise<void> | undefined;
  #isStopped = false;
  /** Of the last question after its health, on the monotonic clock. */
  #askedAtMs = Number.NEGATIVE_INFINITY;
  /** (I2) */
  #isSuspect = false;

  constructor(deps: RemoteMachineDeps) {
    this.#deps = deps;
    this.#health = newHealth(deps.clock.now());
  }

  get isOffline(): boolean {
    return this.#health.state === "offline";
  }

  get calls(): number {
    return this.#flights.size;
  }

  get host(): string {
    return this.#deps.address.url.host;
  }

  get standing(): RemoteStanding {
    const { state, since, reason, checkedAt, roundTripMs, skewMs } = this.#health;
    const { executor, address } = this.#deps;
    const { origin, pathname } = address.url;
    return {
      ...{ executor, url: `${origin}${pathname}`, state, since, reason, checkedAt, roundTripMs, skewMs },
      calls: this.#flights.size,
    };
  }

  /** A word that is not waited for: it may not be heard. `stop` waits for it. */
  tell(request: MachineRequest): void {
    const { clock, address } = this.#deps;
    const word: Promise<unknown> = askMachine(clock, address, request, linkAbort().signal).finally(() =>
      this.#words.delete(word),
    );
    this.#words.add(word);
  }

  /** Asked from now on until `stop`. Idempotent. */
  keep(): void {
    this.#isKept = true;
    this.#run();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#nap?.abort("stopped");
    await Promise.all([this.#loop, ...this.#words]);
  }

  fly(): Flight {
    const down = new AbortController();
    this.#flights.add(down);
    this.#run();
    this.#nap?.abort("a call begins");
    return {
      down: down.signal,
      land: () => {
        this.#flights.delete(down);
        if (this.#flights.size === 0) this.#nap?.abort("idle");
      },
    };
  }

  /** One request; what it says of the machine counts. Never rejects. */
  async ask(request: MachineRequest, signal: AbortSignal): Promise<MachineAnswer> {
    const answer = await askMachine(this.#deps.clock, this.#deps.address, request, signal);
    if (signal.aborted) return answer;
    // A call that is not answered in time says less than a question after its health does: that is asked at once.
    if (answer.sign.kind !== "silent") this.#note(answer.sign);
    if (answer.sign.kind !== "well") {
      this.#isSuspect = true;
      this.#nap?.abort("suspect");
    }
    return answer;
  }

  /** Asks after its health now, or waits for the question under way; never rejects. */
  check(): Promise<void> {
    this.#check ??= this.#askHealth().finally(() => {
      this.#check = undefined;
    });
    return this.#check;
  }

  async #askHealth(): Promise<void> {
    const { clock, address, executor, healthMs } = this.#deps;
    this.#isSuspect = false;
    this.#askedAtMs = clock.monotonicMs();
    const patience = linkAbort();
    const path = `health?executor=${encodeURIComponent(executor)}`;
    const request = { method: "GET" as const, path, timeoutMs: checkPatienceMs(healthMs) };
    const answer = await askMachine(clock, address, request, patience.signal);
    const isBad = answer.kind === "answered" && answer.status >= 400;
    const reason = `${address.url.host} answers ${answer.kind === "answered" ? answer.status : ""} to a question after its health`;
    this.#note(isBad && answer.sign.kind === "well" ? { kind: "unwell", reason } : answer.sign);
    if (this.isOffline) for (const flight of [...this.#flights]) flight.abort("down");
  }

  #note(sign: Sign): void {
    const { clock, log, executor, onChange } = this.#deps;
    const before = this.#health;
    this.#health = healthAfter(before, sign, clock.now());
    const { state, reason, skewMs } = this.#health;
    const isMoved = state !== before.state;
    if (isMoved) {
      const facts = { executor, host: this.host, ...(reason !== undefined && { reason }) };
      if (state === "offline") log.warn("executor-offline", facts);
      else if (before.state === "offline") log.info("executor-online", facts);
    }
    const isSkewNews = skewMs !== undefined && Math.abs(skewMs - (before.skewMs ?? skewMs + 1_000)) >= 500;
    if (isMoved || isSkewNews) onChange();
  }

  #run(): void {
    if (this.#isStopped) return;
    this.#loop ??= this.#askAgainAndAgain().finally(() => {
      this.#loop = undefined;
    });
  }

  async #askAgainAndAgain(): Promise<void> {
    while (!this.#isStopped && (this.#isKept || this.#flights.size > 0)) {
      const waitMs = this.#isSuspect ? 0 : this.#nextCheckInMs();
      if (waitMs > 0) await this.#sleep(waitMs);
      else await this.check();
    }
  }

  #nextCheckInMs(): number {
    const { clock, healthMs } = this.#deps;
    const everyMs = nextCheckMs(this.#health, clock.now(), { healthMs, calls: this.#flights.size });
    return this.#askedAtMs + everyMs - clock.monotonicMs();
  }

  async #sleep(ms: number): Promise<void> {
    const nap = linkAbort();
    this.#nap = nap;
    try {
      await this.#deps.clock.sleep(ms, nap.signal);
    } catch {
      // Something has happened: it is looked at now.
    } finally {
      this.#nap = undefined;
    }
  }
}
