// The rules of workflows (docs/workflows.md, "How a run goes") told a second time, without a clock, a journal or an order
// of events: what must become of every task, whoever is fast and whatever crashes. It shares no code with the engine.

import type { AttemptOutcome } from "../../src/orchestrate/graph/progress.ts";
import type { TaskDocument } from "../../src/records/workflow.ts";
import { type Graph, HANDLER_IDS, outcomeOf } from "./random-graphs.ts";

export interface Fate {
  state: "succeeded" | "failed" | "timedOut" | "skipped";
  reason?: string | undefined;
  /** Of the failure that ended it. */
  exitCode?: number | undefined;
  /** How each judged attempt's executor stands in [own, ...fallback], in order. Empty = never begun. */
  executors: number[];
}

export interface Prediction {
  tasks: Map<string, Fate>;
  /** Items of each `foreach`, as they would end if each were let run. */
  items: Map<string, Fate[]>;
  state: "succeeded" | "partiallySucceeded" | "failed";
}

/** Tasks are numbered along their edges, so each one's sources are known when it is looked at. */
export function predict(graph: Graph): Prediction {
  const tasks = new Map<string, Fate>();
  const items = new Map<string, Fate[]>();
  for (const task of graph.tasks) tasks.set(task.id, fateOf(task, { graph, tasks, items }));
  const main = verdict(graph, tasks);
  const listed = main === "failed" ? graph.handlers.failure : graph.handlers.success;
  const known = [...graph.handlers.success, ...graph.handlers.failure];
  for (const id of HANDLER_IDS.filter((one) => known.includes(one)))
    tasks.set(id, listed.includes(id) ? attempts(graph, { id }, id) : skipped("notActivated"));
  tasks.set("last", attempts(graph, { id: "last" }, "last"));
  return { tasks, items, state: verdict(graph, tasks) };
}

interface Known {
  graph: Graph;
  tasks: Map<string, Fate>;
  items: Map<string, Fate[]>;
}

const skipped = (reason: string): Fate => ({ state: "skipped", reason, executors: [] });
const isFailure = (fate: Fate | undefined) => fate?.state === "failed" || fate?.state === "timedOut";
const taskOf = (graph: Graph, id: string) => graph.tasks.find((task) => task.id === id);

function fateOf(task: TaskDocument, known: Known): Fate {
  const { graph, tasks, items } = known;
  if (!isActivated(task, known)) return skipped("notActivated");
  const refusals = (task.dependsOn ?? []).map((id) => refusal(graph, id, tasks.get(id)));
  for (const reason of ["upstreamFailed", "upstreamSkipped"])
    if (refusals.includes(reason)) return skipped(reason);
  if (task.when !== undefined && !holds(task.when, tasks)) return skipped("when");
  if (!task.foreach) return attempts(graph, task, task.id);
  const fates = (task.foreach.items as unknown[]).map((_, index) =>
    attempts(graph, task, `${task.id}[${index}]`),
  );
  items.set(task.id, fates);
  return fates.some(isFailure)
    ? { state: "failed", reason: "items", executors: [] }
    : { state: "succeeded", executors: [] };
}

/** A target of any transition starts only when one fires, with `join: all` one of each source. */
function isActivated(task: TaskDocument, { graph, tasks }: Known): boolean {
  const fires = (source: TaskDocument) => {
    const fate = tasks.get(source.id);
    const well = fate?.state === "succeeded";
    const ill = isFailure(fate);
    return (
      (well && source.onSuccess?.includes(task.id)) ||
      (ill && source.onFailure?.includes(task.id)) ||
      ((well || ill) && source.onComplete?.includes(task.id))
    );
  };
  const sources = graph.tasks.filter(({ onSuccess, onFailure, onComplete }) =>
    [onSuccess, onFailure, onComplete].some((targets) => targets?.includes(task.id)),
  );
  if (sources.length === 0) return true;
  return task.join === "all" ? sources.every(fires) : sources.some(fires);
}

function refusal(graph: Graph, id: string, fate: Fate | undefined): string | undefined {
  if (isFailure(fate)) return isTolerated(graph, id, fate) ? undefined : "upstreamFailed";
  if (fate?.state !== "skipped") return undefined;
  return taskOf(graph, id)?.continueOn?.skipped ? undefined : "upstreamSkipped";
}

function isTolerated(graph: Graph, id: string, fate: Fate | undefined): boolean {
  const { failure = false, exitCodes = [] } = taskOf(graph, id)?.continueOn ?? {};
  return failure || (fate?.exitCode !== undefined && exitCodes.includes(fate.exitCode));
}

/** The three kinds of condition that random graphs have. */
function holds(when: string, tasks: Map<string, Fate>): boolean {
  const [, id] = /^(\w+)\.status/.exec(when) ?? [];
  return id === undefined ? when.endsWith("'A'") : tasks.get(id)?.state === "succeeded";
}

/** Attempts on one executor up to its retries, then on the next: until one succeeds or nobody is left. */
function attempts(graph: Graph, task: TaskDocument, unit: string): Fate {
  const { max = 0 } = task.retry ?? {};
  const names = [task.executor ?? "shell", ...(task.fallback ?? [])];
  const causes = task.fallbackOn ?? ["offline", "failed"];
  const isDown = (name: string | undefined) => name !== undefined && graph.offline.includes(name);
  /** One that is known to be down is passed over where another is not. */
  const upFrom = (from: number) => {
    const up = names.findIndex((name, index) => index >= from && !isDown(name));
    return causes.includes("offline") && up >= 0 ? up : from;
  };
  const executors: number[] = [];
  for (let position = upFrom(0), tries = 1; ; ) {
    executors.push(position);
    const outcome = outcomeOf(graph, unit, executors.length);
    const failure = failureOf(outcome);
    if (!failure) return { state: "succeeded", executors };
    const cause = outcome.state === "offline" ? "offline" : "failed";
    const hasNext = position < names.length - 1 && causes.includes(cause);
    const isRetried = tries <= max && isCovered(task, outcome, failure);
    if (isRetried && !(cause === "offline" && hasNext)) tries += 1;
    else if (hasNext) [position, tries] = [upFrom(position + 1), 1];
    else return { ...failure, executors };
  }
}

function failureOf(outcome: AttemptOutcome): Omit<Fate, "executors"> | undefined {
  if (outcome.state === "succeeded") {
    const isError = typeof outcome.result === "object" && outcome.result !== null;
    return isError ? { state: "failed", reason: "status" } : undefined;
  }
  if (!("error" in outcome)) return undefined;
  const { code, exitCode } = outcome.error;
  return { state: outcome.state === "timedOut" ? "timedOut" : "failed", reason: code, exitCode };
}

function isCovered(
  task: TaskDocument,
  outcome: AttemptOutcome,
  { exitCode }: Omit<Fate, "executors">,
): boolean {
  const { on = [], notOn = [] } = task.retry ?? {};
  const means = (word: string) =>
    word === "timeout"
      ? outcome.state === "timedOut"
      : word === "unavailable"
        ? outcome.state === "offline"
        : word === `exit:${exitCode}`;
  return !notOn.some(means) && (on.length === 0 || on.some(means));
}

/** A failure is handled when a task that it leads to by `onFailure` ran, or when `continueOn` covers it. */
function verdict(graph: Graph, tasks: Map<string, Fate>): Prediction["state"] {
  const failures = [...tasks].filter(([, fate]) => isFailure(fate));
  const isHandled = ([id, fate]: [string, Fate]) =>
    isTolerated(graph, id, fate) ||
    (taskOf(graph, id)?.onFailure ?? []).some((target) => tasks.get(target)?.state !== "skipped");
  if (!failures.every(isHandled)) return "failed";
  return failures.length > 0 ? "partiallySucceeded" : "succeeded";
}
