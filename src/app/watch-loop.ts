// Heartbeats and limits of live runs (L5, L14). Runs on a worker thread of its own (watch-worker.ts), so that a busy
// event loop loses no lease; the same loop runs inline where there is no second thread.
//
// I1. A renewal that is refused is reported once, and the run is watched no more.
// I2. Five lease times without a store = lost: whoever can reach the store may have taken over by then.

import { type Activity, noteActivity, noteCpu, reachedLimit, startActivity } from "../execute/inactivity.ts";
import { linkAbort } from "../kernel/abort.ts";
import { messageOf } from "../kernel/errors.ts";
import { type Clock, SECOND } from "../kernel/time.ts";
import type { Ledger } from "../records/ledger/index.ts";
import type { WatchCommand, WatchedRun, WatchReport } from "./watch-protocol.ts";

/** How often limits are compared with activity. */
const LOOK_MS = SECOND;

export interface WatchLoopDeps {
  ledger: Pick<Ledger, "renewClaims" | "cancelRequests">;
  clock: Clock;
  nodeId: string;
  leaseMs: number;
  beatMs: number;
  /** CPU time the process group has used, ms; undefined when it cannot be told. */
  groupCpuMs(processGroup: number): number | undefined;
  report(report: WatchReport): void;
}

interface Watched extends WatchedRun {
  /** Counts from the begin; undefined before it. */
  activity: Activity | undefined;
  processGroup: number | undefined;
  hasCpuSample: boolean;
  isReported: boolean;
}

export class WatchLoop {
  readonly #deps: WatchLoopDeps;
  readonly #runs = new Map<string, Watched>();
  readonly #stop = new AbortController();
  #renewedAtMs = 0;
  #isBeating = false;
  #nap: ReturnType<typeof linkAbort> | undefined;

  constructor(deps: WatchLoopDeps) {
    this.#deps = deps;
  }

  /** Runs until `stop`. Never rejects. */
  async run(): Promise<void> {
    this.#renewedAtMs = this.#deps.clock.monotonicMs();
    let nextBeatAtMs = this.#renewedAtMs + this.#deps.beatMs;
    while (!this.#stop.signal.aborted) {
      await this.#sleep();
      if (this.#stop.signal.aborted) return;
      this.#lookAtLimits();
      if (this.#deps.clock.monotonicMs() < nextBeatAtMs) continue;
      nextBeatAtMs = this.#deps.clock.monotonicMs() + this.#deps.beatMs;
      await this.beat();
    }
  }

  /** A beat's time while there is nothing to count, a look's time while there is; a run that begins wakes it. */
  async #sleep(): Promise<void> {
    const nap = linkAbort(this.#stop.signal);
    this.#nap = nap;
    const pauseMs = this.#hasLimits() ? Math.min(LOOK_MS, this.#deps.beatMs) : this.#deps.beatMs;
    await this.#deps.clock.sleep(pauseMs, nap.signal).catch(() => {});
    nap.release();
    this.#nap = undefined;
  }

  handle(command: WatchCommand): void {
    switch (command.kind) {
      case "add":
        for (const run of command.runs) this.#add(run);
        return;
      case "limits": {
        const watched = this.#runs.get(command.runId);
        if (watched) {
          watched.idleTimeoutMs = command.idleTimeoutMs;
          watched.totalTimeoutMs = command.totalTimeoutMs;
        }
        return;
      }
      case "began":
        this.#begin(command.runId, command.processGroup);
        return;
      case "touch": {
        const watched = this.#runs.get(command.runId);
        if (watched?.activity)
          watched.activity = noteActivity(watched.activity, "output", this.#deps.clock.monotonicMs());
        return;
      }
      case "remove":
        for (const runId of command.runIds) this.#runs.delete(runId);
        return;
      case "beat":
        void this.beat();
        return;
      case "stop":
        this.#stop.abort();
        return;
    }
  }

  /** Renews every watched claim once and passes on what the ledger says. Never rejects. */
  async beat(): Promise<void> {
    if (this.#isBeating || this.#runs.size === 0) return;
    this.#isBeating = true;
    try {
      const claims = [...this.#runs.values()].map((watched) => watched.claim);
      const answers = await this.#deps.ledger.renewClaims(claims, this.#deps.leaseMs);
      this.#renewedAtMs = this.#deps.clock.monotonicMs();
      for (const { claim, state, cancelledBy } of answers) {
        if (state === "lost") this.#reportLost(claim.runId, claim.token, "takenOver");
        else if (cancelledBy !== undefined) this.#reportCancel(claim.runId, cancelledBy);
      }
    } catch (error) {
      this.#deps.report({ kind: "failed", error: messageOf(error) });
      const silentMs = this.#deps.clock.monotonicMs() - this.#renewedAtMs;
      if (silentMs >= 5 * this.#deps.leaseMs) {
        for (const watched of [...this.#runs.values()]) {
          this.#reportLost(watched.claim.runId, watched.claim.token, "noStore");
        }
      }
    } finally {
      this.#isBeating = false;
    }
  }

  #add(run: WatchedRun): void {
    const now = this.#deps.clock.monotonicMs();
    // The first run after a quiet time starts the count of silence afresh: nothing was renewed because nothing lived.
    if (this.#runs.size === 0) this.#renewedAtMs = now;
    this.#runs.set(run.claim.runId, {
      ...run,
      activity: undefined,
      processGroup: undefined,
      hasCpuSample: false,
      isReported: false,
    });
  }

  #begin(runId: string, processGroup: number | undefined): void {
    const watched = this.#runs.get(runId);
    if (!watched) return;
    const now = this.#deps.clock.monotonicMs();
    const hadLimits = this.#hasLimits();
    const limits = { idleMs: watched.idleTimeoutMs, totalMs: watched.totalTimeoutMs };
    // A further process of a run that has begun: its CPU time counts from now on, the total limit goes on.
    const activity = watched.activity
      ? noteActivity(watched.activity, "output", now)
      : startActivity(limits, now);
    Object.assign(watched, { activity, processGroup, hasCpuSample: false });
    if (!hadLimits && this.#hasLimits()) this.#nap?.abort("a limit to count");
  }

  #hasLimits(): boolean {
    for (const { activity } of this.#runs.values()) {
      if (activity && (activity.idleMs > 0 || activity.totalMs > 0)) return true;
    }
    return false;
  }

  #lookAtLimits(): void {
    const now = this.#deps.clock.monotonicMs();
    for (const watched of this.#runs.values()) {
      if (!watched.activity || watched.isReported) continue;
      watched.activity = this.#withCpu(watched, watched.activity, now);
      const reached = reachedLimit(watched.activity, now);
      if (!reached) continue;
      watched.isReported = true;
      const limit = reached.kind === "idleTimeout" ? "idle" : "total";
      const idleForMs = now - reached.lastActivityAt;
      this.#deps.report({
        kind: "timeout",
        runId: watched.claim.runId,
        limit,
        limitMs: reached.limitMs,
        idleForMs,
      });
    }
  }

  /**
   * CPU time of the group is activity (L14); read only once half of the silence is over, since it costs a scan. The
   * first sample is only what later ones are compared with.
   */
  #withCpu(watched: Watched, activity: Activity, now: number): Activity {
    const isQuiet = activity.idleMs > 0 && now - activity.lastActivityAt >= activity.idleMs / 2;
    if (watched.processGroup === undefined || !isQuiet) return activity;
    const cpuMs = this.#deps.groupCpuMs(watched.processGroup);
    if (cpuMs === undefined) return activity;
    const isFirst = !watched.hasCpuSample;
    watched.hasCpuSample = true;
    return isFirst ? { ...activity, cpuMs } : noteCpu(activity, cpuMs, now);
  }

  #reportLost(runId: string, token: number, why: "takenOver" | "noStore"): void {
    const watched = this.#runs.get(runId);
    // A run may have ended, and even begun again under a new token, while the renewal was under way.
    if (!watched || watched.claim.token !== token) return;
    this.#runs.delete(runId);
    this.#deps.report({ kind: "lost", runId, why });
  }

  #reportCancel(runId: string, by: string): void {
    if (this.#runs.has(runId)) this.#deps.report({ kind: "cancel", runId, by });
  }
}
