// The loop that fires: one pass of the ledger whenever something is due, ready, or has changed (T8, L11).
//
// I1. One pass at a time; a nudge during a pass leads to another one right after it.
// I2. Never asleep for more than 30 s; every wake-up, however early, just looks again.
// I3. A pass that fails writes nothing and is tried again after 50–500 ms; live runs are untouched by it.

import { linkAbort } from "../kernel/abort.ts";
import { messageOf } from "../kernel/errors.ts";
import type { Random } from "../kernel/ids.ts";
import type { Log } from "../kernel/log.ts";
import { type Clock, HOUR, type Instant, SECOND } from "../kernel/time.ts";
import type { Ledger } from "../records/ledger/index.ts";
import type {
  ClaimedRun,
  DecideJob,
  DigestMissed,
  PassRequest,
  PassResult,
  RewindRules,
} from "../records/ledger/slots.ts";
import { type ClockEvent, type ClockGuardState, guardLooksAgainInMs, observeClock } from "./clock-guard.ts";
import { stepBackMs } from "./step-back.ts";
import { busyDelayMs, isWorthRetrying } from "./until-stored.ts";

/** @source SEMANTICS T8 */
const LONGEST_SLEEP_MS = 30 * SECOND;
/** After a pass that found nothing to do although something is said to be due: a guard against spinning. */
const IDLE_LOOK_MS = 250;
/**
 * Jobs decided by the first pass of a wake-up on time, so that the first of a thousand does not wait for the last; each
 * further pass takes eight times as many. A late one takes all at once: what it missed is told in one digest (O1).
 */
const FIRST_JOBS = 16;
const MOST_JOBS = 1_000;
const ON_TIME_MS = SECOND;
/** An hour without a good pass is worth a louder word than "will retry". */
const LONG_SILENCE_MS = HOUR;

export interface SchedulerDeps {
  ledger: Pick<Ledger, "pass" | "now" | "rewind" | "appendEvents" | "newestRecordAt" | "updateNode">;
  clock: Clock;
  random: Random;
  log: Log;
  nodeId: string;
  leaseMs: number;
  decide: DecideJob;
  digest: DigestMissed;
  /** T8: where cursors return to after a backward step. */
  rewindRules(now: Instant): RewindRules;
  cannotPrepare: PassRequest["cannotPrepare"];
  /** Default: no run does. */
  startsAtOnce?: NonNullable<PassRequest["startsAtOnce"]>;
  /** Which queued tasks start here (W4). Default: none. */
  tasks?: NonNullable<PassRequest["tasks"]>;
  /** Places free for further runs. */
  capacity(): number;
  liveRuns(): number;
  onClaimed(claimed: readonly ClaimedRun[]): void;
  onPass(result: PassResult): void;
}

/** What one pass did; `wakeInMs` is when to look again. */
export interface PassReport {
  result: PassResult;
  wakeInMs: number;
}

export class Scheduler {
  readonly #deps: SchedulerDeps;
  readonly #stop = new AbortController();
  #guard: ClockGuardState | undefined;
  #nap: ReturnType<typeof linkAbort> | undefined;
  #isNudged = false;
  #jobsPerPass = MOST_JOBS;
  #expectedAt: Instant | undefined;
  #loop: Promise<void> | undefined;
  #goodPassAtMs: number;

  constructor(deps: SchedulerDeps) {
    this.#deps = deps;
    this.#goodPassAtMs = deps.clock.monotonicMs();
  }

  /** Idempotent. */
  start(): void {
    this.#loop ??= this.#run();
  }

  /** No further pass begins; resolves when a pass under way has ended. Idempotent. */
  async stop(): Promise<void> {
    this.#stop.abort("stopped");
    await this.#loop;
  }

  /** Something changed: look now. */
  nudge(): void {
    this.#isNudged = true;
    this.#nap?.abort("nudged");
  }

  /** One pass by hand (`tick`), or the claim of one run and nothing else; throws what the store throws. */
  async passOnce(onlyRun?: string): Promise<PassReport> {
    const { clock, ledger } = this.#deps;
    const wall = await ledger.now();
    const offsetOfNode = clock.now() - wall;
    const trustedNow = await this.#believe(wall);
    const isLate = this.#expectedAt !== undefined && wall - this.#expectedAt > ON_TIME_MS;
    if (isLate) this.#jobsPerPass = MOST_JOBS;
    const request = this.#request(trustedNow, {
      ...{ lastSeenAt: wall, lastPassAt: wall, lastError: undefined },
      clockOffsetMs: offsetOfNode,
    });
    const result = await ledger.pass({ ...request, ...(onlyRun !== undefined && { onlyRun }) });
    this.#goodPassAtMs = clock.monotonicMs();
    this.#jobsPerPass = result.hasMore ? Math.min(MOST_JOBS, 8 * this.#jobsPerPass) : FIRST_JOBS;
    this.#expectedAt = result.nextWakeAt;
    if (result.claimed.length > 0) this.#deps.onClaimed(result.claimed);
    this.#deps.onPass(result);
    // Somebody else's clock was ahead, and this node never saw it: what it wrote is taken back now.
    const aheadMs = stepBackMs(result.newestRecordAt, wall);
    if (aheadMs !== undefined) await this.#rewind(aheadMs, wall);
    return { result, wakeInMs: aheadMs === undefined ? this.#wakeInMs(result, request.capacity, wall) : 0 };
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      this.#isNudged = false;
      const wakeInMs = await this.#passOrDelay();
      if (!this.#isNudged && !this.#stop.signal.aborted) await this.#sleep(wakeInMs);
    }
  }

  async #passOrDelay(): Promise<number> {
    try {
      return (await this.passOnce()).wakeInMs;
    } catch (error) {
      const silentMs = this.#deps.clock.monotonicMs() - this.#goodPassAtMs;
      const level = silentMs > LONG_SILENCE_MS ? "error" : "warn";
      this.#deps.log[level]("pass-failed", { error: messageOf(error), silentMs });
      if (!isWorthRetrying(error)) await this.#recordFailure(messageOf(error));
      // A nudge must not turn a failing store into a spinning loop.
      await this.#deps.clock.sleep(busyDelayMs(this.#deps.random), this.#stop.signal).catch(() => {});
      return 0;
    }
  }

  /** For `doctor` and `node list`: a pass that fails by itself, not for a busy store, will fail again. The next good one clears it. */
  async #recordFailure(lastError: string): Promise<void> {
    const { ledger, nodeId, log } = this.#deps;
    try {
      await ledger.updateNode(nodeId, { lastError, lastSeenAt: await ledger.now() });
    } catch (error) {
      log.debug("failure-not-recorded", { error: messageOf(error) });
    }
  }

  async #sleep(ms: number): Promise<void> {
    const nap = linkAbort(this.#stop.signal);
    this.#nap = nap;
    try {
      await this.#deps.clock.sleep(Math.min(ms, LONGEST_SLEEP_MS), nap.signal);
    } catch {
      // Nudged or stopped: both only mean "look again".
    } finally {
      nap.release();
      this.#nap = undefined;
    }
  }

  #request(now: Instant, node: PassRequest["node"] & {}): PassRequest {
    const { nodeId, leaseMs, decide, digest, cannotPrepare, startsAtOnce, tasks } = this.#deps;
    const isStopping = this.#stop.signal.aborted;
    const capacity = isStopping ? 0 : Math.max(0, this.#deps.capacity());
    return {
      ...{
        nodeId,
        node,
        now,
        capacity,
        maxJobs: this.#jobsPerPass,
        liveRuns: this.#deps.liveRuns(),
        leaseMs,
      },
      ...{ decide, digest, cannotPrepare, ...(startsAtOnce && { startsAtOnce }) },
      ...(tasks && !isStopping && { tasks }),
    };
  }

  #wakeInMs(result: PassResult, capacity: number, wall: Instant): number {
    const hasWorked = result.claimed.length > 0 || result.decidedJobs > 0;
    if (result.hasMore && hasWorked && capacity > result.claimed.length) return 0;
    const untilNext = result.nextWakeAt === undefined ? LONGEST_SLEEP_MS : result.nextWakeAt - wall;
    const floor = hasWorked ? 1 : untilNext <= 0 ? IDLE_LOOK_MS : 1;
    const guardMs = this.#guard && guardLooksAgainInMs(this.#guard, this.#deps.clock.uptimeMs());
    return Math.min(Math.max(untilNext, floor), guardMs ?? LONGEST_SLEEP_MS);
  }

  /** T8: the wall time up to which slots may be decided; a backward step moves the cursors back first. */
  async #believe(wall: Instant): Promise<Instant> {
    const { clock, ledger } = this.#deps;
    const isFirst = this.#guard === undefined;
    const { state, trustedNow, event } = observeClock(this.#guard, { wall, uptimeMs: clock.uptimeMs() });
    const byMs =
      event?.kind === "steppedBack"
        ? event.byMs
        : isFirst
          ? stepBackMs(await ledger.newestRecordAt(), wall)
          : undefined;
    if (byMs !== undefined) await this.#rewind(byMs, wall);
    else if (event) await this.#announce(event, wall, []);
    // Only now: a rewind that failed must be tried again by the next pass.
    this.#guard = state;
    return trustedNow;
  }

  async #rewind(byMs: number, wall: Instant): Promise<void> {
    const jobs = await this.#deps.ledger.rewind(wall, this.#deps.rewindRules(wall));
    await this.#announce({ kind: "steppedBack", byMs }, wall, jobs);
  }

  async #announce(event: ClockEvent, at: Instant, jobs: readonly string[]): Promise<void> {
    this.#deps.log.warn("clock-stepped", { ...event, jobs: jobs.length });
    const data = { ...event, jobs: jobs.length, nodeId: this.#deps.nodeId };
    await this.#deps.ledger.appendEvents([
      { runId: undefined, jobId: undefined, at, kind: "clock-stepped", data },
    ]);
  }
}
