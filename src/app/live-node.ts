// One running Nightshift: scheduler, runner, watch, outbox, recovery and definition sync on one opened home.
//
// I1. Start order: recover what a dead node left, read definitions, then fire. Stop order is the reverse, and drains (L13).
// I2. Whatever a part throws ends in the log, never in the process.

import { availableParallelism } from "node:os";
import { Outbox } from "../deliver/outbox.ts";
import { groupCpuMs } from "../execute/host.ts";
import { makePipePool, type PipePool } from "../execute/pipe-pool.ts";
import { messageOf } from "../kernel/errors.ts";
import { makeId } from "../kernel/ids.ts";
import { SECOND } from "../kernel/time.ts";
import type { CloseAnswer } from "../records/ledger/claims.ts";
import type { PassResult } from "../records/ledger/slots.ts";
import { makeRewindRules } from "../schedule/cursor-after.ts";
import { openOutputFiles } from "../store/files/output-files.ts";
import { cannotPrepare } from "./cannot-prepare.ts";
import { makePlanClose } from "./close-run.ts";
import type { Context } from "./context.ts";
import { DefinitionWatch } from "./definition-watch.ts";
import { tellHeldNews } from "./incidents.ts";
import type { LiveRun } from "./live-run.ts";
import { type NodeLoop, nodeLoops } from "./node-loops.ts";
import type { NightshiftNode, NodeOptions, StopOptions, TickResult } from "./node-options.ts";
import { nodeRecord } from "./node-record.ts";
import { nodeWork } from "./node-work.ts";
import { type Counted, count, passUntilIdle } from "./pass-until-idle.ts";
import { provablyDead, recover } from "./recovery.ts";
import { recoveryDeps } from "./recovery-deps.ts";
import { Runner } from "./runner.ts";
import { Scheduler } from "./scheduler.ts";
import { scriptDeps } from "./script-work.ts";
import { startsAtOnce } from "./starts-at-once.ts";
import type { TaskChoices } from "./task-choices.ts";
import { Telling } from "./telling.ts";
import { untilStored } from "./until-stored.ts";
import { waitForChange } from "./wait-for-change.ts";
import { makeWatch, type Watch } from "./watch.ts";
import type { WorkflowsOfNode } from "./workflow-work.ts";

/** @source SEMANTICS L4 */
export const LEASE_MS = 60 * SECOND;
export const BEAT_MS = 15 * SECOND;
/** A hurried stop still lets a file be written. */
const LEAST_SEND_MS = SECOND;
const MOST_SEND_MS = 5 * SECOND;
/** After the grace and TERM → KILL of every run, the store gets this long to take the closings. */
const GIVE_UP_MS = 30 * SECOND;

function placesOf({ config }: Context): number {
  return config.limits.maxParallelRuns ?? Math.max(8, 4 * availableParallelism());
}

/** Use node.ts: it starts one, or does one thing with one. */
export class LiveNode implements NightshiftNode {
  readonly id: string;
  readonly #options: NodeOptions;
  readonly #context: Context;
  readonly #pipes: PipePool;
  readonly #watch: Watch;
  readonly #runner: Runner;
  readonly #scheduler: Scheduler;
  readonly #outbox: Outbox;
  readonly #definitions: DefinitionWatch;
  readonly #loops: readonly NodeLoop[];
  readonly #maxParallelRuns: number;
  readonly #draining = new AbortController();
  readonly #workflows: WorkflowsOfNode;
  readonly #choices: TaskChoices;
  readonly #telling: Telling;
  #unsubscribe = () => {};
  #stopped: Promise<void> | undefined;
  #isLooping = false;

  constructor(options: NodeOptions) {
    const { context } = options;
    this.#options = options;
    this.#context = context;
    this.id = options.id ?? makeId(context.clock.now(), context.random);
    this.#maxParallelRuns = options.maxParallelRuns ?? placesOf(context);
    const files = openOutputFiles(context.home.paths.root);
    const deps = {
      ...context,
      nodeId: this.id,
      leaseMs: options.leaseMs ?? LEASE_MS,
      beatMs: options.beatMs ?? BEAT_MS,
    };
    this.#pipes = makePipePool(context.home.paths.runFolder);
    this.#watch = makeWatch(options.watchWorker, {
      ...deps,
      groupCpuMs,
      report: (one) => this.#runner.handle(one),
    });
    const { work, workflows, tasks, choices } = nodeWork({
      ...{ context, nodeId: this.id, commands: scriptDeps(context, this.#pipes), agent: options.agent ?? {} },
      ...(options.executors && { executors: options.executors }),
      giveUp: () => this.#runner.givesUp,
      taskCount: () => this.#runner.taskCount,
      nudge: () => this.#nudge(),
    });
    this.#workflows = workflows;
    this.#choices = choices;
    this.#runner = new Runner({
      ...context,
      work,
      watch: this.#watch,
      planClose: makePlanClose(context, files),
      onFree: (live, answer) => this.#onFree(live, answer),
    });
    this.#scheduler = new Scheduler({
      ...deps,
      rewindRules: makeRewindRules(context.parseJob),
      cannotPrepare: cannotPrepare(context),
      startsAtOnce: startsAtOnce(context),
      tasks,
      capacity: () => (this.#runner.hasSuspect ? 0 : this.#maxParallelRuns - this.#runner.size),
      liveRuns: () => this.#runner.size,
      onClaimed: (claimed) => this.#runner.accept(claimed),
      onPass: (result) => this.#onPass(result),
    });
    this.#outbox = new Outbox({
      ...deps,
      root: context.home.paths.root,
      adapters: context.platforms,
      deadNodes: () => this.#deadNodes(),
    });
    this.#definitions = new DefinitionWatch(context, () => this.#scheduler.nudge());
    this.#loops = [
      ...nodeLoops(context, { ...deps, files, runner: this.#runner, recover: () => this.#recover() }),
      ...choices.loops,
    ];
    this.#telling = new Telling(context, this.#draining.signal);
  }

  async start(): Promise<void> {
    this.#isLooping = true;
    await this.register();
    this.#unsubscribe = this.#context.ledger.onChange(() => this.#onChange());
    await this.#recover().catch((error) =>
      this.#context.log.error("recovery-failed", { error: messageOf(error) }),
    );
    await this.#definitions.start();
    this.#scheduler.start();
    this.#outbox.start();
    for (const loop of this.#loops) loop.start();
  }

  /**
   * Waits out a busy store: a node must not fail to start because somebody holds the database for a while. `isForOthers`
   * false = it has no place for anything but its own run: nobody may wait for it to take theirs.
   */
  async register({ isForOthers = true } = {}): Promise<void> {
    const context = this.#context;
    const maxParallelRuns = isForOthers ? this.#maxParallelRuns : 0;
    const record = await nodeRecord(context, { id: this.id, maxParallelRuns });
    await untilStored(
      context,
      "register the node",
      () => context.ledger.registerNode(record),
      this.#draining.signal,
    );
  }

  async announceUrl(url: string): Promise<void> {
    await this.#context.ledger.updateNode(this.id, { url });
  }

  async tick(): Promise<TickResult> {
    await this.#recover();
    await this.#definitions.syncOnce();
    await this.#choices.prepare();
    const done: Counted = { started: [], closedSlots: 0 };
    for (;;) {
      const { result } = await this.#scheduler.passOnce();
      count(done, result);
      await this.#passUntilIdle(done);
      // What found no place, or waited for its job's live run, has its turn now.
      if (result.claimed.length === 0 && !result.hasMore) break;
    }
    await tellHeldNews(this.#context);
    await this.#outbox.drain(this.#draining.signal);
    return done;
  }

  /** A workflow's tasks become ready while it runs. */
  #passUntilIdle(done: Counted | undefined, onlyRun?: string): Promise<void> {
    return passUntilIdle({
      ...{ context: this.#context, runner: this.#runner },
      passOnce: async () => {
        await this.#choices.prepare();
        return this.#scheduler.passOnce(onlyRun);
      },
      onPassed: ({ result }) => done && count(done, result),
    });
  }

  /** Waits its turn while another run of the job is live. */
  async runOnly(runId: string, signal: AbortSignal): Promise<boolean> {
    const { ledger } = this.#context;
    await this.#recover();
    await this.#choices.prepare();
    for (;;) {
      const { result } = await this.#scheduler.passOnce(runId);
      if (result.claimed.length > 0) break;
      const run = await ledger.run(runId);
      const isWaiting = run !== undefined && "state" in run && ["queued", "waiting"].includes(run.state);
      if (!isWaiting || signal.aborted) return false;
      await waitForChange(this.#context, { signal });
    }
    await this.#endedOrCancelled(runId, signal);
    await this.#outbox.drain(this.#draining.signal);
    return true;
  }

  /** What runs here ends by itself, or because somebody asked: whoever called, or a cancel in the ledger (L11). */
  async #endedOrCancelled(runId: string, signal: AbortSignal): Promise<void> {
    const { ledger, log } = this.#context;
    const interrupt = () => this.#runner.cancelAll(messageOf(signal.reason));
    const readCancels = () =>
      void this.#runner
        .readCancels(this.id)
        .catch((error) => log.warn("cancels-not-read", { error: messageOf(error) }));
    const unsubscribe = ledger.onChange(() => {
      readCancels();
      this.#workflows.nudge(); // Somebody may have answered a question of a workflow.
    });
    signal.addEventListener("abort", interrupt, { once: true });
    if (signal.aborted) interrupt();
    try {
      await this.#passUntilIdle(undefined, runId);
    } finally {
      unsubscribe();
      signal.removeEventListener("abort", interrupt);
    }
  }

  stop(options: StopOptions): Promise<void> {
    this.#stopped ??= this.#stop(options);
    return this.#stopped;
  }

  async #stop({ graceMs, hurry = new AbortController().signal }: StopOptions): Promise<void> {
    const { ledger, log } = this.#context;
    this.#unsubscribe();
    this.#draining.abort(new Error("stopped"));
    const mark = async (field: "stoppingAt" | "stoppedAt") =>
      ledger
        .updateNode(this.id, { [field]: await ledger.now() })
        .catch((error) => log.warn("node-not-marked", { field, error: messageOf(error) }));
    await mark("stoppingAt");
    await this.#scheduler.stop();
    await Promise.all([this.#definitions, ...this.#loops].map((part) => part.stop()));
    await this.#runner.stop({ graceMs, giveUpMs: GIVE_UP_MS, hurry });
    await this.#outbox.stop(Math.max(LEAST_SEND_MS, Math.min(graceMs, MOST_SEND_MS)));
    await this.#context.executors.close();
    await this.#watch.stop();
    await this.#pipes.close();
    await mark("stoppedAt");
    await ledger.wakeOthers();
  }

  /** A process that passes by hand waits for a change of the ledger. */
  #nudge(): void {
    if (this.#isLooping) this.#scheduler.nudge();
    else void this.#context.ledger.wakeOthers();
  }

  #onChange(): void {
    this.#scheduler.nudge();
    this.#workflows.nudge();
    setImmediate(() => this.#outbox.nudge()); // A start must not wait for the outbox's transaction (SQLite has one).
    this.#runner
      .readCancels(this.id)
      .catch((error) => this.#context.log.warn("cancel-not-read", { error: messageOf(error) }));
  }

  #onFree(live: LiveRun, answer: CloseAnswer): void {
    this.#workflows.wake(live.claimed.run.parentId);
    this.#scheduler.nudge();
    this.#outbox.nudge();
    void this.#telling.tell();
    this.#options.onRunEnded?.(live, answer);
  }

  #onPass(result: PassResult): void {
    if (result.closedSlots.length > 0) this.#outbox.nudge();
    if (result.cancelRuns.length > 0) this.#onChange();
    this.#options.onPass?.(result);
  }

  async #deadNodes(): Promise<string[]> {
    return provablyDead(await this.#context.ledger.nodes(), { ...this.#context, nodeId: this.id });
  }

  async #recover(): Promise<void> {
    const { context, leaseMs = LEASE_MS, isQuarantineOn } = this.#options;
    const deps = recoveryDeps(context, { nodeId: this.id, leaseMs, isQuarantineOn });
    if ((await recover(deps, this.#draining.signal)) > 0) this.#scheduler.nudge();
  }
}
