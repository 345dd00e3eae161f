// One live run of a workflow: asks the graph what follows, has it recorded, and has it done (peers.md §5.2).
//
// I1. Recorded before it is carried out: rows of attempts come into being in the transaction that journals their decision.
//     Only attempts of this process without effects begin before it (progress-writer.ts).
// I2. Progress is the folded journal: whoever claims the run next goes on from there. Nothing else is kept.
// I3. Whoever lost the claim does nothing further (law 3).

import { linkAbort } from "../../kernel/abort.ts";
import { makeId } from "../../kernel/ids.ts";
import { advance, nextWake } from "../../orchestrate/graph/advance.ts";
import { applyEntry } from "../../orchestrate/graph/apply-entry.ts";
import type { RunContext } from "../../records/run-context.ts";
import { carryOut } from "./carry-out.ts";
import type { LiveWorkflow, RunDeps, StartedWorkflow } from "./live-workflow.ts";
import { noteHealth, noteInlineEnds, readRows, recoverRows } from "./observe.ts";
import type { ProgressWriter } from "./progress-writer.ts";

/** Changes that others made are looked at this often at most. */
const LOOK_MS = 100;
/** A lost wake-up costs this much. */
const LONGEST_SLEEP_MS = 5_000;

/** `stopped`: its node stops, and another goes on with it. */
export type WorkflowEnd = "ended" | "stopped" | "lost";

export class WorkflowRun {
  readonly #live: LiveWorkflow;
  #isDirty = true;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #nap: ReturnType<typeof linkAbort> | undefined;

  constructor(
    deps: RunDeps,
    { started, ctx, writer }: { started: StartedWorkflow; ctx: RunContext; writer: ProgressWriter },
  ) {
    const { progress } = started;
    const { clock, random } = deps.context;
    this.#live = {
      ...{ deps, started, ctx, writer, progress, open: new Map(), inline: new Map(), rows: new Map() },
      newId: () => makeId(clock.now(), random),
      note(entry) {
        applyEntry(progress, entry);
        writer.entry(entry);
        if ("unit" in entry) ctx.touch(`task ${entry.unit}: ${entry.kind}`);
      },
    };
  }

  /** A task of this run has ended here, or somebody said something about one: look at once. */
  wake(): void {
    this.#lookedAtMs = Number.NEGATIVE_INFINITY;
    this.nudge();
  }

  /** The ledger has changed somewhere: look soon. */
  nudge(): void {
    this.#isDirty = true;
    this.#nap?.abort("changed");
  }

  /** Until the run has ended, its node stops, or its claim is lost. */
  async run(): Promise<WorkflowEnd> {
    const { ctx, inline } = this.#live;
    const look = () => this.#nap?.abort("aborted");
    ctx.signal.addEventListener("abort", look);
    try {
      await recoverRows(this.#live);
      return await this.#loop();
    } finally {
      ctx.signal.removeEventListener("abort", look);
      for (const task of inline.values()) task.stop(ctx.abortReason() ?? { kind: "claimLost" });
      await Promise.all([...inline.values()].map((task) => task.ended));
    }
  }

  async #loop(): Promise<WorkflowEnd> {
    const { ctx, progress, writer } = this.#live;
    for (;;) {
      const reason = ctx.abortReason();
      if (reason?.kind === "claimLost") return "lost";
      // Attempts of this process have no effects: whoever goes on begins them anew.
      if (reason?.kind === "nodeStopped") return (await writer.flush()) ? "stopped" : "lost";
      await this.#observe();
      this.#decide();
      const isWritten = !(progress.ended || writer.isDue) || (await writer.flush());
      if (!isWritten) return "lost";
      if (progress.ended) return "ended";
      await this.#wait();
    }
  }

  async #observe(): Promise<void> {
    const { ctx, progress, open } = this.#live;
    noteInlineEnds(this.#live);
    const reason = ctx.abortReason();
    const cancelledBy = reason?.kind === "cancel" ? reason.by : ctx.run.cancelledBy;
    if (cancelledBy !== undefined && !progress.cancel)
      this.#live.note({ kind: "cancelRequested", at: this.#live.deps.context.clock.now(), by: cancelledBy });
    noteHealth(this.#live);
    const hasQuestions =
      open.size > 0 || [...progress.units.values()].some(({ standing }) => standing === "waiting");
    if (!this.#isDirty || !hasQuestions || this.#lookInMs() > 0) return;
    this.#isDirty = false;
    this.#lookedAtMs = this.#live.deps.context.clock.monotonicMs();
    await readRows(this.#live);
  }

  #decide(): void {
    const { started, progress, deps } = this.#live;
    for (;;) {
      const decisions = advance(started.plan, progress, deps.context.clock.now());
      for (const decision of decisions) {
        const before = "unit" in decision ? progress.units.get(decision.unit) : undefined;
        this.#live.note(decision);
        carryOut(this.#live, decision, before);
      }
      // Carrying out may end an attempt at once (a budget, a template): the graph has its say again.
      if (decisions.length === 0) return;
    }
  }

  #lookInMs(): number {
    return this.#lookedAtMs + LOOK_MS - this.#live.deps.context.clock.monotonicMs();
  }

  async #wait(): Promise<void> {
    const { deps, started, progress, writer, inline, ctx } = this.#live;
    const { clock } = deps.context;
    const wakes = [nextWake(started.plan, progress), writer.flushAt].filter((at) => at !== undefined);
    const lookInMs = this.#isDirty ? Math.max(1, this.#lookInMs()) : LONGEST_SLEEP_MS;
    const waitMs = Math.min(lookInMs, LONGEST_SLEEP_MS, ...wakes.map((at) => at - clock.now()));
    if (waitMs <= 0 || ctx.abortReason()?.kind === "nodeStopped") return;
    const nap = linkAbort();
    this.#nap = nap;
    try {
      const sleep = clock.sleep(waitMs, nap.signal).then(
        () => {
          // A wake-up may have been lost.
          if (waitMs === LONGEST_SLEEP_MS) this.#isDirty = true;
        },
        () => {},
      );
      await Promise.race([sleep, ...[...inline.values()].map((task) => task.ended)]);
    } finally {
      nap.abort("looked");
      this.#nap = undefined;
    }
  }
}
