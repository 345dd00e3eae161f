// A node's look at rollouts: which version a task gets, asked inside of transactions that cannot wait; and whether the new
// version does worse than the old one, in which case everything goes back to the old one.
//
// I1. What was read last counts until the next look: a rollout that begins is known within LOOK_MS at the latest.
// I2. Every node judges; the ledger lets one of them decide (compare-and-set), and only that one says so.

import { messageOf } from "../../kernel/errors.ts";
import { SECOND } from "../../kernel/time.ts";
import { versionFor } from "../../orchestrate/rollout/choose-version.ts";
import { sumVersions, whyRollBack } from "../../orchestrate/rollout/judge-version.ts";
import type { Rollout } from "../../records/rollout.ts";
import type { Context } from "../context.ts";
import { Repeating } from "../repeating.ts";
import { Throttled } from "../throttled.ts";
import { JUDGED_ATTEMPTS } from "./rollouts.ts";

export type RolloutContext = Pick<Context, "actor" | "clock" | "ledger" | "log">;

const LOOK_MS = 5 * SECOND;
/** Other changes of the ledger come by the hundred: they cost a reading this often at most. */
const LEAST_LOOK_MS = SECOND;

export class RolloutWatch {
  readonly #context: RolloutContext;
  readonly #loop: Repeating;
  readonly #changed: Throttled;
  #rollouts: ReadonlyMap<string, Rollout> = new Map();
  #reading: Promise<void> | undefined;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #unsubscribe = () => {};

  constructor(context: RolloutContext) {
    this.#context = context;
    this.#loop = new Repeating({ ...context, what: "rollouts", everyMs: LOOK_MS, work: () => this.#look() });
    this.#changed = new Throttled({ ...context, leastMs: LEAST_LOOK_MS, work: () => this.#read() });
  }

  /** Idempotent. Returns at once; the first reading is under way. */
  start(): void {
    this.#changed.nudge();
    this.#unsubscribe = this.#context.ledger.onChange(() => this.#changed.nudge());
    this.#loop.start();
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    await Promise.all([this.#changed.stop(), this.#loop.stop()]);
    await this.#reading;
  }

  /** For processes that pass by hand: one look, unless the last is a moment ago. Never rejects. */
  async prepare(): Promise<void> {
    if (this.#context.clock.monotonicMs() - this.#lookedAtMs >= LEAST_LOOK_MS) await this.#look();
  }

  get isEmpty(): boolean {
    return this.#rollouts.size === 0;
  }

  /** Whether its tasks are shared between two versions at this moment. */
  isShared(executor: string): boolean {
    return this.#rollouts.get(executor)?.state === "running";
  }

  /** The version for the task with this key; undefined = the preferred one (orchestrate/rollout/choose-version.ts). */
  versionFor(executor: string, key: string, registered?: readonly string[]): string | undefined {
    const rollout = this.#rollouts.get(executor);
    return rollout && versionFor(rollout, key, registered);
  }

  async #look(): Promise<void> {
    this.#lookedAtMs = this.#context.clock.monotonicMs();
    await this.#read();
    for (const rollout of this.#rollouts.values())
      if (rollout.state === "running") await this.#judge(rollout);
  }

  /** Never rejects; what cannot be read leaves what was known. */
  #read(): Promise<void> {
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readAll(): Promise<void> {
    const { ledger, log } = this.#context;
    try {
      this.#rollouts = new Map((await ledger.rollouts()).map((one) => [one.executor, one]));
    } catch (error) {
      log.debug("rollouts-not-read", { error: messageOf(error) });
    }
  }

  /** (I2) */
  async #judge(rollout: Rollout): Promise<void> {
    const { ledger, log, actor } = this.#context;
    const { executor, startedAt: since } = rollout;
    try {
      const attempts = await ledger.versionAttempts({ executor, since, limit: JUDGED_ATTEMPTS });
      const reason = whyRollBack(rollout, sumVersions(rollout, attempts));
      if (reason === undefined) return;
      const changedAt = await ledger.now();
      const revision = rollout.revision + 1;
      const back: Rollout = {
        ...rollout,
        revision,
        state: "rolledBack",
        changedAt,
        changedBy: actor,
        reason,
      };
      const { version, baseline } = rollout;
      if (await ledger.changeRollout(back, "rollout-rolled-back"))
        log.warn("rollout-rolled-back", { executor, version, baseline, reason });
      await this.#readAll();
    } catch (error) {
      log.warn("rollout-not-judged", { executor, error: messageOf(error) });
    }
  }
}
