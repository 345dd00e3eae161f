// What the parts of a live workflow work on together: its plan, its progress, its open rows, and what it may ask for.

import type { Plan, PlannedTask } from "../../orchestrate/graph/plan.ts";
import type { JournalEntry, Progress } from "../../orchestrate/graph/progress.ts";
import { unitParts } from "../../orchestrate/graph/progress.ts";
import type { NewDelivery } from "../../records/delivery.ts";
import type { Executor } from "../../records/executor.ts";
import type { Outcome } from "../../records/outcome.ts";
import type { Admission, Claim } from "../../records/run.ts";
import type { RunContext } from "../../records/run-context.ts";
import type { Task, Workflow } from "../../records/workflow.ts";
import type { Context } from "../context.ts";
import type { InlineTask } from "./inline-task.ts";
import type { ProgressWriter } from "./progress-writer.ts";

/** What a workflow needs of its node. */
export interface RunDeps {
  context: Context;
  /** Aborts when waiting for the store must end. */
  giveUp: AbortSignal;
  /** Executors known to be down (W5). */
  offlineExecutors(): ReadonlySet<string>;
  /** Why no machine could ever do this attempt, where a fallback can do it instead (W5). */
  whyImpossible(attempt: { task: Task; executor: string | undefined; key: string }): string | undefined;
  /** A function of this process that may run without a row; undefined = the attempt gets a row and a queue. */
  inlineExecutor(attempt: { task: Task; name: string; running: number; key: string }): Executor | undefined;
  /** Checks params, runs, checks the result; never rejects. */
  call(executor: Executor, attempt: InlineAttempt, ctx: RunContext): Promise<Outcome>;
  admissionFor(attempt: { task: Task; executor: string | undefined; key: string }): Admission;
  /** The messages that ask people for a word. */
  ask(question: Question): readonly NewDelivery[];
}

/** `effect`: a task's node is gone, and nobody knows how far it came (L6). */
export interface Question {
  about: "approval" | "effect";
  unit: string;
  attempt: number;
  /** The run to resolve. */
  runId: string;
  message: string;
}

export interface InlineAttempt {
  params: Readonly<Record<string, unknown>>;
  env: Readonly<Record<string, string>>;
  task: Task;
}

/** A workflow whose run has begun, now or earlier. */
export interface StartedWorkflow {
  workflow: Workflow;
  plan: Plan;
  claim: Claim;
  progress: Progress;
}

export interface LiveWorkflow {
  deps: RunDeps;
  started: StartedWorkflow;
  progress: Progress;
  ctx: RunContext;
  writer: ProgressWriter;
  /** Rows of this run that have not ended, by id: attempts, approvals, pauses. */
  open: Map<string, { unit: string; attempt: number }>;
  inline: Map<string, InlineTask>;
  /** The row of each unit's newest attempt. */
  rows: Map<string, string>;
  /** Applies an entry and has it written. */
  note(entry: JournalEntry): void;
  newId(): string;
}

/** The planned task of a unit. @throws Error for a unit that the plan does not know: a bug. */
export function plannedOf({ started }: LiveWorkflow, unit: string): PlannedTask {
  const planned = started.plan.tasks.get(unitParts(unit).task);
  if (!planned) throw new Error(`no task has the unit ${unit}`);
  return planned;
}
