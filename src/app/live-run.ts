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

  constructor(claimed: ClaimedRun, deps: LiveRunDeps) {
    this.claimed = claimed;
    this.claim = claimed.claim;
    this.#deps = deps;
    this.lastActivityAt = deps.clock.now();
    this.#runLog = makeRunLog(claimed.run, {
      now: () => deps.clock.now(),
      redact: deps.redact,
      limits: () => (this.job?.work.kind === "agent" ? AGENT_LOG : SCRIPT_LOG),
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

  takeEvents(): NewRunEvent[] {
    return this.#runLog.take();
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

  /** A courtesy (run-log I2): a store that cannot take the lines now gets them with the closing, or never. */
  async #flushSoon(): Promise<void> {
    this.#isFlushing = true;
    try {
      await this.#deps.clock.sleep(FLUSH_MS, this.signal);
      const lines = this.#runLog.take();
      if (lines.length > 0) await this.#deps.appendEvents(lines);
    } catch (error) {
      this.#deps.log.debug("live-log-dropped", { runId: this.claim.runId, error: String(error) });
    } finally {
      this.#isFlushing = false;
    }
  }
}
