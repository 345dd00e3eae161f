// A node whose every move is made by hand: the real scheduler, runner, watch and recovery on the real ledger, without
// their loops. Its work is a function in this process that begins and ends when the test says so.
//
// I1. A move resolves when everything it caused has come to rest; no move waits for time.

import { makePlanClose, makePlanUnknowns } from "../../../src/app/close-run.ts";
import type { Context } from "../../../src/app/context.ts";
import { changeJob } from "../../../src/app/job-changes.ts";
import type { LiveRun } from "../../../src/app/live-run.ts";
import { recover } from "../../../src/app/recovery.ts";
import { Runner } from "../../../src/app/runner.ts";
import { Scheduler } from "../../../src/app/scheduler.ts";
import { WatchLoop } from "../../../src/app/watch-loop.ts";
import type { DoWork } from "../../../src/app/work.ts";
import { makeId } from "../../../src/kernel/ids.ts";
import { SECOND } from "../../../src/kernel/time.ts";
import { outcomeOfAbort } from "../../../src/records/abort-outcome.ts";
import type { Outcome } from "../../../src/records/outcome.ts";
import { makeRewindRules } from "../../../src/schedule/cursor-after.ts";
import { openOutputFiles } from "../../../src/store/files/output-files.ts";

export const LEASE_MS = 60 * SECOND;
const CAPACITY = 6;

/** One beginning of one run: the side effect. */
export interface Deed {
  runId: string;
  jobId: string;
  slot: number | undefined;
  attempt: number;
  /** What the wall clock said. */
  at: number;
}

interface Work {
  live: boolean;
  /** Opens the gate before `begin`. */
  open(): void;
  begun: Promise<void>;
  end(outcome: Outcome): void;
}

export class Driver {
  readonly id: string;
  readonly pid: number;
  readonly #context: Context;
  readonly #works = new Map<string, Work>();
  readonly #freed = new Map<string, Promise<void>>();
  readonly #onFreed = new Map<string, () => void>();
  readonly #runner: Runner;
  readonly #scheduler: Scheduler;
  readonly #watch: WatchLoop;

  constructor(context: Context, options: { pid: number; deeds: Deed[] }) {
    this.#context = context;
    this.pid = options.pid;
    this.id = makeId(context.clock.now(), context.random);
    const deps = { ...context, nodeId: this.id, leaseMs: LEASE_MS, beatMs: 15 * SECOND };
    this.#watch = new WatchLoop({
      ...deps,
      groupCpuMs: () => undefined,
      report: (report) => this.#runner.handle(report),
    });
    this.#runner = new Runner({
      ...context,
      work: { task: this.#work(options.deeds) },
      watch: {
        add: (runs) => {
          if (runs.length > 0) this.#watch.handle({ kind: "add", runs });
        },
        limits: () => {},
        began: (runId, processGroup) => this.#watch.handle({ kind: "began", runId, processGroup }),
        touch: () => {},
        remove: (runIds) => this.#watch.handle({ kind: "remove", runIds }),
        beat: () => {},
        stop: async () => {},
      },
      planClose: makePlanClose(context, openOutputFiles(context.home.paths.root)),
      onFree: (live) => this.#free(live),
    });
    this.#scheduler = new Scheduler({
      ...deps,
      rewindRules: makeRewindRules(context.parseJob),
      cannotPrepare: () => undefined,
      // A claim and its start are two moves here, so that anything can come between them.
      ...{ startsAtOnce: () => false },
      capacity: () => CAPACITY - this.#runner.size,
      liveRuns: () => this.#runner.size,
      onClaimed: (claimed) => {
        for (const { run } of claimed) this.#expectEnd(run.id);
        this.#runner.accept(claimed);
      },
      onPass: () => {},
    });
  }

  async register(): Promise<void> {
    const { ledger, host, version } = this.#context;
    const now = await ledger.now();
    await ledger.registerNode({
      ...{ id: this.id, name: `driver:${this.pid}`, hostId: host.hostId, bootId: host.bootId, pid: this.pid },
      ...{ startTime: String(this.pid), version, startedAt: now, lastSeenAt: now, lastPassAt: undefined },
      ...{ clockOffsetMs: 0, stoppingAt: undefined, stoppedAt: undefined, maxParallelRuns: CAPACITY },
      ...{ liveRuns: 0, url: undefined, lastError: undefined },
    });
  }

  async pass(): Promise<void> {
    await this.#scheduler.passOnce();
    await this.#readCancels();
  }

  /** Begins everything that is claimed. */
  async start(): Promise<void> {
    for (const [runId, work] of [...this.#works]) {
      if (work.live) continue;
      work.live = true;
      work.open();
      await Promise.race([work.begun, this.#freed.get(runId)]);
    }
  }

  /** Ends the oldest run that has begun. */
  async finish(how: "ok" | "fail"): Promise<void> {
    const [runId, work] = [...this.#works].find(([, { live }]) => live) ?? [];
    if (runId === undefined || !work) return;
    work.end(
      how === "ok"
        ? { state: "succeeded", output: "", isSilent: true }
        : { state: "failed", error: { code: "exit", message: "exited 1", exitCode: 1 } },
    );
    await this.#freed.get(runId);
  }

  async beat(): Promise<void> {
    await this.#watch.beat();
    await this.#readCancels();
  }

  async recover(): Promise<void> {
    const context = this.#context;
    await recover(
      {
        ...context,
        nodeId: this.id,
        leaseMs: LEASE_MS,
        isQuarantineOn: context.config.limits.quarantine,
        endLeftovers: async () => ({ ended: [], survivors: [] }),
        endContainers: async () => [],
        planUnknowns: makePlanUnknowns(context),
        quarantine: async (jobId, reason) => {
          await changeJob(context, jobId, {
            kind: "suspend",
            suspension: "quarantined",
            by: "driver",
            reason,
          });
        },
      },
      new AbortController().signal,
    );
  }

  get liveRuns(): number {
    return this.#runner.size;
  }

  /** How many runs have begun here and not ended. */
  get begunRuns(): number {
    return [...this.#works.values()].filter(({ live }) => live).length;
  }

  async #readCancels(): Promise<void> {
    await this.#runner.readCancels(this.id);
    // Aborted work ends by itself; its end is awaited, so that a move leaves nothing under way.
    for (const [runId, work] of [...this.#works])
      if (this.#aborted.has(runId) && work) await this.#freed.get(runId);
  }

  readonly #aborted = new Set<string>();

  #work(deeds: Deed[]): DoWork {
    return async (_input, ctx) => {
      const { run } = ctx;
      let open = () => {};
      let begun = () => {};
      const gate = new Promise<void>((resolve) => {
        open = resolve;
      });
      const end = new Promise<Outcome>((resolve) => {
        const work: Work = {
          live: false,
          open: () => open(),
          begun: new Promise((done) => {
            begun = done;
          }),
          end: resolve,
        };
        this.#works.set(run.id, work);
        const onAbort = () => {
          this.#aborted.add(run.id);
          open();
          resolve(outcomeOfAbort(ctx.abortReason() ?? { kind: "claimLost" }));
        };
        ctx.signal.addEventListener("abort", onAbort, { once: true });
        if (ctx.signal.aborted) onAbort();
      });
      await gate;
      if (!(await ctx.begin()))
        return outcomeOfAbort(ctx.abortReason() ?? { kind: "cancel", by: "beforeStart" });
      deeds.push({
        runId: run.id,
        jobId: run.jobId ?? "",
        slot: run.slot,
        attempt: run.attempt,
        at: this.#context.clock.now(),
      });
      begun();
      return end;
    };
  }

  #expectEnd(runId: string): void {
    this.#freed.set(
      runId,
      new Promise((resolve) => {
        this.#onFreed.set(runId, resolve);
      }),
    );
  }

  #free(live: LiveRun): void {
    const runId = live.claim.runId;
    this.#works.delete(runId);
    this.#aborted.delete(runId);
    this.#onFreed.get(runId)?.();
  }
}
