// Owns the live runs of this node: from a claim to a committed closing.
//
// I1. A run is in `#live` from the moment its claim is accepted until its closing is written or its claim is lost.
// I2. Nothing begins before `running` is committed (L3); nothing is delivered but with the closing (law 5).
// I3. A closing waits in memory until the store takes it (L11); a lost claim changes nothing (law 3).

import { linkAbort } from "../kernel/abort.ts";
import { makeBatch } from "../kernel/batch.ts";
import { messageOf } from "../kernel/errors.ts";
import type { Log } from "../kernel/log.ts";
import { SECOND } from "../kernel/time.ts";
import type { Job } from "../records/job.ts";
import type { CloseAnswer, Closing, StartAnswer, StartRun } from "../records/ledger/claims.ts";
import type { ClaimedRun } from "../records/ledger/slots.ts";
import type { Outcome } from "../records/outcome.ts";
import type { ProcessRecord } from "../records/process.ts";
import type { NewRunEvent } from "../records/run.ts";
import { type CloseTogetherDeps, closeTogether } from "./close-together.ts";
import { jobOfRun } from "./job-of-run.ts";
import { LiveRun } from "./live-run.ts";
import type { RunnerDeps } from "./runner-deps.ts";
import { untilStored } from "./until-stored.ts";
import type { WatchReport } from "./watch-protocol.ts";
import { preflightFailure, type WorkEnd } from "./work.ts";

/** L13: a second Ctrl-C leaves a command this long to tidy up after TERM. */
const HURRIED_GRACE_MS = SECOND;

/** From this many live runs on, starts and ends are gathered: fewer must not wait for one another. */
const MANY_RUNS = 4;
/** Shorter than the commit that is spared. */
const GATHER_MS = 3;

export class Runner {
  readonly #deps: RunnerDeps;
  readonly #live = new Map<string, LiveRun>();
  /** Aborted when waiting for the store must end: the process is about to exit. */
  readonly #giveUp = new AbortController();
  readonly #startRun: (start: StartRun) => Promise<StartAnswer>;
  readonly #closeRun: (closing: Closing) => Promise<CloseAnswer | Error>;
  /** Live lines of many runs share one commit. */
  readonly #appendEvents: (events: readonly NewRunEvent[]) => Promise<void>;
  #isStopping = false;

  constructor(deps: RunnerDeps) {
    this.#deps = deps;
    const gather = (waiting: number) => this.#gather(waiting);
    this.#startRun = makeBatch(
      async (starts) => [...(await this.#stored("start runs", () => deps.ledger.startRuns(starts)))],
      { gather },
    );
    const stored: CloseTogetherDeps["stored"] = (what, call) => this.#stored(what, call);
    const closing = { ledger: deps.ledger, stored, givesUp: () => this.#giveUp.signal.aborted };
    this.#closeRun = makeBatch((closings) => closeTogether(closing, closings), { gather });
    this.#appendEvents = makeBatch(async (lines) => {
      await deps.ledger.appendEvents(lines.flat());
      return [];
    });
  }

  /** While many runs are live, one that starts or ends has company in a moment: one commit, one fsync for all. */
  #gather(waiting: number): Promise<void> | undefined {
    if (this.#live.size < MANY_RUNS || waiting >= this.#live.size / 2) return undefined;
    return new Promise((resolve) => setTimeout(resolve, GATHER_MS));
  }

  /** Waits out a store that says "later" (I3). */
  #stored<T>(what: string, call: () => Promise<T>): Promise<T> {
    return untilStored(this.#deps, what, call, this.#giveUp.signal);
  }

  /** How many runs hold a place; tasks of queues and what belongs to a workflow have places of their own. */
  get size(): number {
    let count = 0;
    for (const live of this.#live.values()) if (live.claimed.run.queue === undefined) count += 1;
    return count;
  }

  /** How many tasks of queues run. */
  get taskCount(): number {
    let count = 0;
    for (const { claimed } of this.#live.values())
      if (claimed.run.queue !== undefined && claimed.run.kind !== "workflow") count += 1;
    return count;
  }

  /** Whether a suspect runs: then it runs alone (L7). */
  get hasSuspect(): boolean {
    for (const live of this.#live.values()) if (live.claimed.run.isSuspect) return true;
    return false;
  }

  /** Aborts when waiting for the store must end: the process is about to exit. */
  get givesUp(): AbortSignal {
    return this.#giveUp.signal;
  }

  /** Begins to work on what a pass has claimed. Returns at once. */
  accept(claimed: readonly ClaimedRun[]): void {
    const accepted = claimed.map((one) => this.#admit(one));
    this.#deps.watch.add(
      accepted.map((live) => ({
        claim: live.claim,
        idleTimeoutMs: live.job?.idleTimeoutMs ?? 0,
        totalTimeoutMs: live.job?.totalTimeoutMs ?? 0,
      })),
    );
    for (const live of accepted) live.ended = this.#run(live);
  }

  /** What the watch found out (L5, L14, cancel). */
  handle(report: WatchReport): void {
    if (report.kind === "failed") {
      this.#deps.log.warn("heartbeat-failed", { error: report.error });
      return;
    }
    const live = this.#live.get(report.runId);
    if (!live) return;
    if (report.kind === "lost") {
      this.#deps.log.warn("claim-lost", { runId: report.runId, why: report.why });
      live.abort({ kind: "claimLost" });
    } else if (report.kind === "cancel") {
      live.abort({ kind: "cancel", by: report.by });
    } else {
      live.abort({
        kind: report.limit === "idle" ? "idleTimeout" : "totalTimeout",
        limitMs: report.limitMs,
        lastActivity: live.lastActivity,
        lastActivityAt: live.lastActivityAt,
      });
    }
  }

  /** Reads cancel requests at once instead of at the next beat. */
  async readCancels(nodeId: string): Promise<void> {
    if (this.#live.size === 0) return;
    for (const { runId, by } of await this.#deps.ledger.cancelRequests(nodeId)) {
      this.handle({ kind: "cancel", runId, by });
    }
  }

  /** Ends everything that is live here, as cancelled. */
  cancelAll(by: string): void {
    for (const live of this.#live.values()) live.abort({ kind: "cancel", by });
  }

  /** Resolves when no run is live. */
  async whenIdle(): Promise<void> {
    while (this.#live.size > 0) await Promise.all([...this.#live.values()].map((live) => live.ended));
  }

  /**
   * L13: what has not begun goes back to the queue; what runs gets `graceMs`, then is ended as `nodeStopped`.
   * `hurry` aborting ends it at once. Resolves when every run is closed, or `giveUpMs` after the end of the grace.
   */
  async stop(options: { graceMs: number; giveUpMs: number; hurry: AbortSignal }): Promise<void> {
    if (this.#isStopping) return this.whenIdle();
    this.#isStopping = true;
    // A workflow only waits for its tasks: it goes back to the queue at once, and its tasks get their grace.
    for (const live of this.#live.values())
      if (live.claimed.run.kind === "workflow") live.abort({ kind: "nodeStopped" });
    const idle = this.whenIdle();
    const wait = linkAbort(options.hurry);
    try {
      await Promise.race([idle, this.#deps.clock.sleep(options.graceMs, wait.signal).catch(() => {})]);
      const hurry = options.hurry.aborted && { graceMs: HURRIED_GRACE_MS };
      for (const live of this.#live.values()) live.abort({ kind: "nodeStopped", ...hurry });
      const giveUp = linkAbort();
      await Promise.race([idle, this.#deps.clock.sleep(options.giveUpMs, giveUp.signal).catch(() => {})]);
      giveUp.abort("stopped");
      this.#giveUp.abort(new Error("the node stopped before the store took the write"));
      await this.whenIdle();
    } finally {
      wait.abort("stopped");
      wait.release();
    }
  }

  #admit(claimed: ClaimedRun): LiveRun {
    const live = new LiveRun(claimed, {
      clock: this.#deps.clock,
      redact: this.#deps.redact,
      log: this.#deps.log,
      touch: (runId) => this.#deps.watch.touch(runId),
      appendEvents: this.#appendEvents,
      begin: (one, start) => this.#begin(one, start),
      addProcess: (one, process) => this.#addProcess(one, process),
    });
    this.#live.set(claimed.run.id, live);
    return live;
  }

  async #begin(live: LiveRun, start: Pick<StartRun, "process" | "scriptSha256">): Promise<boolean> {
    if (live.abortReason !== undefined) return false;
    const isStarted = live.claimed.run.state === "running";
    const startedAt = (isStarted ? live.claimed.run.startedAt : undefined) ?? this.#deps.clock.now();
    const answer = isStarted ? "started" : await this.#startRun({ ...start, claim: live.claim, startedAt });
    if (answer === "cancelled") live.abort({ kind: "cancel", by: "request" });
    if (answer === "lost") live.abort({ kind: "claimLost" });
    if (answer !== "started") return false;
    Object.assign(live, { hasBegun: true, startedAt, processes: start.process ? [start.process] : [] });
    this.#deps.watch.began(live.claim.runId, start.process?.processGroup);
    return true;
  }

  async #addProcess(live: LiveRun, process: ProcessRecord): Promise<boolean> {
    await this.#stored("record process", () => this.#deps.ledger.recordProcesses([process]));
    live.processes.push(process);
    this.#deps.watch.began(live.claim.runId, process.processGroup);
    return live.abortReason === undefined;
  }

  async #run(live: LiveRun): Promise<void> {
    let answer: CloseAnswer = "lost";
    try {
      const end = await this.#work(live);
      this.#deps.watch.remove([live.claim.runId]);
      answer =
        end.state === "yielded"
          ? await this.#yield(live, end)
          : await this.#close(live, end).catch((error) => this.#closeUnstorable(live, error));
      if (answer === "closed") tellEnd(this.#deps.log, live, end);
    } catch (error) {
      // Only a store that is out of reach while the node stops leads here: the lease runs out, and the heir says `unknown`.
      this.#deps.log.error("run-not-closed", { runId: live.claim.runId, error: messageOf(error) });
    } finally {
      this.#deps.watch.remove([live.claim.runId]);
      this.#live.delete(live.claim.runId);
      this.#deps.onFree(live, answer);
    }
  }

  /** An outcome that the store refuses for good must not leave a row that runs for ever: what is known is that it is not known. */
  async #closeUnstorable(live: LiveRun, error: unknown): Promise<CloseAnswer> {
    if (this.#giveUp.signal.aborted) throw error;
    this.#deps.log.error("outcome-not-stored", { runId: live.claim.runId, error: messageOf(error) });
    live.takeEvents();
    return this.#close(live, {
      state: "unknown",
      why: "its outcome could not be stored; see the node's log",
    });
  }

  async #yield(
    live: LiveRun,
    { queue, admission }: Extract<WorkEnd, { state: "yielded" }>,
  ): Promise<CloseAnswer> {
    const options = {
      now: this.#deps.clock.now(),
      ...(queue !== undefined && { queue }),
      ...(admission && { admission }),
    };
    const isGiven = await this.#stored("give a workflow back", () =>
      this.#deps.ledger.yieldRun(live.claim, options),
    );
    return isGiven ? "closed" : "lost";
  }

  async #work(live: LiveRun): Promise<WorkEnd> {
    const { definition } = live.claimed;
    try {
      live.job = jobOfRun(this.#deps, live.claimed);
      if (!live.job) return preflightFailure("the job of this run has no definition any more");
      this.#deps.watch.limits(live.claim.runId, live.job);
      const doWork = this.#deps.work[live.job.work.kind];
      if (!doWork) return preflightFailure(`nothing here runs ${live.job.work.kind} jobs`);
      const amend = (job: Job) => {
        live.job = job;
        this.#deps.watch.limits(live.claim.runId, job);
      };
      return await doWork({ job: live.job, definition, amend }, live.context());
    } catch (error) {
      return { state: "failed", error: { code: "internal", message: messageOf(error) } };
    }
  }

  async #close(live: LiveRun, outcome: Outcome): Promise<CloseAnswer> {
    const isClaimed = live.claimed.run.state === "claimed";
    const isUntouched = isClaimed && !live.hasBegun && this.#isStopping && outcome.state === "cancelled";
    if (isUntouched) {
      await this.#stored("release claim", () => this.#deps.ledger.releaseClaims([live.claim]));
      return "closed";
    }
    const finishedAt = this.#deps.clock.now();
    const plan = await this.#stored("plan closing", () =>
      this.#deps.planClose({ live, outcome, finishedAt }),
    );
    const events = [...(plan.events ?? []), ...live.takeEvents()];
    const answer = await this.#closeRun({ ...plan, claim: live.claim, finishedAt, events });
    if (answer instanceof Error) throw answer;
    return answer;
  }
}

/** A success with nothing to say is the usual end of a watchdog: it would drown the others. */
function tellEnd(log: Log, { claimed: { run } }: LiveRun, end: WorkEnd): void {
  const facts = { runId: run.id, jobId: run.jobId, state: end.state };
  if (end.state === "yielded" || (end.state === "succeeded" && end.isSilent)) log.debug("run-ended", facts);
  else log.info("run-ended", facts);
}
