// A run of a workflow in a test: decisions are carried out by a table of outcomes and a clock driven by hand.

import { loadCompiler } from "../../src/orchestrate/expressions/load.ts";
import { advance, nextWake } from "../../src/orchestrate/graph/advance.ts";
import { applyEntry, foldJournal } from "../../src/orchestrate/graph/apply-entry.ts";
import { type Plan, planWorkflow } from "../../src/orchestrate/graph/plan.ts";
import type {
  AttemptOutcome,
  JournalEntry,
  Progress,
  ProgressEvent,
  RunStart,
} from "../../src/orchestrate/graph/progress.ts";
import { parseWorkflowDocument } from "../../src/records/workflow-document.ts";
import { resolveWorkflow } from "../../src/records/workflow-resolve.ts";

const compiler = await loadCompiler();

export const START: RunStart = {
  runId: "r1",
  uuid: "00000000-0000-4000-8000-000000000001",
  startedAt: 0,
  params: { line: "A", files: ["x", "y", "z"] },
  trigger: {},
};

/** A plan of a workflow's YAML; `shell_exec`'s command is a shell command. */
export function planOf(yaml: string): Plan {
  const { document } = parseWorkflowDocument(yaml, { file: "w.yaml" });
  return planWorkflow(resolveWorkflow(document), {
    compiler,
    shellParams: (name) => (name === "shell_exec" ? ["command"] : []),
  });
}

/** How an attempt ends; undefined = it goes on. */
export type Answer = (unit: string, attempt: number, executor: number) => AttemptOutcome | undefined;

export const ok = (result?: unknown): AttemptOutcome => ({ state: "succeeded", result });
export const bad = (message = "broken", exitCode?: number): AttemptOutcome => ({
  state: "failed",
  error: { code: "exit", message, exitCode },
});

export class TestRun {
  readonly plan: Plan;
  readonly journal: JournalEntry[] = [];
  progress: Progress;
  now = 0;
  readonly #answer: Answer;

  constructor(plan: Plan, answer: Answer, journal: readonly JournalEntry[] = []) {
    this.plan = plan;
    this.#answer = answer;
    this.journal = [...journal];
    this.progress = foldJournal(START, journal);
    this.now = journal.at(-1)?.at ?? 0;
  }

  /** Carries out everything that can be done now: attempts start and end at once, one event a step. */
  settle(): this {
    for (let round = 0; round < 20_000; round += 1) {
      for (const decision of advance(this.plan, this.progress, this.now)) this.record(decision);
      const event = this.#nextEvent();
      if (!event) return this;
      this.record(event);
    }
    throw new Error("the run does not settle");
  }

  /** Settles, and lets time pass to the next due instant, until the run ends or only events could help. */
  toEnd(): this {
    for (let round = 0; round < 1_000; round += 1) {
      this.settle();
      const wake = nextWake(this.plan, this.progress);
      if (this.progress.ended || wake === undefined) return this;
      this.now = Math.max(this.now, wake);
    }
    throw new Error("the run does not end");
  }

  record(entry: JournalEntry): void {
    this.journal.push(entry);
    applyEntry(this.progress, entry);
  }

  send(event: Record<string, unknown> & { kind: string }): this {
    this.record({ at: this.now, ...event } as ProgressEvent);
    return this;
  }

  /** `{t1: "succeeded", …}`, with the reason where there is one. */
  standings(): Record<string, string> {
    return Object.fromEntries(
      [...this.progress.units]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([id, unit]) => [id, unit.reason ? `${unit.standing}: ${unit.reason}` : unit.standing]),
    );
  }

  /** Units in the order in which attempts began. */
  started(): string[] {
    return this.journal.flatMap((entry) => (entry.kind === "started" ? [entry.unit] : []));
  }

  #nextEvent(): ProgressEvent | undefined {
    for (const [unit, state] of this.progress.units) {
      const of = { unit, at: this.now, attempt: state.attempt };
      if (state.standing === "queued") return { kind: "started", ...of };
      if (state.standing !== "running") continue;
      const stopped: AttemptOutcome | undefined = state.stopping && {
        ...(state.stopping === "timeout" || state.stopping === "queueTimeout"
          ? { state: "timedOut", error: { code: "timeout", message: "took too long" } }
          : { state: "cancelled" }),
      };
      const outcome = stopped ?? this.#answer(unit, state.attempt, state.executor);
      if (outcome) return { kind: "ended", ...of, outcome };
    }
    return undefined;
  }
}

/** A run of a workflow's YAML. */
export function runOf(yaml: string, answer: Answer = () => ok()): TestRun {
  return new TestRun(planOf(yaml), answer);
}
