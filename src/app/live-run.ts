// One live run of this node: its claim, its abort signal with the reason, its activity and its live log.

import type { Log } from "../kernel/log.ts";
import type { Redact } from "../kernel/redact.ts";
import { type Clock, type Instant, SECOND } from "../kernel/time.ts";
import type { Job } from "../records/job.ts";
import type { ClaimedRun } from "../records/ledger/slots.ts";
import type { ProcessRecord } from "../records/process.ts";
import type { Claim, NewRunEvent, Run } from "../records/run.ts";
import type { AbortReason, RunContext } from "../records/run-context.ts";
import { AGENT_LOG, makeRunLog, type RunLog, SCRIPT_LOG } from "./run-log.ts";

/** Live lines reach the ledger at most this often; a run that is shorter hands them over with its closing. */
const FLUSH_MS = 250;
/** An agent's lines are all that is known of it when its node dies: a crash may cost this much of them. */
const AGENT_FLUSH_MS = 50;
/** The watch hears of activity at most this often: limits are counted in seconds. */
const TOUCH_MS = SECOND;

export interface LiveRunDeps {
  clock: Clock;
  redact: Redact;
  log: Log;
  touch(runId: string): void;
  appendEvents(events: readonly NewRunEvent[]): Promise<void>;
  begin(live: LiveRun, start: { process?: ProcessRecord; scriptSha256?: string }): Promise<boolean>;
  addProcess(live: LiveRun, process: ProcessRecord): Promise<boolean>;
}

export class LiveRun {
  readonly claimed: ClaimedRun;
  readonly claim: Claim;
  job: Job | undefined;
  hasBegun = false;
  startedAt: Instant | undefined;
  /** Those the ledger has been told of. */
  processes: ProcessRecord[] = [];
  lastActivity = "claimed";
  lastActivityAt: Instant;
  /** Settles when the run is closed or lost; set by the runner. */
  ended: Promise<void> = Promise.resolve();

  readonly #deps: LiveRunDeps;
  /** Made when somebody asks for the signal: most short runs never do. */
  #abort: AbortController | undefined;
  readonly #runLog: RunLog;
  #reason: AbortReason | undefined;
  #touchedAtMs = 0;
  #isFlushing = false;
  /** Lines that the store did not take. */
  #unwritten: NewRunEvent[] = [];

  constructor(claimed: ClaimedRun, deps: LiveRunDeps) {
    this.claimed = claimed;
    this.claim = claimed.claim;
    this.#deps = deps;
    this.lastActivityAt = deps.clock.now();
    this.#runLog = makeRunLog(claimed.run, {
      now: () => deps.clock.now(),
      redact: deps.redact,
      limits: () => (this.#isAgent ? AGENT_LOG : SCRIPT_LOG),
    });
  }

  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.#reason) this.#abort.abort(this.#reason);
    }
    return this.#abort.signal;
  }

  /** The claimed row with this node's start. */
  get run(): Run {
    return this.startedAt === undefined
      ? this.claimed.run
      : { ...this.claimed.run, startedAt: this.startedAt };
  }

  get abortReason(): AbortReason | undefined {
    return this.#reason;
  }

  /** The first reason wins; later ones change nothing. */
  abort(reason: AbortReason): void {
    if (this.#reason) return;
    this.#reason = reason;
    this.#abort?.abort(reason);
  }

  get #isAgent(): boolean {
    return this.job?.work.kind === "agent";
  }

  /** The lines that are not written yet, without those on their way. */
  takeEvents(): NewRunEvent[] {
    const lines = [...this.#unwritten, ...this.#runLog.take()];
    this.#unwritten = [];
    return lines;
  }

  context(): RunContext {
    const { run } = this.claimed;
    const signal = () => this.signal;
    return {
      run,
      lineage: { rootId: run.rootId, parentId: run.parentId, depth: run.parentId === undefined ? 0 : 1 },
      get signal() {
        return signal();
      },
      abortReason: () => this.#reason,
      begin: (process, scriptSha256) =>
        this.#deps.begin(this, {
          ...(process && { process }),
          ...(scriptSha256 !== undefined && { scriptSha256 }),
        }),
      addProcess: (process) => this.#deps.addProcess(this, process),
      touch: (activity) => this.#touch(activity),
      emit: (kind, data) => this.#emit(kind, data),
      log: this.#deps.log,
    };
  }

  #touch(activity: string): void {
    this.lastActivity = activity;
    this.lastActivityAt = this.#deps.clock.now();
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - this.#touchedAtMs < TOUCH_MS) return;
    this.#touchedAtMs = nowMs;
    this.#deps.touch(this.claim.runId);
  }

  #emit(kind: string, data: Record<string, unknown>): void {
    this.#runLog.emit(kind, data);
    if (!this.#isFlushing) void this.#flushSoon();
  }

  /** Lines that come while others are written must not wait for a further one: that may be hours away. */
  async #flushSoon(): Promise<void> {
    this.#isFlushing = true;
    try {
      do {
        await this.#deps.clock.sleep(this.#isAgent ? AGENT_FLUSH_MS : FLUSH_MS, this.signal);
        await this.#flush();
      } while (this.#unwritten.length + this.#runLog.waiting > 0);
    } catch {
      // The run is being ended: its closing takes what is left.
    } finally {
      this.#isFlushing = false;
    }
  }

  /** A courtesy (run-log I2): what a store cannot take now, it gets with the next lines or with the closing. */
  async #flush(): Promise<void> {
    const lines = this.takeEvents();
    if (lines.length === 0) return;
    try {
      await this.#deps.appendEvents(lines);
    } catch (error) {
      this.#unwritten = lines;
      this.#deps.log.debug("live-log-waits", { runId: this.claim.runId, error: String(error) });
    }
  }
}
